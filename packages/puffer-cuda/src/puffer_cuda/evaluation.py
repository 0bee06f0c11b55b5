"""Play episodes with fixed weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from puffer_cuda.adapter import PolicyAdapter
from puffer_cuda.sampling import sample_logits


@torch.no_grad()
def evaluate_policy(
    policy: nn.Module | None,
    vecenv: Any,
    device: torch.device | str = "cpu",
    seed: int = 0,
    max_steps: int = 1_000_000,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """The first episode of every agent: short episodes count no more than long ones.

    Args:
        policy: acts by sampling; None draws actions uniformly.
        vecenv: a synchronous vectorizer with one agent per episode wanted.
        device: where the policy lives.
        seed: of environments and sampling.
        max_steps: give up after so many steps of the vectorizer; unfinished episodes are left out.
        progress: called with (finished, all) after each step.

    Returns:
        One array per statistic, one entry per finished episode: episode_return, episode_length,
        and what the environment reports besides.
    """
    device = torch.device(device)
    agents = vecenv.num_agents
    generator = torch.Generator(device).manual_seed(seed)
    adapter = PolicyAdapter(policy) if policy is not None else None
    state = adapter.initial_state(agents, device) if adapter else ()
    vecenv.action_space.seed(seed)
    observations, _ = vecenv.reset(seed)
    finished = np.zeros(agents, bool)
    columns: dict[str, list[Any]] = {}
    for _ in range(max_steps):
        if adapter:
            logits, _, state = adapter.act(torch.from_numpy(observations).to(device), state)
            actions = sample_logits(logits, generator=generator)[0].cpu().numpy()
            if isinstance(vecenv.single_action_space, gymnasium.spaces.Box):
                actions = actions.reshape(-1, *vecenv.single_action_space.shape)
        else:
            actions = vecenv.action_space.sample()
        observations, _, terminals, truncations, infos = vecenv.step(actions)
        ended = terminals | truncations
        for info in infos:
            if "agent_id" in info and "episode_return" in info:
                first = ~finished[info["agent_id"]]
                for name, column in info.items():
                    columns.setdefault(name, []).append(column[first])
        finished |= ended
        if progress:
            progress(int(finished.sum()), agents)
        if finished.all():
            break
        clear = torch.from_numpy(ended).to(device)
        state = tuple(
            tensor.masked_fill(clear.view(-1, *(1,) * (tensor.dim() - 1)), 0) for tensor in state
        )
    results = {name: np.concatenate(parts) for name, parts in columns.items()}
    results.pop("agent_id", None)
    return results
