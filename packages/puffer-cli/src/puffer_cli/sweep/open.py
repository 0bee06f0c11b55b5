"""Sweeps on disk: `sweeps/<env>/<id>/study.sqlite`, and the tuner that belongs to a study."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path

from puffer_cli.sweep.settings import Sweep, SweepConfig
from puffer_core.errors import APIUsageError
from puffer_protein.errors import SweepError
from puffer_protein.space import Constraint, Space
from puffer_protein.study import Study
from puffer_protein.tuner import Tuner

FOLDER = Path("sweeps")
FILE = "study.sqlite"
LATEST = "latest"
METHODS = {  # where each lives; Optuna is an extra
    "protein": ("puffer_protein.protein", "Protein"),
    "random": ("puffer_protein.random_search", "Random"),
    "pareto_genetic": ("puffer_protein.pareto_genetic", "ParetoGenetic"),
    "optuna": ("puffer_protein.optuna_sampler", "OptunaSampler"),
}


def create_study(sweep: Sweep) -> Study:
    """A new study in a folder of its own; its name, the sweep id, sorts by time (UTC)."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S-%f")
    settings = sweep.settings
    return Study.create(
        FOLDER / sweep.env / stamp / FILE,
        sweep.space,
        env=sweep.env,
        goal=settings.goal,
        metric=settings.metric,
        seed=settings.seed,
        default=sweep.default(),
        sweep=settings.model_dump(),
        base=sweep.base,
    )


def find_study(which: str, env: str | None = None) -> Study:
    """The study that a person means.

    Args:
        which: "latest", an environment (its latest), the folder of a sweep, or its study file.
        env: of "latest".

    Raises:
        APIUsageError: there is none.
    """
    path = Path(which)
    name = env if which == LATEST else which.removeprefix("puffer_")
    if path.is_dir():
        path = path / FILE
    elif not path.is_file():
        found = sorted((FOLDER / str(name)).glob(f"*/{FILE}"))
        if not found:
            raise APIUsageError(
                f"there is no sweep {which!r}: expected latest, an environment with a folder in "
                f"{FOLDER}/, the folder of a sweep or its {FILE}."
            )
        path = found[-1]
    try:
        return Study(path)
    except SweepError as error:
        raise APIUsageError(str(error)) from error


def make_tuner(study: Study, constraint: Constraint | None = None) -> Tuner:
    """The tuner of a study, without results yet.

    Args:
        study: open.
        constraint: what suggestions must satisfy, beside the space.
    """
    settings = SweepConfig(**study.settings["sweep"])
    module, name = METHODS[settings.method]
    method: type[Tuner] = getattr(import_module(module), name)
    constraints = [constraint] if constraint else []
    return method(
        Space.from_config(study.settings["space"], (), constraints),
        seed=settings.seed,
        goal=settings.goal,
        default=study.settings["default"],
        max_trial_cost=settings.max_trial_cost or math.inf,
        max_cost=settings.max_cost or math.inf,
        max_runs=settings.max_runs,
    )
