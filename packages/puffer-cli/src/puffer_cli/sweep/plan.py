"""Plans of sweeps: the whole search written down, with the most that one trial may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from puffer_cli import plans
from puffer_cli.config import Config
from puffer_cli.evaluate import SEED_DISTANCE
from puffer_cli.layers import COMMAND_LINE
from puffer_cli.run import versions
from puffer_cli.sweep.settings import Sweep, SweepConfig, read_sweep, trial_config
from puffer_core.errors import APIUsageError
from puffer_protein.space import Values

MAX_TRIALS = 100_000


def sweep_plan(env: str, values: Mapping[str, Any], file: str | None, seconds: int) -> plans.Plan:
    """The plan of `puffer sweep` with the same arguments.

    Raises:
        APIUsageError: as `read_sweep`, or sizes that do not fit.
    """
    sweep = read_sweep(env, values, file, COMMAND_LINE)
    seed = sweep.settings.seed
    return plans.Plan(
        format=plans.FORMAT,
        command="sweep",
        env=sweep.env,
        config=plans.settings_of(sweep.config),
        sweep=sweep.settings.model_dump(),
        space=sweep.space.as_config(),
        training_seed=seed,
        evaluation_seed=seed + SEED_DISTANCE,
        limits=needed(sweep, seconds),
        versions=versions(),
    )


def sweep_of(plan: plans.Plan, config: Config) -> Sweep:
    """The sweep that a plan describes; no configuration file is read.

    Args:
        plan: of a sweep.
        config: the plan's.

    Raises:
        APIUsageError: a setting or parameter that is none, or is missing.
    """
    given, tables = plan.sweep or {}, plan.space or {}
    missing = SweepConfig.model_fields.keys() - given.keys()
    if missing:
        raise APIUsageError(
            "\n".join(
                f"sweep: {key} is missing; a plan holds every one." for key in sorted(missing)
            )
        )
    try:
        settings = SweepConfig.model_validate(given, strict=True)
    except ValidationError as error:
        lines = [f"sweep.{d['loc'][0]}: {d['msg']}, got {d['input']!r}." for d in error.errors()]
        raise APIUsageError("\n".join(lines)) from error
    trials = settings.max_runs + settings.repeat_best * settings.repeat_seeds
    if trials > MAX_TRIALS:
        raise APIUsageError(
            f"sweep.max_runs: a plan has at most {MAX_TRIALS:,} trials, got {trials:,}."
        )
    return Sweep(config, settings, tables, plan.config)


def needed(sweep: Sweep, seconds: int) -> plans.Limits:
    """What the largest trial uses: every size at its upper end."""
    largest = {
        name: parameter.choices[-1] if parameter.choices else parameter.native(1.0)
        for name, parameter in sweep.space.parameters.items()
        if name.startswith(("env.", "vec.")) or name in ("train.horizon", "train.total_timesteps")
    }
    config = trial_config(sweep.env, {**sweep.base, "train.minibatch_size": 0}, largest)
    limits = plans.limits_of(config, seconds)
    processes = sweep.settings.workers * (1 + limits.workers)  # each trial is a process
    return limits.model_copy(update={"workers": processes})


def allowed(sweep: Sweep, limits: plans.Limits) -> Callable[[Values], bool]:
    """Whether a trial may be started: one that can run, within the plan's limits."""

    def check(values: Values) -> bool:
        if not sweep.possible(values):
            return False
        found = plans.limits_of(trial_config(sweep.env, sweep.base, values), limits.seconds)
        return found.steps <= limits.steps and found.agents <= limits.agents

    return check
