"""What every method shares: suggestions, their results, and what is still running.

A tuner is a function of (space, seed, results in their order, running trials, number of suggestions
so far), and of nothing else: the same history gives the same next suggestion, in another process
and after a resume.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from puffer_protein.errors import SweepError
from puffer_protein.front import pareto_front
from puffer_protein.parameters import Array
from puffer_protein.space import Space, Values

GOALS = ("maximize", "minimize")
TINY = 1e-12  # seconds; smaller costs count as this


class CurvePoint(NamedTuple):
    """A point of a learning curve: the trial had this score after so much time and cost."""

    time: float
    score: float
    cost: float


@dataclass(frozen=True)
class Outcome:
    """A result: of a finished trial, or of a failed one.

    Attributes:
        point: (d,) in the unit cube.
        score: to be maximised (negative of the user's where the goal is to minimise).
        log_cost: logarithm of the cost.
        failed: the trial gave no score; `score` is NaN then.
        curve: points before the last, scores as in `score`.
        finished: the trial was not ended early. The point of one that was has the length that it
            reached, and no place on the front.
    """

    point: Array
    score: float
    log_cost: float
    failed: bool
    curve: tuple[CurvePoint, ...] = ()
    finished: bool = True


@dataclass(frozen=True)
class FrontPoint:
    """A setting on the Pareto front.

    Attributes:
        values: native values.
        score: in the user's direction; by Protein, what is expected of a new run.
        sd: standard deviation of `score` as an estimate, without the noise of a single run;
            NaN where a method has none.
        cost: of a trial.
    """

    values: Values
    score: float
    sd: float
    cost: float


class Tuner:
    """A method of choosing trials; subclasses choose in `_choose`.

    Attributes:
        space: what is searched.
        outcomes: results in the order of `observe`.
        pending: points that were suggested and have no result yet.
        suggested: how many suggestions were made.
        sign: 1 to maximise, -1 to minimise.
        default: (d,) point of the first trial, or None.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int = 0,
        goal: str = "maximize",
        default: Mapping[str, Any] | None = None,
        max_trial_cost: float = math.inf,
        max_cost: float = math.inf,
        max_runs: int | None = None,
    ) -> None:
        """Start without results.

        Args:
            space: what to search.
            seed: of all random choices.
            goal: "maximize" or "minimize" the score.
            default: the first trial; None starts with a random one.
            max_trial_cost: trials that are expected to cost more are not suggested.
            max_cost: of all trials together, if it is known; guides how cost is spread.
            max_runs: number of trials, if it is known; guides the same.

        Raises:
            SweepError: a wrong goal, limit or default.
        """
        if goal not in GOALS:
            raise SweepError(f"goal must be {' or '.join(GOALS)}, got {goal!r}.")
        for name, limit in (("max_trial_cost", max_trial_cost), ("max_cost", max_cost)):
            if not limit > 0:
                raise SweepError(f"{name} must be above 0, got {limit!r}.")
        self.space = space
        self.outcomes: list[Outcome] = []
        self.pending: list[Array] = []
        self.suggested = 0
        self._seed = seed
        self.sign = 1.0 if goal == "maximize" else -1.0
        self.default = None if default is None else space.encode(default)
        self._max_trial_cost = max_trial_cost
        self._max_cost = max_cost
        self._max_runs = max_runs

    def suggest(self) -> Values:
        """The values of the next trial; it counts as running until `observe` or `forget`."""
        if self.suggested == 0 and self.default is not None:
            point = self.default
        else:
            point = self._choose(np.random.default_rng([self._seed, self.suggested]))
        self.suggested += 1
        self.pending.append(point)
        return self.space.decode(point)

    def observe(
        self,
        values: Mapping[str, Any],
        score: float,
        cost: float,
        *,
        failed: bool = False,
        curve: Sequence[tuple[float, float, float]] = (),
        stopped_at: float | None = None,
    ) -> None:
        """Take the result of a trial, suggested or not.

        Args:
            values: as suggested.
            score: its score; one that is not finite counts as a failure.
            cost: what it cost, at least 0; also of a failed trial, as far as it came.
            failed: it gave no score.
            curve: (time, score, cost) on the way, time in units of the parameter whose scale is
                "time"; the end need not be in it.
            stopped_at: the time at which the trial was ended early; None: it was not.

        Raises:
            SweepError: values that are not of the space, or a cost below 0 or NaN.
        """
        point = self.space.encode(values)
        if not cost >= 0:
            raise SweepError(f"cost must be 0 or more, got {cost!r}.")
        failed = failed or not math.isfinite(score)
        points = [CurvePoint(*map(float, entry)) for entry in curve]
        self._drop(point)
        if stopped_at is not None and self.space.time is not None:
            column = self.space.names.index(self.space.time)
            point = point.copy()
            point[column] = self.space.parameters[self.space.time].to_unit(stopped_at)
        self.outcomes.append(
            Outcome(
                point,
                math.nan if failed else self.sign * float(score),
                math.log(min(max(float(cost), TINY), 1.0 / TINY)),
                failed,
                tuple(
                    CurvePoint(p.time, self.sign * p.score, p.cost)
                    for p in points
                    if all(map(math.isfinite, p)) and p.time > 0
                ),
                stopped_at is None,
            )
        )

    def forget(self, values: Mapping[str, Any]) -> None:
        """A suggested trial will have no result, through no fault of its values."""
        self._drop(self.space.encode(values))

    def _drop(self, point: Array) -> None:
        for index, other in enumerate(self.pending):
            if np.array_equal(point, other):
                del self.pending[index]
                return

    def front(self) -> list[FrontPoint]:
        """The Pareto front, by rising cost."""
        done = [o for o in self.outcomes if not o.failed and o.finished]
        scores = np.array([o.score for o in done])
        costs = np.array([o.log_cost for o in done])
        return [
            FrontPoint(
                self.space.decode(done[i].point),
                self.sign * done[i].score,
                math.nan,
                math.exp(done[i].log_cost),
            )
            for i in pareto_front(scores, costs)
        ]

    def recommend(self, max_cost: float = math.inf) -> FrontPoint | None:
        """The best setting that costs at most `max_cost`; None if none does."""
        affordable = [point for point in self.front() if point.cost <= max_cost]
        return affordable[-1] if affordable else None

    def _choose(self, rng: np.random.Generator) -> Array:
        """The next point, legal and not pending."""
        raise NotImplementedError

    def _fresh(self, rng: np.random.Generator) -> Array:
        """A random legal point that is not pending, if there is one left."""
        for _ in range(100):
            point = self.space.sample(rng)
            if not self.is_pending(point):
                break
        return point

    def is_pending(self, point: Array) -> bool:
        """Whether a trial with exactly these values is running."""
        return any(np.array_equal(point, other) for other in self.pending)
