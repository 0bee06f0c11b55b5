"""Samplers of Optuna behind the interface of `Tuner`; needs `puffer-protein[optuna]`.

Score and log cost are two objectives. A failed trial is told as the worst score so far at the
highest cost so far: Optuna's samplers learn nothing from trials without a result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from puffer_protein.parameters import Array
from puffer_protein.space import Space
from puffer_protein.tuner import Outcome, Tuner


class OptunaSampler(Tuner):
    """Any Optuna sampler that takes two objectives.

    Constraints are met by asking again; `when` is not known to the sampler, which sees all
    parameters of the unit cube.
    """

    def __init__(self, space: Space, *, sampler: Any = None, **keywords: Any) -> None:
        """Start a study in memory.

        Args:
            space: what to search.
            sampler: an Optuna sampler; None: TPE with the seed of `keywords`.
            keywords: as for `Tuner`.
        """
        super().__init__(space, **keywords)
        import optuna

        self._optuna = optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(
            directions=["maximize", "minimize"],
            sampler=sampler or optuna.samplers.TPESampler(seed=self._seed),
        )
        self._axes: dict[str, Any] = {
            name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in space.names
        }
        self._open: list[tuple[Array, Any]] = []
        self._told = 0

    def _choose(self, rng: np.random.Generator) -> Array:
        for outcome in self.outcomes[self._told :]:
            self._tell(outcome)
        self._told = len(self.outcomes)
        for _ in range(100):
            trial = self._study.ask(self._axes)
            unit = np.array([trial.params[name] for name in self.space.names])
            point = self.space.snap(unit[None])[0]
            if self.space.allows(point) and not self.is_pending(point):
                self._open.append((point, trial))
                return np.asarray(point)
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return self._fresh(rng)

    def _tell(self, outcome: Outcome) -> None:
        values = [outcome.score, outcome.log_cost]
        if outcome.failed:
            scores = [o.score for o in self.outcomes if not o.failed]
            values = [min(scores, default=0.0), max(o.log_cost for o in self.outcomes)]
        for index, (point, trial) in enumerate(self._open):
            if np.array_equal(point, outcome.point):
                self._study.tell(trial, values)
                del self._open[index]
                return
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=dict(zip(self.space.names, map(float, outcome.point), strict=True)),
                distributions=self._axes,
                values=[value if math.isfinite(value) else 0.0 for value in values],
            )
        )
