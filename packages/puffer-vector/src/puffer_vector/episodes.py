"""Episode statistics, kept once for all environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Episodes:
    """Return and length of every agent's running episode.

    Attributes:
        returns: `(num_agents,)` float64, sum of the raw float32 rewards since the episode began.
        lengths: `(num_agents,)` int64, steps in which the agent acted.
    """

    def __init__(self, num_agents: int) -> None:
        self.returns = np.zeros(num_agents, dtype=np.float64)
        self.lengths = np.zeros(num_agents, dtype=np.int64)

    def clear(self) -> None:
        """Forget all running episodes."""
        self.returns.fill(0)
        self.lengths.fill(0)

    def update(
        self,
        rows: slice | NDArray[np.int64],
        rewards: NDArray[np.float32],
        ends: NDArray[np.bool_],
        counted: NDArray[np.bool_],
    ) -> dict[str, Any] | None:
        """Count one step of a batch of agents.

        Args:
            rows: Where the batch stands among all agents.
            rewards: `(n,)` float32.
            ends: `(n,)` bool, the episode ended in this step.
            counted: `(n,)` bool, the agent acted in this step.

        Returns:
            None if no episode ended, else aligned arrays, one entry per ended episode:
            `agent_id` int64, `episode_return` float64, `episode_length` int64.
        """
        if np.count_nonzero(counted) == counted.size:  # several times faster than all()
            self.returns[rows] += rewards
            self.lengths[rows] += 1
        else:
            self.returns[rows] += np.where(counted, rewards, 0)
            self.lengths[rows] += counted
            ends = ends & counted
        if not np.count_nonzero(ends):
            return None
        ended = np.flatnonzero(ends)
        agents = ended + (rows.start or 0) if isinstance(rows, slice) else rows[ended]
        info = {
            "agent_id": agents,
            "episode_return": self.returns[agents],
            "episode_length": self.lengths[agents],
        }
        self.returns[agents] = 0
        self.lengths[agents] = 0
        return info
