"""[sweep] and [sweep.*.*]: how to search, and what.

The search space is made of tables, in any layer of the configuration:

    [sweep.train.learning_rate]
    distribution = log_normal
    min = 1e-4
    max = 1e-1

Reward terms and other arguments of an environment are parameters like any other: [sweep.env.NAME].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from puffer_cli.config import Config, load_config
from puffer_cli.environments import CONFIG, find
from puffer_cli.layers import Layer, read_ini
from puffer_cli.nearest import did_you_mean
from puffer_cli.old_keys import objection, translate
from puffer_cli.vectorize import plan_vec
from puffer_core.errors import APIUsageError
from puffer_cuda.config import Count, NonNegative, Section, Share, Whole
from puffer_cuda.plan import plan
from puffer_protein.errors import SweepError
from puffer_protein.space import Space, Values

SPACE_FILE = CONFIG / "sweep.ini"
PREFIX = "sweep."
TIME = "train.total_timesteps"
SHORTEST, LONGEST = 1 / 16, 2.0  # of the environment's own total_timesteps


class SweepConfig(Section):
    """[sweep]: how to search."""

    method: Literal["protein", "random", "pareto_genetic", "optuna"] = Field(
        "protein", description="protein, or a rival: random, pareto_genetic, optuna (TPE)"
    )
    metric: str = Field("score", description="what the environment reports and is optimised")
    goal: Literal["maximize", "minimize"] = Field("maximize", description="maximize or minimize")
    measure: Literal["window", "area", "evaluation"] = Field(
        "window",
        description="mean over the end of the curve, over all of it, or of the final evaluation",
    )
    window: Annotated[Share, Field(gt=0)] = Field(0.1, description="share of steps of the window")
    downsample: Count = Field(10, description="points of a learning curve that are kept")
    max_runs: Count = Field(100, description="trials, without repeats")
    max_cost: NonNegative = Field(0.0, description="seconds of all trials together; 0: no limit")
    max_trial_cost: NonNegative = Field(0.0, description="seconds of one trial; 0: no limit")
    workers: Count = Field(1, description="trials at a time, one process each")
    devices: str = Field("", description="train.device of each worker in turn: cuda:0,cuda:1")
    seed: Annotated[Whole, Field(ge=0)] = Field(0, description="of suggestions and trials")
    early_stop: bool = Field(False, description="end trials that will not reach the front")
    repeat_best: Annotated[Whole, Field(ge=0)] = Field(
        0, description="settings of the front to run again with new seeds at the end"
    )
    repeat_seeds: Count = Field(3, description="new seeds of each")
    max_failures: Count = Field(5, description="stop after so many failures in a row")
    only: str = Field("", description="search these keys alone: train.gamma,train.ent_coef")


class Sweep:
    """What a sweep searches and how, checked.

    Attributes:
        env: name of the environment.
        config: of the first trial, without sweep settings.
        settings: [sweep].
        space: of the search.
        base: what trials change of the environment's own configuration, beside their values.
    """

    def __init__(
        self,
        config: Config,
        settings: SweepConfig,
        tables: Mapping[str, Mapping[str, Any]],
        base: Mapping[str, Any],
    ) -> None:
        """Check the space.

        Args:
            config: of the first trial.
            settings: [sweep].
            tables: of the parameters, by dotted key.
            base: dotted key -> value.

        Raises:
            APIUsageError: a parameter that is no key, or a range that cannot be searched.
        """
        self.env, self.config, self.settings = config.train.env, config, settings
        self.base = dict(base)
        flat = config.flat()
        known = [key for key in flat if key not in ("train.env", "train.seed", "run_dir")]
        for key, table in tables.items():
            if key not in known:
                raise APIUsageError(f"sweep.{key}: {did_you_mean(key, known)}")
            if "distribution" not in table:
                raise APIUsageError(f"sweep.{key}: distribution is missing, got {dict(table)}.")
        whole = [key for key, entry in flat.items() if type(entry["value"]) is int]
        try:
            self.space = Space.from_config(tables, whole, [self.possible])
        except SweepError as error:
            raise APIUsageError(f"sweep.{error}") from error

    def default(self) -> Values:
        """The environment's own settings, moved into the bounds of the space."""
        flat = {key: entry["value"] for key, entry in self.config.flat().items()}
        if not flat["train.minibatch_size"]:  # automatic: what that comes to
            agents = plan_vec(self.config).num_agents
            flat["train.minibatch_size"] = plan(self.config.train, agents).minibatch_size
        values = {name: flat[name] for name in self.space.names if name in flat}
        try:
            return self.space.decode(self.space.encode(values))
        except SweepError as error:
            raise APIUsageError(f"the default of sweep.{error}") from error

    def possible(self, values: Mapping[str, Any]) -> bool:
        """Whether a run with these values can be planned."""
        try:
            config = trial_config(self.env, self.base, values)
            plan(config.train, plan_vec(config).num_agents)
        except APIUsageError:
            return False
        return True


