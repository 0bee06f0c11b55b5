"""One trial, in a process of its own: `python -m puffer_cli.sweep.trial STUDY ID ATTEMPT [DEVICE]`.

It tells its result to the study itself, so that nothing is lost if the driver is gone by then.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from puffer_cli.dashboard import Dashboard
from puffer_cli.sweep.settings import SweepConfig, trial_config
from puffer_cli.train import Stopped, train
from puffer_protein.early_stop import EarlyStop
from puffer_protein.study import Study, Trial

Points = Sequence[tuple[float, float, float]]
REFRESH_SECONDS = 10.0  # between looks at the results of other trials


class Enough(Exception):  # noqa: N818 - it is no error
    """The trial ends early: it reached its cost limit, or it is hopeless."""


class Curve:
    """The learning curve of a trial.

    Attributes:
        points: (agent steps, metric, seconds) of each epoch in which episodes ended.
    """

    def __init__(self, settings: SweepConfig) -> None:
        self._settings = settings
        self.points: list[tuple[float, float, float]] = []

    def score(self, end: int | None = None) -> float:
        """The score of the first `end` points (None: of all): a mean over window or area."""
        points = np.array(self.points[:end])
        share = 1.0 if self._settings.measure == "area" else self._settings.window
        return float(points[points[:, 0] >= points[-1, 0] * (1.0 - share), 1].mean())

    def thinned(self) -> Points:
        """At most `sweep.downsample` points, evenly spread, the last one among them."""
        count = len(self.points)
        kept = min(self._settings.downsample, count)
        ends = sorted({round((i + 1) * count / kept) for i in range(kept)}) if kept else []
        return [(self.points[e - 1][0], self.score(e), self.points[e - 1][2]) for e in ends]


class TrialPage(Dashboard):
    """Follows a training run, and ends it where the sweep says so."""

    def __init__(self, study: Study, trial: Trial, settings: SweepConfig, planned: int) -> None:
        super().__init__(Console(file=io.StringIO()), f"trial {trial.id}")
        self.curve = Curve(settings)
        self.reported: set[str] = set()
        self.seconds = 0.0
        self._study, self._trial, self._settings, self._planned = study, trial, settings, planned
        self._rule: EarlyStop | None = None
        self._looked = 0.0

    def update(self, logs: Mapping[str, Any]) -> None:
        """Note the metric; raise Enough where the trial should end."""
        s = self._settings
        self.seconds = float(logs["uptime"])
        found = {k.removeprefix("environment/") for k in logs if k.startswith("environment/")}
        self.reported |= found
        if s.metric in found:
            metric = float(logs[f"environment/{s.metric}"])
            self.curve.points.append((float(logs["agent_steps"]), metric, self.seconds))
        if s.max_trial_cost and self.seconds >= s.max_trial_cost:
            raise Enough(f"reached sweep.max_trial_cost = {s.max_trial_cost} seconds")
        if s.early_stop and self.curve.points and self._trial.kind != "repeated":
            if self._rule is None or time.monotonic() - self._looked > REFRESH_SECONDS:
                sign = 1.0 if s.goal == "maximize" else -1.0
                self._rule = EarlyStop(self._study.trials(), sign)
                self._looked = time.monotonic()
            share = min(1.0, logs["agent_steps"] / self._planned)
            if self._rule.hopeless(share, self.curve.score(), self.seconds):
                raise Enough("even a good rest of the run would leave it below the front")


def run_trial(study: Study, trial: Trial, device: str | None = None) -> None:
    """Train and tell the study what came of it.

    Raises:
        Stopped: the driver asked the trial to end; it is to be run again.
    """
    settings = SweepConfig(**study.settings["sweep"])
    base = {**study.settings["base"], "train.seed": trial.seed % 2**31}
    if device is not None:
        base["train.device"] = device
    if settings.measure != "evaluation":
        base["eval.episodes"] = 0
    begin = time.monotonic()
    page: TrialPage | None = None
    error, document = None, None
    state = "done"
    try:
        config = trial_config(study.settings["env"], base, trial.values)
        config.run_dir = str(study.path.parent)
        page = TrialPage(study, trial, settings, config.train.total_timesteps)
        document = train(config, page)
    except Enough as enough:
        state, error = "stopped", str(enough)
    except Stopped:
        raise
    except Exception as failure:  # whatever it is, the sweep goes on and learns from it
        diverged = type(failure).__name__ == "DivergedError"
        state = "diverged" if diverged else "failed"
        error = f"{type(failure).__name__}: {failure}"
        print(error, file=sys.stderr)
    cost = page.seconds if page and page.seconds else time.monotonic() - begin
    curve = page.curve.thinned() if page else ()
    score = None
    if document is not None and settings.measure == "evaluation":
        score = document["stats"].get(settings.metric)
    elif page and page.curve.points:
        score = page.curve.score()
    if score is None and state in ("done", "stopped"):
        known = ", ".join(sorted(page.reported - {"n"})) if page else ""
        state = "failed"
        error = f"no episode reported sweep.metric = {settings.metric!r}; reported: {known or '-'}"
    folder = None if document is None else document["run"]
    study.tell(trial.id, state, score, cost, curve, error, folder)


def main(arguments: Sequence[str]) -> int:
    """Run one trial; the driver starts this."""
    path, number, attempt, *device = arguments
    study = Study(path)
    if not study.claim(int(number), int(attempt)):
        return 0  # it was lost in the meantime and given to another process
    trial = study.trial(int(number))
    try:
        run_trial(study, trial, *device)
    except (Stopped, KeyboardInterrupt):
        study.preempt(trial.id)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
