"""Play episodes with fixed weights: one policy, or two against each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from puffer_cuda.actor import Actor
from puffer_cuda.teams import away_team, scores

Results = dict[str, npt.NDArray[Any]]
Progress = Callable[[int, int], None]


def evaluate_policy(
    policy: nn.Module | None,
    vecenv: Any,
    device: torch.device | str = "cpu",
    seed: int = 0,
    max_steps: int = 1_000_000,
    progress: Progress | None = None,
    episodes: int = 0,
    greedy: bool = False,
    max_seconds: float = 0.0,
) -> Results:
    """The first episodes of every agent, equally many: short ones count no more than long ones.

    Args:
        policy: plays; None draws actions uniformly.
        vecenv: a synchronous vectorizer.
        device: where the policy lives.
        seed: of environments and sampling.
        max_steps: give up after so many steps of the vectorizer; unfinished episodes are left out.
        progress: called with (finished, all) after each step.
        episodes: at least so many, in equal shares of the agents; 0: one of each.
        greedy: play the most likely action instead of drawing one.
        max_seconds: give up after this time; 0: no limit.

    Returns:
        One array per statistic, one entry per finished episode: episode_return, episode_length,
        and what the environment reports besides. An agent that is never born has
        no episode and nobody waits for it.
    """
    device = torch.device(device)
    generator = torch.Generator(device).manual_seed(seed)
    vecenv.action_space.seed(seed)
    players: list[tuple[Tensor, Actor]] = []
    if policy is not None:
        example = _example(vecenv, device)
        actor = Actor(policy, example, vecenv.num_agents, generator, greedy)
        players = [(torch.ones(vecenv.num_agents, dtype=torch.bool, device=device), actor)]
    results = _play(players, vecenv, device, seed, max_steps, max_seconds, progress, episodes)
    for name in ("agent_id", "episode"):
        results.pop(name, None)
    return results


def play_match(
    first: nn.Module,
    second: nn.Module,
    vecenv: Any,
    device: torch.device | str = "cpu",
    seed: int = 0,
    max_steps: int = 1_000_000,
    progress: Progress | None = None,
    episodes: int = 0,
) -> dict[str, int]:
    """Two policies against each other; they change sides from one environment to the next.

    The agents of an environment are two teams, its first and its second half (`teams.py`). A team
    wins whose agents have the higher mean return.

    Args:
        first: plays the first team in environments 0, 2, ..., the second one in the others.
        second: the other policy.
        vecenv: a synchronous vectorizer with environments of an even number of agents.
        device: of both policies.
        seed: of environments and sampling.
        max_steps: as in `evaluate_policy`.
        progress: as in `evaluate_policy`.
        episodes: of agents, as in `evaluate_policy`.

    Returns:
        "wins", "draws", "losses" of `first`, in episodes of an environment.

    Raises:
        APIUsageError: an odd number of agents.
    """
    device = torch.device(device)
    generator = torch.Generator(device).manual_seed(seed)
    away = torch.from_numpy(away_team(vecenv)).to(device)
    example = _example(vecenv, device)
    actors = [Actor(policy, example, vecenv.num_agents, generator) for policy in (first, second)]
    players = list(zip((~away, away), actors, strict=True))
    results = _play(players, vecenv, device, seed, max_steps, 0.0, progress, episodes)
    counts = {"wins": 0, "draws": 0, "losses": 0}
    for game in range(int(results["episode"].max()) + 1 if results else 0):
        now = results["episode"] == game
        returns = results["episode_return"][now]
        for score in scores(results["agent_id"][now], returns, vecenv).values():
            counts["wins" if score > 0 else "losses" if score < 0 else "draws"] += 1
    return counts


def _play(
    players: list[tuple[Tensor, Actor]],
    vecenv: Any,
    device: torch.device,
    seed: int,
    max_steps: int,
    max_seconds: float,
    progress: Progress | None,
    episodes: int,
) -> Results:
    """Results by column, "episode" being the number of an agent's episode, from 0.

    `players` are pairs (rows, who plays them); without any, actions are drawn uniformly. The other
    arguments are those of `evaluate_policy`.
    """
    agents = vecenv.num_agents
    quota = max(1, -(-episodes // agents))
    deadline = time.monotonic() + max_seconds if max_seconds else float("inf")
    observations, _ = vecenv.reset(seed)
    begins = torch.ones(agents, dtype=torch.bool, device=device)
    finished = np.zeros(agents, np.int64)
    born = np.zeros(agents, bool)
    columns: dict[str, list[Any]] = {}
    for _ in range(max_steps):
        if players:
            vecenv.send(
                _actions(players, vecenv, torch.from_numpy(observations).to(device), begins)
            )
        else:
            vecenv.send(vecenv.action_space.sample())
        observations, _, terminals, truncations, infos, _, masks = vecenv.recv()
        for info in infos:
            if "agent_id" in info and "episode_return" in info:
                number = finished[info["agent_id"]]
                wanted = number < quota
                columns.setdefault("episode", []).append(number[wanted])
                for name, column in info.items():
                    columns.setdefault(name, []).append(column[wanted])
        born |= masks
        finished += (terminals | truncations) & masks
        if progress:
            wanted_episodes = quota * int(born.sum())
            progress(int(finished.clip(max=quota).sum()), wanted_episodes)
        if (finished[born] >= quota).all() or time.monotonic() >= deadline:
            break
        begins = torch.from_numpy(terminals | truncations | ~masks).to(device)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _actions(
    players: list[tuple[Tensor, Actor]], vecenv: Any, observations: Tensor, begins: Tensor
) -> npt.NDArray[Any]:
    masks = getattr(vecenv, "action_masks", None)
    allowed = None if masks is None else torch.from_numpy(masks).to(observations.device)
    joint: Tensor | None = None
    for rows, actor in players:
        own = None if allowed is None else allowed[rows]
        actions = actor.act(rows, observations[rows], begins[rows], own)
        if joint is None:
            joint = actions.new_zeros(len(observations), *actions.shape[1:])
        joint[rows] = actions
    assert joint is not None
    array: npt.NDArray[Any] = joint.cpu().numpy()
    if isinstance(vecenv.single_action_space, gymnasium.spaces.Box):
        return array.reshape(-1, *vecenv.single_action_space.shape)
    return array


def _example(vecenv: Any, device: torch.device) -> Tensor:
    """An observation of zeros, to find out about a policy's state."""
    space = vecenv.single_observation_space
    return torch.from_numpy(np.zeros((1, *space.shape), space.dtype)).to(device)