def read_sweep(
    env_name: str, values: Mapping[str, Any], file: Path | str | None, origin: str
) -> Sweep:
    """A sweep from all layers.

    Args:
        env_name: an environment.
        values: dotted key -> value of the last layer, `sweep.*` among them.
        file: an ini file below it.
        origin: of the values, for messages.

    Raises:
        APIUsageError: an unknown key, a wrong value or range.
    """
    environment = find(env_name)
    own = Layer(origin, {k: v for k, v in values.items() if k.startswith(PREFIX)})
    rest = {k: v for k, v in values.items() if not k.startswith(PREFIX)}
    user = [translate(read_ini(Path(file)), environment)] if file is not None else []
    layers = [read_ini(path) for path in [SPACE_FILE, *environment.ini_files]]
    config = load_config(env_name, rest, file, origin)
    base = {
        key: value
        for layer in user
        for key, value in layer.values.items()
        if not key.startswith(PREFIX)
    } | rest
    settings, tables = _split([*layers, *user, own])
    steps = config.train.total_timesteps
    tables[TIME] = {
        "distribution": "log_normal",
        "min": max(1, round(steps * SHORTEST)),
        "max": round(steps * LONGEST),
        "scale": "time",
        **tables.get(TIME, {}),
    }
    if settings.only:
        wanted = [key.strip().replace("-", "_") for key in settings.only.split(",")]
        for key in wanted:
            if key not in tables:
                raise APIUsageError(f"sweep.only: {did_you_mean(key, list(tables))}")
        tables = {key: tables[key] for key in wanted}
    return Sweep(config, settings, tables, base)


def trial_config(env_name: str, base: Mapping[str, Any], values: Mapping[str, Any]) -> Config:
    """The configuration of a trial: the environment's own, what the user changed, its values."""
    return load_config(env_name, {**base, **values}, origin="sweep")


def _split(layers: Sequence[Layer]) -> tuple[SweepConfig, dict[str, dict[str, Any]]]:
    """[sweep] itself, and the tables of parameters by dotted name."""
    raw: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for key, value in layer.values.items():
            if not key.startswith(PREFIX):
                continue
            path = key.removeprefix(PREFIX).split(".")
            if len(path) >= 3:
                tables.setdefault(".".join(path[:-1]), {})[path[-1]] = value
            elif objection(key):
                raise APIUsageError(f"{key} ({layer.origin}) {objection(key)}")
            elif len(path) == 1 and path[0] in SweepConfig.model_fields:
                raw[path[0]] = value
            else:
                hint = did_you_mean(path[-1], list(SweepConfig.model_fields))
                raise APIUsageError(
                    f"unknown key {key} ({layer.origin}); {hint} A parameter to search is a "
                    "section such as [sweep.train.gamma] with distribution, min and max."
                )
    try:
        return SweepConfig(**raw), tables
    except ValidationError as error:
        lines = [f"sweep.{d['loc'][0]}: {d['msg']}, got {d['input']!r}." for d in error.errors()]
        raise APIUsageError("\n".join(lines)) from error
