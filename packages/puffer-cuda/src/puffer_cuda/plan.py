"""The sizes of a training run, computed and checked once before anything starts."""

from __future__ import annotations

from dataclasses import dataclass

from puffer_core import APIUsageError
from puffer_cuda.config import TrainConfig

AUTO_MINIBATCH = 8192


@dataclass(frozen=True)
class Plan:
    """Sizes of a run; steps are agent steps.

    All are those of one process, but for total_epochs and total_timesteps.

    Attributes:
        part_segments: segments of a minibatch that are learnt at once.
        minibatches: of an epoch.
    """

    num_agents: int
    horizon: int
    batch_size: int
    minibatch_size: int
    minibatch_segments: int
    part_segments: int
    minibatches: int
    total_epochs: int
    total_timesteps: int

    def lines(self) -> list[str]:
        """For people: one line a fact."""
        passes = self.minibatches * self.minibatch_size / self.batch_size
        return [
            f"batch: {self.batch_size:,} = {self.num_agents:,} agents x {self.horizon} steps",
            f"minibatches an epoch: {self.minibatches} of {self.minibatch_size:,} "
            f"({passes:.3g} passes)",
            f"epochs: {self.total_epochs:,}, {self.total_timesteps:,} steps",
        ]


def plan(config: TrainConfig, num_agents: int, processes: int = 1) -> Plan:
    """Sizes for `config` with `num_agents` agents in each of `processes` processes.

    Total steps are rounded up to whole epochs. A minibatch is a whole number of segments of
    `horizon` steps; automatic ones are cut to fit the batch.

    Raises:
        APIUsageError: a minibatch that is no multiple of the horizon or exceeds the batch (names
            the nearest sizes that work), or parts smaller than a segment.
    """
    horizon, batch = config.horizon, num_agents * config.horizon
    minibatch = config.minibatch_size
    if minibatch == 0:
        minibatch = max(1, min(AUTO_MINIBATCH, batch) // horizon) * horizon
    if minibatch % horizon or minibatch > batch:
        below = max(horizon, min(minibatch // horizon * horizon, batch))
        above = min(below + horizon, batch)
        raise APIUsageError(
            f"train.minibatch_size must be a multiple of train.horizon = {horizon} and at most the "
            f"batch, {num_agents} agents x {horizon} steps = {batch}; got {minibatch}. "
            f"Nearest: {below}" + (f" or {above}." if above != below else ".")
        )
    largest = config.max_minibatch_size
    if largest and largest < horizon:
        raise APIUsageError(
            f"train.max_minibatch_size must hold a segment of train.horizon = {horizon} steps, "
            f"got {largest}."
        )
    epochs = -(-config.total_timesteps // (batch * processes))
    return Plan(
        num_agents=num_agents,
        horizon=horizon,
        batch_size=batch,
        minibatch_size=minibatch,
        minibatch_segments=minibatch // horizon,
        part_segments=min(minibatch, largest or minibatch) // horizon,
        minibatches=max(1, round(config.replay_ratio * batch / minibatch)),
        total_epochs=epochs,
        total_timesteps=epochs * batch * processes,
    )
