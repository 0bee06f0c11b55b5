"""Protein: a genetic search around the front, guided by models of score, cost and success.

A suggestion, once there are results:

1. The front is that of the model's means at the points tried, not of the luckiest runs.
2. A target cost is drawn first: density c^-k in c over the useful range. k falls as the budget is
   spent: cheap runs first, whose lessons carry over to expensive ones.
3. A genetic search from the front maximises expected hypervolume gain x P(success)² x a window
   around the target.
4. Now and then the point of the front whose score is least certain is run once more instead.
"""

from __future__ import annotations

import math

import numpy as np

from puffer_protein.acquisition import Staircase
from puffer_protein.front import pareto_front
from puffer_protein.models import Models
from puffer_protein.parameters import Array
from puffer_protein.search import search
from puffer_protein.tuner import FrontPoint, Outcome, Tuner

GOLDEN = (math.sqrt(5) - 1) / 2
INITIAL = 6
INITIAL_SHARE = 0.1  # of the budget, at most, for the initial design
FRUGALITY = (1.0, 0.2)  # k at the begin and at the end of the budget
WINDOW = 0.35  # standard deviation of the window around the target, in log cost
REPLICATES = 0.12
STRANGERS = 200
BEST = 5


class Protein(Tuner):
    """The tuner. See the module for the method, `Tuner` for its arguments."""

    _models: Models | None = None

    def _choose(self, rng: np.random.Generator) -> Array:
        done = [o for o in self.outcomes if not o.failed]
        first = self._default is not None
        if self.suggested < INITIAL + first or len(done) < 2:
            return self._initial(self.suggested - first, rng)
        models = self._model()
        tried, means, sds, costs = self._known(models, done)
        front = pareto_front(means, costs)
        worst = float(np.quantile(means, 0.1)) if len(means) > 1 else float(means.min()) 
        strangers = self.space.snap(rng.random((STRANGERS, len(self.space))))
        low, high = self._cost_range(models, means[front], costs[front], worst, strangers)
        stairs = Staircase(means[front], costs[front], worst, low, high)
        if rng.random() < REPLICATES:
            again = self._replicate(stairs, tried[front], sds[front])
            if again is not None:
                return again
        target = self._target(low, high)
        cap = min(math.log(self._max_trial_cost), high + WINDOW) 

        def value(points: Array) -> Array:
            mean, sd = models.predict_score(points)
            cost = models.predict_cost(points)
            gain = stairs.gain(mean, sd, np.maximum(cost, low))
            window = np.exp(-0.5 * ((cost - target) / WINDOW) ** 2)
            return gain * models.predict_success(points) ** 2 * window * (cost <= cap)

        parents = np.concatenate([tried[front], tried[np.argsort(-means, kind="stable")[:BEST]]])
        for point in search(self.space, value, self._at_cost(models, parents, target), strangers, rng):
            if not self.is_pending(point) and self.space.allows(point):
                return point
        return self._fresh(rng)

    def _model(self) -> Models:
        if self._models is None:
            self._models = Models(self.space)
        self._models.update(self.outcomes, self.pending)
        return self._models

    def _known(self, models: Models, done: list[Outcome]) -> tuple[Array, Array, Array, Array]:
        """The different points tried: (n, d), posterior means and sds (n,), mean log costs (n,)."""
        points, inverse = np.unique(
            np.array([o.point for o in done]), axis=0, return_inverse=True
        )
        inverse = inverse.reshape(-1)
        costs = np.bincount(inverse, [o.log_cost for o in done]) / np.bincount(inverse)
        mean, sd = models.predict_score(points)
        return points, mean, sd, costs

    def _initial(self, index: int, rng: np.random.Generator) -> Array:
        """A Latin hypercube; the length of the runs rises through its strata."""
        if index >= INITIAL:
            return self._fresh(rng)
        design_rng = np.random.default_rng([self._seed, 2**32])
        strata = np.tile(np.arange(INITIAL)[:, None], len(self.space))
        strata = design_rng.permuted(strata, axis=0)
        if self.space.time is not None:
            strata[:, self.space.names.index(self.space.time)] = np.arange(INITIAL)
        design = (strata + design_rng.random(strata.shape)) / INITIAL
        point = self.space.snap(design[index][None])[0]
        if self.is_pending(point) or not self.space.allows(point):
            return self._fresh(rng)
        return point

    def _cost_range(
        self, models: Models, scores: Array, costs: Array, worst: float, strangers: Array
    ) -> tuple[float, float]:
        """Log costs from the cheapest that is of use to the highest that may be."""
        predicted = models.predict_cost(strangers)
        high = min(math.log(self._max_trial_cost), max(float(predicted.max()), float(costs.max())))
        low = float(costs.min())
        return low, max(high, low + 1e-6)

    def _progress(self) -> float:
        """The share of the budget that is spent, in [0, 1]."""
        spent = sum(math.exp(o.log_cost) for o in self.outcomes) / self._max_cost
        runs = len(self.outcomes) / self._max_runs if self._max_runs else 0.0
        return min(1.0, max(spent, runs))

    def _target(self, low: float, high: float) -> float:
        """A log cost: quantile of the density c^-k at the next member of a golden sequence."""
        begin, end = FRUGALITY
        k = begin + (end - begin) * self._progress()
        u = (0.5 + self.suggested * GOLDEN) % 1.0
        return low - math.log1p(-u * -math.expm1(-k * (high - low))) / k

    def _at_cost(self, models: Models, parents: Array, target: float) -> Array:
        """The parents, and the same with the length that is expected to cost the target."""
        if self.space.time is None:
            return parents
        column = self.space.names.index(self.space.time)
        parameter = self.space.parameters[self.space.time]
        low, high = parameter.mapped
        shifted = parents.copy()
        gap = target - models.predict_cost(parents)
        shifted[:, column] += gap / max(high - low, 1e-9) 
        return np.concatenate([parents, self.space.snap(np.clip(shifted, 0.0, 1.0))])

    def _replicate(self, stairs: Staircase, front: Array, sds: Array) -> Array | None:
        """The point of the front whose uncertainty matters most."""
        widths = np.diff(stairs.edges)[1:]
        for index in np.argsort(-sds * widths, kind="stable"):
            if not self.is_pending(front[index]):
                return np.asarray(front[index])
        return None
