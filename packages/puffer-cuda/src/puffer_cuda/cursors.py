"""Where in a rollout the next transition of each agent goes.

Two ways, with one interface: every agent fills its own row, or, when batches come in any order, a
fast agent goes on in another row and rows may stay short.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Agents = slice | Tensor
"""A batch of agents: neighbours, or indices in any order."""


class Blocks:
    """Batches of neighbours in turn: row i is that of agent i, and every row gets full."""

    def __init__(self, num_agents: int, horizon: int) -> None:
        self.rows = self.used = num_agents
        self.horizon = horizon
        self.begin()

    def begin(self) -> None:
        """Start a rollout."""
        self._time: dict[int, int] = {}  # by first agent of a batch

    def agents(self, ids: npt.NDArray[np.int64]) -> slice:
        """The batch of these agents."""
        return slice(int(ids[0]), int(ids[-1]) + 1)

    def place(self, agents: Agents) -> tuple[slice, int]:
        """Row and time of the next transition of these agents."""
        assert isinstance(agents, slice)
        time = self._time.get(agents.start, -1) + 1
        self._time[agents.start] = time
        return agents, time

    def last(self, agents: Agents) -> tuple[slice, int]:
        """Row and time of their last transition."""
        assert isinstance(agents, slice)
        return agents, self._time[agents.start]

    def fresh(self, agents: Agents) -> tuple[Agents, Agents] | None:
        """(rows, agents) that begin a row with their next transition, or None."""
        assert isinstance(agents, slice)
        return None if agents.start in self._time else (agents, agents)


class FirstCome:
    """Batches of those that answer first: as many transitions in all, but not of every agent.

    An agent whose row is full begins another one. Rows that are not full at the end of the rollout
    are cut there, as a truncation is: V of the next observation follows their last transition, so
    nothing is lost and nothing is made up. There are at most two rows an agent: the transitions
    fill `num_agents` rows, and each agent has at most one that is not full.
    """

    def __init__(self, num_agents: int, horizon: int) -> None:
        self.num_agents = num_agents
        self.rows = 2 * num_agents
        self.horizon = horizon
        self.begin()

    def begin(self) -> None:
        """Start a rollout."""
        self.row = torch.arange(self.num_agents)
        self.time = torch.zeros(self.num_agents, dtype=torch.int64)
        self.used = self.num_agents

    def agents(self, ids: npt.NDArray[np.int64]) -> Tensor:
        """The batch of these agents."""
        return torch.from_numpy(ids)

    def fresh(self, agents: Agents) -> tuple[Agents, Agents] | None:
        """(rows, agents) that begin a row with their next transition, or None."""
        assert isinstance(agents, Tensor)
        full = agents[self.time[agents] == self.horizon]
        if len(full):
            self.row[full] = torch.arange(self.used, self.used + len(full))
            self.time[full] = 0
            self.used += len(full)
        begin = agents[self.time[agents] == 0]
        return (self.row[begin], begin) if len(begin) else None

    def place(self, agents: Agents) -> tuple[Tensor, Tensor]:
        """Row and time of the next transition of these agents."""
        assert isinstance(agents, Tensor)
        place = self.row[agents], self.time[agents]
        self.time[agents] += 1
        return place

    def last(self, agents: Agents) -> tuple[Tensor, Tensor]:
        """Row and time of their last transition."""
        assert isinstance(agents, Tensor)
        return self.row[agents], self.time[agents] - 1
