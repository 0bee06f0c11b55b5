"""What a policy does on real observations: what an export is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.distributions import Normal

from puffer_core import APIUsageError
from puffer_cuda.adapter import PolicyAdapter, cleared
from puffer_cuda.sampling import Logits, sample_logits

TOLERANCE = 1e-4  # of logits, means and values of an export
OBSERVATIONS = 256  # that an export is compared on
AGENTS = 16  # whose steps they are

Array = npt.NDArray[Any]


class Recording(NamedTuple):
    """Steps of a policy; the recurrent state goes from step to step.

    Attributes:
        observations: `(steps, agents, *obs)` in the environment's dtype.
        starts: `(steps, agents)` bool, an episode begins with this observation.
        outputs: `(steps, agents, outputs)` float32: logits of the heads side by side, or the means
            of continuous actions.
        values: `(steps, agents)` float32.
    """

    observations: Array
    starts: Array
    outputs: Array
    values: Array

    def first(self, steps: int) -> Recording:
        """The first steps of the first agent; arrays keep their axes."""
        return Recording(*(array[:steps, :1] for array in self))

    def difference(self, outputs: Array, values: Array) -> float:
        """The largest distance of another policy's outputs and values; infinite if not numbers.

        In units of the output where that is larger than 1: float32 has no finer ones.
        """
        largest = 0.0
        for mine, other in ((self.outputs, outputs), (self.values, values)):
            distance = np.abs(mine - other) / np.maximum(np.abs(mine), 1)
            largest = max(largest, float(np.nan_to_num(distance, nan=np.inf).max()))
        return largest

    def check(self, what: str, outputs: Array, values: Array) -> float:
        """As `difference`.

        Raises:
            RuntimeError: it is larger than TOLERANCE.
        """
        difference = self.difference(outputs, values)
        if difference > TOLERANCE:
            raise RuntimeError(
                f"{what} is not the policy: on {self.values.size} observations its outputs differ "
                f"by up to {difference:.3g}, allowed is {TOLERANCE:g}."
            )
        return difference


@torch.no_grad()
def record(policy: nn.Module, vecenv: Any, seed: int = 0) -> Recording:
    """Play OBSERVATIONS observations with sampled actions.

    Args:
        policy: on the CPU.
        vecenv: a synchronous vectorizer; AGENTS agents are looked at, or as many as it has.
        seed: of environments and actions.
    """
    generator = torch.Generator().manual_seed(seed)
    observed, _ = vecenv.reset(seed)
    adapter = PolicyAdapter(policy, torch.from_numpy(observed[:1]))
    state = adapter.initial_state(vecenv.num_agents, torch.device("cpu"))
    shown = min(AGENTS, vecenv.num_agents)
    starts = np.ones(vecenv.num_agents, bool)
    steps: list[list[Array]] = []
    for _ in range(-(-OBSERVATIONS // shown)):
        state = cleared(state, torch.from_numpy(starts))
        logits, values, state = adapter.act(torch.from_numpy(observed), state)
        step = (observed, starts, flat(logits).numpy(), values.numpy())
        steps.append([array[:shown].copy() for array in step])
        masks = getattr(vecenv, "action_masks", None)
        allowed = None if masks is None else torch.from_numpy(masks)
        actions = sample_logits(logits, generator=generator, allowed=allowed)[0].numpy()
        space = vecenv.single_action_space
        if isinstance(space, gymnasium.spaces.Box):
            actions = actions.reshape(-1, *space.shape)
        vecenv.send(actions)
        observed, _, terminals, truncations, _, _, alive = vecenv.recv()
        starts = terminals | truncations | ~alive
    return Recording(*(np.stack(arrays) for arrays in zip(*steps, strict=True)))


def flat(logits: Logits) -> torch.Tensor:
    """Logits as one tensor `(..., outputs)`: heads side by side, or the means."""
    if isinstance(logits, Normal):
        return logits.loc
    return logits if isinstance(logits, torch.Tensor) else torch.cat(logits, -1)


def same_kind(observations: Array, dtype: Any, shape: tuple[int, ...]) -> None:
    """Refuse observations that an exported policy was not made for.

    Raises:
        APIUsageError: another dtype or shape.
    """
    if observations.dtype != dtype or observations.shape[1:] != shape:
        raise APIUsageError(
            f"the exported policy reads {np.dtype(dtype)} of shape (batch, *{shape}), got "
            f"{observations.dtype} of shape {observations.shape}."
        )
