"""What Protein knows: models of score, cost and success, learnt from results.

Scores are standardised with their bad tail compressed, costs are logarithms. Points of learning
curves are further observations of the score, at the length that the run had then, with the extra
input "finished" at 0. Failures teach the model of success alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from puffer_protein.gaussian_process import GaussianProcess, Prior
from puffer_protein.parameters import Array
from puffer_protein.space import Space
from puffer_protein.tuner import Outcome

FIRST_FIT = 4  # results
FIT_STEPS = 12  # of L-BFGS, from the last hyperparameters
REFIT_GROWTH = 1.1
MAX_ROWS = 600
MAX_CURVE_ROWS = 120


def priors(inputs: int) -> dict[str, Prior]:
    """Priors of the three models, for inputs in the unit cube."""
    length = (float(np.log(0.5 * np.sqrt(inputs))), 1.0)
    return {
        "score": Prior(length, (0.0, 1.0), (np.log(0.3), 1.0), (np.log(1e-2), 1.0)),
        "cost": Prior(length, (np.log(0.1), 1.0), (np.log(2.0), 1.0), (np.log(1e-3), 1.0)),
        "success": Prior(length, (0.0, 1.0), (np.log(0.1), 1.0), (np.log(0.1), 1.0)),
    }


class Models:
    """Score, log cost and success of any point.

    The hyperparameters are a function of the results alone: those of each model are fitted when so
    many results are there, with growing gaps, each time from where the last fit ended. A tuner that
    is resumed runs through the same fits.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._time = None if space.time is None else space.names.index(space.time)
        inputs = space.features(np.full((1, len(space)), 0.5)).shape[1]
        prior = priors(inputs)
        self.score = GaussianProcess(inputs + (self._time is not None), prior["score"])
        self.cost = GaussianProcess(inputs, prior["cost"])
        self.success = GaussianProcess(inputs, prior["success"])
        self._due = {"score": FIRST_FIT, "cost": FIRST_FIT + 1, "success": FIRST_FIT + 2}

    def update(self, outcomes: Sequence[Outcome], pending: Sequence[Array]) -> None:
        """Learn from all results so far; pending points count as if they came out as expected.

        Args:
            outcomes: as at the last call, and more; at least two of them not failed.
            pending: (d,) points.
        """
        while min(self._due.values()) <= len(outcomes):
            name = min(self._due, key=lambda model: self._due[model])
            data = self._data(outcomes[: self._due[name]])
            if name in data:
                getattr(self, name).fit(*data[name], FIT_STEPS)
            self._due[name] = max(self._due[name] + 1, int(self._due[name] * REFIT_GROWTH))
        data = self._data(outcomes)
        self.failures = "success" in data
        for name, (x, y) in data.items():
            getattr(self, name).condition(x, y)
        if pending:
            self._believe(data, np.array(pending))

    def _data(self, outcomes: Sequence[Outcome]) -> dict[str, tuple[Array, Array]]:
        """Inputs and targets of each model; without failures there is none of success."""
        done = [o for o in outcomes if not o.failed]
        data: dict[str, tuple[Array, Array]] = {}
        if len(done) < 2:
            return data
        if len(done) < len(outcomes):
            recent = outcomes[-MAX_ROWS:]
            signs = np.array([-2.0 if o.failed else 0.0 for o in recent])
            data["success"] = self._space.features(np.array([o.point for o in recent])), signs
        done = _informative(done)
        points = np.array([o.point for o in done])
        scores = np.array([o.score for o in done])
        costs = np.array([o.log_cost for o in done])
        self.scale = ScoreScale(scores)
        self._cost_mean, self._cost_sd = float(costs.mean()), float(costs.std()) or 1.0
        finished = np.array([float(o.finished) for o in done])
        x, y = self._inputs_of(points, finished), self.scale.forward(scores)
        curve_points, curve_scores = self._curve_rows(done)
        if len(curve_points):
            x = np.concatenate([x, self._inputs_of(curve_points, np.zeros(len(curve_points)))])
            y = np.concatenate([y, self.scale.forward(curve_scores)])
        data["score"] = x, y
        data["cost"] = self._space.features(points), (costs - self._cost_mean) / self._cost_sd
        return data

    def _inputs_of(self, points: Array, finished: Array | None = None) -> Array:
        features = self._space.features(points)
        if self._time is None:
            return features
        flag = np.ones(len(points)) if finished is None else finished
        return np.concatenate([features, flag[:, None]], axis=1)

    def _curve_rows(self, done: Sequence[Outcome]) -> tuple[Array, Array]:
        """One point of the curve of each of the newest trials: (k, d) points and (k,) scores."""
        points, scores = [], []
        if self._time is not None and self._space.time is not None:
            parameter = self._space.parameters[self._space.time]
            for outcome in [o for o in done if o.curve][-MAX_CURVE_ROWS:]:
                middle = outcome.curve[(len(outcome.curve) - 1) // 2]
                point = outcome.point.copy()
                point[self._time] = parameter.to_unit(middle.time)
                points.append(point)
                scores.append(middle.score)
        return np.array(points), np.array(scores)

    def _believe(self, data: Mapping[str, tuple[Array, Array]], pending: Array) -> None:
        """Add pending points with their expected results ("kriging believer")."""
        inputs = {"score": self._inputs_of(pending), "cost": self._space.features(pending)}
        for name, new in inputs.items():
            model: GaussianProcess = getattr(self, name)
            x, y = data[name]
            model.condition(np.concatenate([x, new]), np.append(y, model.mean(new)))

    def predict_score(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (n,) of the standardised score of finished trials."""
        return self.score.predict(self._inputs_of(points))

    def predict_mean(self, points: Array) -> Array:
        """The mean (n,) of `predict_score` alone, for less."""
        return self.score.mean(self._inputs_of(points))

    def predict_cost(self, points: Array) -> Array:
        """Expected log cost (n,)."""
        return self._cost_mean + self._cost_sd * self.cost.mean(self._space.features(points))

    def predict_success(self, points: Array) -> Array:
        """Probability (n,) that a trial gives a score."""
        if not self.failures:
            return np.ones(len(points))
        mean = self.success.mean(self._space.features(points))
        return np.asarray(np.clip(1.0 + mean / 2.0, 0.0, 1.0))


class ScoreScale:
    """Standardised scores, the part below the lower quartile on a logarithmic scale.

    What a bad setting scores says little about good ones; left as it is, one disaster would flatten
    all differences that matter. The map is increasing and smooth, and has an inverse.
    """

    def __init__(self, scores: Array) -> None:
        """Choose the scale from (n,) finite scores, n at least 1."""
        low, middle, high = np.quantile(scores, [0.25, 0.5, 0.9])
        self._unit = max(high - low, 2.0 * (middle - low)) or float(np.ptp(scores)) or 1.0
        self._low = low
        bent = self._bend(scores)
        self._mean, self._sd = float(bent.mean()), float(bent.std()) or 1.0

    def _bend(self, scores: Array) -> Array:
        relative = scores / self._unit - self._low / self._unit
        bent = np.where(relative < 0, -np.log1p(np.maximum(-relative, 0.0)), relative)
        return np.asarray(bent, np.float64)

    def forward(self, scores: Array) -> Array:
        """Scores (n,) -> standardised."""
        return np.asarray((self._bend(scores) - self._mean) / self._sd)

    def inverse(self, standard: Array) -> Array:
        """Standardised -> scores (n,)."""
        bent = standard * self._sd + self._mean
        relative = np.where(bent < 0, -np.expm1(np.maximum(-bent, 0.0)), bent)
        return np.asarray(self._low + self._unit * relative)

    def slope(self, standard: Array) -> Array:
        """Derivative (n,) of `inverse`."""
        bent = standard * self._sd + self._mean
        return np.asarray(self._unit * self._sd * np.exp(np.maximum(-bent, 0.0)))


def _informative(done: Sequence[Outcome]) -> list[Outcome]:
    """At most MAX_ROWS - MAX_CURVE_ROWS results: the newest, the best, an even choice of others."""
    room = MAX_ROWS - MAX_CURVE_ROWS
    if len(done) <= room:
        return list(done)
    third = room // 3
    kept = set(range(len(done) - third, len(done)))
    best = sorted(range(len(done)), key=lambda i: -done[i].score)
    kept.update([i for i in best if i not in kept][:third])
    rest = [i for i in range(len(done)) if i not in kept]
    kept.update(rest[j * len(rest) // third] for j in range(third))
    return [done[i] for i in sorted(kept)]
