"""Rewards as the learner sees them: scaled, normalised, clipped. Reported returns stay raw."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Rewards = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class RewardScaler:
    """scale x r, divided by the deviation of discounted returns, within [-clip, clip].

    The deviation is that of G_t = gamma G_{t-1} + r_t over all agents and steps so far, G starting
    at 0 with each episode (Engstrom et al. 2020); mean and variance are merged batch by batch
    (Chan et al. 1979) in float64.

    Attributes:
        seen, clipped: how many rewards, and how many of them the clip changed.
        returns: `(num_agents,)` float64, G of every agent.
        count, mean, square: of G: number, mean, and sum of squared distances from the mean.
    """

    def __init__(
        self, num_agents: int, scale: float, clip: float, normalize: bool, gamma: float
    ) -> None:
        self.scale, self.clip, self.normalize, self.gamma = scale, clip, normalize, gamma
        self.seen = self.clipped = 0
        self.returns = np.zeros(num_agents)
        self.count, self.mean, self.square = 0, 0.0, 0.0

    def __call__(
        self,
        rewards: Rewards,
        ends: Flags,
        masks: Flags,
        agents: slice | npt.NDArray[np.int64] = slice(None),
    ) -> Rewards:
        """Take up one step of these agents and return their rewards for learning.

        Args:
            rewards: `(n,)`, finite.
            ends: `(n,)`, the episode ended in this step.
            masks: `(n,)`, the agent acted in this step.
            agents: where they stand among all.
        """
        rewards = rewards * np.float32(self.scale)
        if self.normalize:
            running = self.gamma * self.returns[agents] + rewards
            self._merge(running[masks])
            self.returns[agents] = np.where(ends | ~masks, 0, running)
            rewards = rewards / np.float32(self.deviation)
        if self.clip:
            self.seen += int(np.count_nonzero(masks))
            self.clipped += int(np.count_nonzero((np.abs(rewards) > self.clip) & masks))
            rewards = rewards.clip(-self.clip, self.clip)
        return rewards

    @property
    def deviation(self) -> float:
        """Standard deviation of discounted returns so far; 1 while there is none."""
        variance = self.square / self.count if self.count else 0.0
        return math.sqrt(variance) if variance > 1e-12 else 1.0

    @property
    def clipped_share(self) -> float:
        """Share of rewards that the clip changed."""
        return self.clipped / max(self.seen, 1)

    def _merge(self, values: npt.NDArray[np.float64]) -> None:
        if not len(values):
            return
        mean, count = float(values.mean()), self.count + len(values)
        distance = mean - self.mean
        self.square += float(np.square(values - mean).sum())
        self.square += distance**2 * self.count * len(values) / count
        self.mean += distance * len(values) / count
        self.count = count
