"""Restarts: what becomes of the environments of a worker that failed, under `on_error="restart"`.

Their episodes are cut: one step with reward 0 and the truncation flag, in which the observation is
the first of the next episode and `final_observations` the last one that the learner saw.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers
from puffer_core.errors import APIUsageError

LOGGER = logging.getLogger("puffer_vector")
MAX_RESTARTS = 10
SEEN = ("observations", "masks", "terminals", "truncations")


def check_restarts(on_error: str, max_restarts: int | None) -> int:
    """Return how many restarts are allowed in all, 0 for `on_error="raise"`.

    Raises:
        APIUsageError: The two keywords are wrong or contradict each other.
    """
    if on_error not in ("raise", "restart"):
        raise APIUsageError(f"on_error must be 'raise' or 'restart', got {on_error!r}.")
    if max_restarts is None:
        return MAX_RESTARTS if on_error == "restart" else 0
    if on_error == "raise":
        raise APIUsageError("max_restarts needs on_error='restart'.")
    if not isinstance(max_restarts, int) or max_restarts < 1:
        raise APIUsageError(f"max_restarts must be an int of at least 1, got {max_restarts!r}.")
    return max_restarts


class Restarts:
    """Counts restarts, derives seeds for them, and cuts the episodes that were broken.

    Attributes:
        limit: Number of restarts allowed in all; 0 means never.
        count: Number of restarts so far.
    """

    def __init__(self, limit: int, buffers: Buffers, agents_per_env: int, emulated: bool) -> None:
        """Prepare for restarts.

        Args:
            limit: What `check_restarts` returned.
            buffers: The joint buffers of all environments.
            agents_per_env: Rows of an environment.
            emulated: Whether an environment's agents begin their episodes together. Agents of
                native environments begin the next one as soon as one ends.
        """
        self.limit, self.count = limit, 0
        self._of_worker: Counter[int] = Counter()
        self._buffers = buffers
        self._agents = agents_per_env
        self._emulated = emulated
        self._seen = {name: buffers[name].copy() for name in SEEN} if limit else {}

    def grant(self, worker: int, error: str) -> bool:
        """Count and log the restart of a failed worker; False if there must be none."""
        if self.count >= self.limit:
            return False
        self.count += 1
        self._of_worker[worker] += 1
        LOGGER.warning("Restart %d of at most %d: %s", self.count, self.limit, error)
        return True

    def seeds(self, worker: int, seeds: Sequence[int]) -> list[int]:
        """Derive new seeds for a failed worker's environments.

        The random streams died with the worker. The new ones depend on the seeds that the old
        ones began with, and on how often this worker was restarted, so that the same failures
        give the same episodes.

        Args:
            worker: Its index.
            seeds: What its environments were last reset with.
        """
        times = self._of_worker[worker]
        return [int(np.random.SeedSequence((seed, times)).generate_state(1)[0]) for seed in seeds]

    def remember(self, rows: slice | NDArray[np.int64]) -> None:
        """Keep what the learner saw, before the next step overwrites it."""
        for name, seen in self._seen.items():
            seen[rows] = self._buffers[name][rows]

    def cut(self, rows: slice) -> None:
        """Turn the first observations of restarted environments into the step that cut the old.

        Args:
            rows: The environments' rows, in which `reset` has just written.
        """
        data: dict[str, NDArray[Any]] = {name: b[rows] for name, b in self._buffers.items()}
        seen = {name: b[rows] for name, b in self._seen.items()}
        shape = (-1, self._agents)
        acted = seen["masks"].reshape(shape)
        running = acted & ~(seen["terminals"] | seen["truncations"]).reshape(shape)
        broken = acted
        if self._emulated:  # agents that ended are gone while others still run
            broken = np.where(running.any(axis=1, keepdims=True), running, acted)
        data["masks"][:] = data["truncations"][:] = broken.reshape(-1)
        data["terminals"].fill(False)
        data["rewards"].fill(0)
        data["final_observations"][:] = seen["observations"]
