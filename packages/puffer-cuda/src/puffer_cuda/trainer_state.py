"""What a trainer remembers beside weights and optimizer, so that a run can go on exactly.

Kept: epoch and counters, random streams (the trainer's and torch's), the agents' recurrent state,
running statistics, and the environments where they offer their state. Not kept: the rollout, which
every epoch fills anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from puffer_core import APIUsageError

if TYPE_CHECKING:
    from puffer_cuda.pufferl import PuffeRL

COUNTERS = ("epoch", "global_step", "skipped_updates", "skipped_in_a_row")
ROLLOUT_COUNTERS = ("steps", "non_finite")
REWARDS = ("seen", "clipped", "count", "mean", "square")


def counters(trainer: PuffeRL) -> dict[str, Any]:
    """Numbers, as JSON."""
    rollout = trainer.rollout
    return {
        **{name: getattr(trainer, name) for name in COUNTERS},
        "rollout": {name: getattr(rollout, name) for name in ROLLOUT_COUNTERS},
        "rewards": {name: getattr(rollout.rewards_of, name) for name in REWARDS},
        "selfplay": trainer.opponents.numbers() if trainer.opponents else None,
        "uptime": trainer.uptime,
        "statistics": {"sums": rollout.statistics.sums, "counts": rollout.statistics.counts},
    }


def tensors(trainer: PuffeRL) -> dict[str, Tensor]:
    """Random streams and the agents' state."""
    rollout, opponents = trainer.rollout, trainer.opponents
    selfplay = opponents.tensors() if opponents else {}
    return {
        "generator": trainer.generator.get_state(),
        "torch": torch.get_rng_state(),
        "begins": rollout.begins,
        "discounted_returns": torch.from_numpy(rollout.rewards_of.returns.copy()),
        **{f"selfplay.{name}": tensor for name, tensor in selfplay.items()},
        **{f"state.{index}": tensor for index, tensor in enumerate(rollout.state)},
    }


def environments(trainer: PuffeRL) -> tuple[dict[str, np.ndarray[Any, Any]], str]:
    """The environments' state, or nothing and the reason."""
    if trainer.world.size > 1:
        return {}, f"a run of {trainer.world.size} processes keeps no environments"
    try:
        return trainer.vecenv.get_state(), ""
    except APIUsageError as error:
        return {}, str(error)


def restore(
    trainer: PuffeRL,
    numbers: dict[str, Any],
    saved: dict[str, Tensor],
    arrays: dict[str, np.ndarray[Any, Any]],
) -> None:
    """Put everything back; without environments, their episodes begin anew.

    Raises:
        APIUsageError: the state is of other environments or another policy.
    """
    if numbers.get("backend", "torch") != "torch":
        raise APIUsageError(
            "the checkpoint was written by the native backend: go on with --train.backend native."
        )
    rollout = trainer.rollout
    for name in COUNTERS:
        setattr(trainer, name, numbers[name])
    for name in ROLLOUT_COUNTERS:
        setattr(rollout, name, numbers["rollout"][name])
    for name in REWARDS:
        setattr(rollout.rewards_of, name, numbers["rewards"][name])
    trainer.continue_clock(numbers["uptime"])
    if trainer.world.size > 1:  # saved were those of rank 0 alone
        trainer.generator.manual_seed(trainer.generator.initial_seed() + trainer.global_step)
        return
    trainer.generator.set_state(saved["generator"].cpu())
    torch.set_rng_state(saved["torch"].cpu())
    if not arrays:
        return
    trainer.vecenv.set_state(arrays)
    rollout.receive_first()
    rollout.begins.copy_(saved["begins"])
    rollout.rewards_of.returns[:] = saved["discounted_returns"].numpy()
    if trainer.opponents is not None:
        own = {k[len("selfplay.") :]: v for k, v in saved.items() if k.startswith("selfplay.")}
        trainer.opponents.restore(own, numbers["selfplay"])
    for index, tensor in enumerate(rollout.state):
        tensor.copy_(saved[f"state.{index}"])
    rollout.statistics.sums = dict(numbers["statistics"]["sums"])
    rollout.statistics.counts = dict(numbers["statistics"]["counts"])
