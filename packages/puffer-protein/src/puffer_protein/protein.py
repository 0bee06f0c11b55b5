"""Protein: a genetic search around the front, guided by models of score, cost and success.

The first trials are the default and a small design around it. After that, a suggestion:

1. The front is that of the model's means at the settings tried, not of the luckiest runs.
2. A target cost is drawn first: density c^-k in c over the range of use. k falls as the budget is
   spent: cheap runs first, whose lessons carry over to expensive ones.
3. A genetic search from the front maximises expected hypervolume gain x P(success)² x a window
around the target x a preference for the surroundings of the front. The preference fades as results
come in, and some suggestions do without it from the begin.
4. Now and then the setting of the front whose score is least certain is run once more instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from puffer_protein.acquisition import Staircase
from puffer_protein.front import pareto_front
from puffer_protein.models import Models
from puffer_protein.parameters import Array
from puffer_protein.search import search
from puffer_protein.space import Space
from puffer_protein.tuner import FrontPoint, Outcome, Tuner

GOLDEN = (math.sqrt(5) - 1) / 2
INITIAL = 6  # trials of the design
SPREAD = 0.5  # width of the design around a default, in the unit cube
REACH = 0.8  # longest run of the design, on the scale of the unit cube
FRUGALITY = (0.7, 0.2)  # k at the begin and at the end of the budget
WINDOW = 0.35  # standard deviation of the window around the target, in log cost
REACH_OF_WINDOW = 4.0  # standard deviations; further off the value is 0
SURROUNDINGS = 0.1  # radius per root of the number of parameters, at the begin
LOCAL = 3  # results per parameter until the preference has faded
GLOBAL = 0.15  # share of suggestions without it
REPLICATES = 0.12  # share of replicates, once the preference has faded
BEST = 5  # parents that need not be on the front
STRANGERS = 200  # random points in the first generation


class Known(NamedTuple):
    """The settings tried, each once.

    Attributes:
        points: (n, d).
        means: (n,) posterior means of the standardised score.
        sds: (n,) posterior standard deviations.
        costs: (n,) mean log costs.
        front: indices of the Pareto front of means and costs, by rising cost.
    """

    points: Array
    means: Array
    sds: Array
    costs: Array
    front: npt.NDArray[np.intp]


class Protein(Tuner):
    """The tuner. See the module for the method, `Tuner` for its arguments and use."""

    def __init__(self, space: Space, **keywords: Any) -> None:
        super().__init__(space, **keywords)
        self._models = Models(space)

    def _choose(self, rng: np.random.Generator) -> Array:
        done = [o for o in self.outcomes if not o.failed and o.finished]
        index = self.suggested - (self.default is not None)
        if index < INITIAL:
            return self._initial(index, rng)
        if len(done) < 2:
            return self._fresh(rng)
        self._models.update(self.outcomes, self.pending)
        known = self._known(done)
        strangers = self.space.snap(rng.random((STRANGERS, len(self.space))))
        low, high = self._cost_range(known, strangers)
        front = known.front
        worst = float(np.quantile(known.means, 0.1))
        stairs = Staircase(known.means[front], known.costs[front], worst, low, high)
        maturity = min(1.0, len(done) / (LOCAL * len(self.space)))
        if rng.random() < REPLICATES * maturity:
            again = self._replicate(stairs, known)
            if again is not None:
                return again
        target = self._target(low, high)
        everywhere = rng.random() < GLOBAL
        value = self._value(stairs, known, target, 1.0 if everywhere else maturity)
        best = known.points[np.argsort(-known.means, kind="stable")[:BEST]]
        parents = self._at_cost(np.concatenate([known.points[front], best]), target)
        for point in search(self.space, value, parents, strangers, rng):
            if not self.is_pending(point) and self.space.allows(point):
                return np.asarray(point)
        return self._fresh(rng)

    def models(self) -> Models:
        """The models, with all results and without pending trials; two results at least."""
        self._models.update(self.outcomes, [])
        return self._models

    def _initial(self, index: int, rng: np.random.Generator) -> Array:
        """A Latin hypercube around the default; runs grow longer through its strata."""
        design = np.random.default_rng([self._seed, 2**32])  # the same at every call
        strata = design.permuted(np.tile(np.arange(INITIAL)[:, None], len(self.space)), axis=0)
        cube = (strata + design.random(strata.shape)) / INITIAL
        if self.default is not None:
            cube = np.clip(self.default + SPREAD * (cube - 0.5), 0.0, 1.0)
        if self.space.time is not None:
            cube[:, self.space.names.index(self.space.time)] = (
                REACH * (np.arange(INITIAL) + design.random(INITIAL)) / INITIAL
            )
        point = self.space.snap(cube[index][None])[0]
        legal = self.space.allows(point) and not self.is_pending(point)
        return np.asarray(point) if legal else self._fresh(rng)

    def _known(self, done: Sequence[Outcome]) -> Known:
        points, which = np.unique(np.array([o.point for o in done]), axis=0, return_inverse=True)
        which = which.reshape(-1)
        costs = np.bincount(which, [o.log_cost for o in done]) / np.bincount(which)
        means, sds = self._models.predict_score(points)
        return Known(points, means, sds, costs, pareto_front(means, costs))

    def _cost_range(self, known: Known, strangers: Array) -> tuple[float, float]:
        """Log costs from the lowest seen to the highest that may and can be."""
        highest = max(self._models.predict_cost(strangers).max(), known.costs.max())
        low = float(known.costs.min())
        return low, max(min(math.log(self._max_trial_cost), float(highest)), low + 1e-6)

    def _target(self, low: float, high: float) -> float:
        """A log cost: the next quantile of the density c^-k, by a golden sequence."""
        begin, end = FRUGALITY
        k = begin + (end - begin) * self._progress()
        u = (0.5 + self.suggested * GOLDEN) % 1.0
        return low - math.log1p(-u * -math.expm1(-k * (high - low))) / k

    def _progress(self) -> float:
        """The share of the budget that is spent, in [0, 1]; one half if no budget is known."""
        if self._max_runs is None and math.isinf(self._max_cost):
            return 0.5
        spent = sum(math.exp(o.log_cost) for o in self.outcomes) / self._max_cost
        runs = len(self.outcomes) / self._max_runs if self._max_runs else 0.0
        return min(1.0, max(spent, runs))

    def _value(
        self, stairs: Staircase, known: Known, target: float, maturity: float
    ) -> Callable[[Array], Array]:
        """What the search maximises: (n, d) points -> (n,)."""
        cap = math.log(self._max_trial_cost)
        weight = np.ones(len(self.space))
        if self.space.time is not None:
            weight[self.space.names.index(self.space.time)] = 0.0  # the target says how long
        centres = known.points[known.front] * weight
        radius = SURROUNDINGS * math.sqrt(len(self.space)) / max(1.0 - maturity, 1e-9)

        def value(points: Array) -> Array:
            result = np.zeros(len(points))
            cost = self._models.predict_cost(points)
            near = (cost <= cap) & (np.abs(cost - target) < REACH_OF_WINDOW * WINDOW)
            if near.any():
                points, cost = points[near], cost[near]
                offset = 0.5 * (_nearest(points * weight, centres) / radius) ** 2
                offset += 0.5 * ((cost - target) / WINDOW) ** 2
                success = self._models.predict_success(points)
                gain = stairs.gain(*self._models.predict_score(points), cost)
                result[near] = gain * success**2 * np.exp(-offset)
            return result

        return value

    def _at_cost(self, parents: Array, target: float) -> Array:
        """The parents, and the same with the length that should cost the target."""
        if self.space.time is None:
            return parents
        low, high = self.space.parameters[self.space.time].mapped
        shifted = parents.copy()
        gap = target - self._models.predict_cost(parents)
        shifted[:, self.space.names.index(self.space.time)] += gap / (high - low)
        return np.concatenate([parents, self.space.snap(np.clip(shifted, 0.0, 1.0))])

    def _replicate(self, stairs: Staircase, known: Known) -> Array | None:
        """The setting of the front whose uncertainty matters most."""
        matter = known.sds[known.front] * np.diff(stairs.edges)[1:]
        for index in np.argsort(-matter, kind="stable"):
            point = known.points[known.front[index]]
            if not self.is_pending(point) and self.space.allows(point):
                return np.asarray(point)
        return None

    def front(self) -> list[FrontPoint]:
        """The Pareto front of what is expected of a new run, by rising cost."""
        done = [o for o in self.outcomes if not o.failed and o.finished]
        if len(done) < 2:
            return super().front()
        scale = self.models().scale
        known = self._known(done)
        return [
            FrontPoint(
                self.space.decode(known.points[i]),
                self.sign * float(scale.inverse(known.means[i])),
                float(known.sds[i] * scale.slope(known.means[i])),
                math.exp(known.costs[i]),
            )
            for i in known.front
        ]


def _nearest(points: Array, centres: Array) -> Array:
    """Distances (n,) of (n, d) points to the nearest of (k, d) centres."""
    squares = (points**2).sum(1)[:, None] + (centres**2).sum(1) - 2.0 * (points @ centres.T)
    return np.asarray(np.sqrt(np.maximum(squares.min(1), 0.0)))
