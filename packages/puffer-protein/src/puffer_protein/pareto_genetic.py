"""A genetic search on the front of results, without models."""

from __future__ import annotations

import numpy as np

from puffer_protein.front import pareto_front
from puffer_protein.parameters import Array
from puffer_protein.search import breed
from puffer_protein.tuner import Tuner

ATTEMPTS = 100


class ParetoGenetic(Tuner):
    """Children of the front; parents in sparse regions of cost have more of them."""

    def _choose(self, rng: np.random.Generator) -> Array:
        done = [o for o in self.outcomes if not o.failed and o.finished]
        if not done:
            return self._fresh(rng)
        costs = np.array([o.log_cost for o in done])
        front = pareto_front(np.array([o.score for o in done]), costs)
        parents = np.array([done[i].point for i in front])
        # Half the distance between the neighbours in log cost; the ends count double.
        gaps = np.diff(costs[front], prepend=np.nan, append=np.nan)
        left, right = gaps[:-1], gaps[1:]
        room = np.where(np.isnan(left), right, np.where(np.isnan(right), left, (left + right) / 2))
        room = np.nan_to_num(room, nan=1.0) + 1e-9
        for _ in range(ATTEMPTS):
            parent = parents[rng.choice(len(parents), p=room / room.sum())]
            child = breed(self.space, parent[None], 1, rng)[0]
            if self.space.allows(child) and not self.is_pending(child):
                return np.asarray(child)
        return self._fresh(rng)
