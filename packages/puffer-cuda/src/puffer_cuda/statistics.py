"""Episode statistics between two logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np


class EpisodeStatistics:
    """Means over what environments report in their infos.

    An info is a dict; nested keys join with "/"; a number counts once, a sequence or an array of
    numbers once per entry. Anything else is no statistic and is left out. `agent_id` names rows.

    Attributes:
        sums, counts: by name, since the last log.
    """

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def add(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Take up the infos of one step."""
        for info in infos:
            self._add(info, "")

    def _add(self, info: Mapping[str, Any], prefix: str) -> None:
        for key, value in info.items():
            if key == "agent_id":
                continue
            if isinstance(value, Mapping):
                self._add(value, f"{prefix}{key}/")
            elif isinstance(value, (int, float, np.ndarray, np.generic, list, tuple)):
                array = np.asarray(value)
                if array.dtype.kind in "biuf" and array.size:
                    name = f"{prefix}{key}"
                    self.sums[name] = self.sums.get(name, 0.0) + float(array.sum())
                    self.counts[name] = self.counts.get(name, 0) + array.size

    def means(self, gather: Callable[[Any], list[Any]] = lambda value: [value]) -> dict[str, float]:
        """Mean of every statistic since the last call, and `n`, the episodes; then start anew.

        Empty when nothing was reported: no value rather than 0.

        Args:
            gather: collects a value from all processes that train together.
        """
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        for own_sums, own_counts in gather((self.sums, self.counts)):
            for name, total in own_sums.items():
                sums[name] = sums.get(name, 0.0) + total
                counts[name] = counts.get(name, 0) + own_counts[name]
        means = {name: total / counts[name] for name, total in sums.items()}
        if "episode_return" in counts:
            means["n"] = counts["episode_return"]
        self.sums.clear()
        self.counts.clear()
        return means
