"""Plans: a run written down before it starts, strict enough that it can be reviewed and repeated.

A plan is one JSON document. It names an environment, never code; holds every setting and not only
those that were typed; bounds steps, agents, processes and time; and keeps the seeds of training
and of evaluation apart. `puffer plan` writes and validates plans, `puffer run` executes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from puffer_cli.config import Config, load_config, resolve
from puffer_cli.environments import find
from puffer_cli.evaluate import CHANGEABLE, SEED_DISTANCE
from puffer_cli.layers import Layer
from puffer_cli.run import versions
from puffer_cli.vectorize import plan_vec
from puffer_core.errors import APIUsageError
from puffer_cuda.config import Count, Section
from puffer_cuda.plan import plan as plan_sizes

FORMAT: Literal[1] = 1
MAX_BYTES = 1_000_000  # of a plan file
DAY = 86_400
ENV_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_/-]+)?|pettingzoo/[a-z0-9_]+\.[a-z0-9_]+")
SECRET = re.compile(r"token|secret|passw|credential|api_?key|private_?key|authorization", re.I)
Seed = Annotated[int, Field(ge=0, lt=2**63)]
# Fields that plans of one command have.
OWN = {
    "eval": ("policy", "episodes", "max_steps"),
    "sweep": ("sweep", "space"),
    "bench": ("repetition_seconds",),
}
BENCH_DISTANCE = 2**30  # from the seed of the training to that of its benchmark


class Limits(Section):
    """Bounds of what a plan may use; `puffer run` stops at the seconds."""

    steps: Annotated[int, Field(ge=1, le=10**12)] = Field(
        description="agent steps of training; of a sweep: of each trial"
    )
    agents: Annotated[int, Field(ge=1, le=2**24)] = Field(description="agents of all environments")
    workers: Annotated[int, Field(ge=0, le=1024)] = Field(description="processes beside the main")
    threads: Annotated[int, Field(ge=0, le=1024)] = Field(
        description="threads; 0: the CPUs' number"
    )
    seconds: Annotated[int, Field(ge=1, le=30 * DAY)] = Field(description="wall-clock time")


class Policy(Section):
    """The exact policy of an evaluation."""

    path: str = Field(description="folder of one checkpoint; never latest")
    manifest_sha256: str = Field(
        pattern="^[0-9a-f]{64}$", description="of its manifest.json, which holds the files' hashes"
    )


class Plan(Section):
    """One run."""

    format: Literal[1] = Field(description="of plans")
    command: Literal["train", "eval", "sweep", "bench"] = Field(
        description="what `puffer run` does"
    )
    env: str = Field(description="an environment's name; no module path")
    config: dict[str, Any] = Field(description="every setting, by dotted key")
    policy: Policy | None = Field(default=None, description="of an evaluation")
    episodes: Count | None = Field(default=None, description="of an evaluation")
    max_steps: Count | None = Field(
        default=None, description="of an evaluation: the longest episode"
    )
    sweep: dict[str, Any] | None = Field(
        default=None, description="of a sweep: every key of [sweep]"
    )
    space: dict[str, dict[str, Any]] | None = Field(
        default=None, description="of a sweep: the parameters that it searches, by dotted key"
    )
    repetition_seconds: Annotated[float, Field(gt=0, le=60)] | None = Field(
        default=None, description="of a benchmark: of each repetition"
    )
    training_seed: Seed = Field(
        description="environment i of the training has this seed + i; trials of a sweep draw "
        "theirs from it"
    )
    evaluation_seed: Seed = Field(description="environment i of the evaluation has this seed + i")
    limits: Limits
    external_logging: Literal["none"] = Field(
        default="none", description="nothing leaves this machine"
    )
    versions: dict[str, str] = Field(description="of the packages that the plan was written with")


def train_plan(env: str, values: Mapping[str, Any], file: str | None, seconds: int) -> Plan:
    """The plan of `puffer train` with the same arguments.

    Raises:
        APIUsageError: as `load_config`, or sizes that do not fit.
    """
    config = load_config(env, values, file)
    seed = config.train.seed
    return Plan(
        format=FORMAT,
        command="train",
        env=config.train.env,
        config=settings_of(config),
        training_seed=seed,
        evaluation_seed=seed + SEED_DISTANCE,
        limits=limits_of(config, seconds),
        versions=versions(),
    )


def bench_plan(config: Config, repetition_seconds: float, seconds: int) -> Plan:
    """The plan of a benchmark of a run's settings; its seed is none of the run's.

    Args:
        config: of the run.
        repetition_seconds: of each repetition.
        seconds: at most.
    """
    config = config.model_copy(deep=True)
    config.train.seed += BENCH_DISTANCE
    return Plan(
        format=FORMAT,
        command="bench",
        env=config.train.env,
        config=settings_of(config),
        repetition_seconds=repetition_seconds,
        training_seed=config.train.seed,
        evaluation_seed=config.train.seed + SEED_DISTANCE,
        limits=limits_of(config, seconds),
        versions=versions(),
    )


def eval_plan(checkpoint: Path, config: Config, episodes: int, seed: int, seconds: int) -> Plan:
    """The plan of an evaluation of one checkpoint.

    Args:
        checkpoint: its folder.
        config: of its run.
        episodes: how many.
        seed: of environments and actions.
        seconds: at most.
    """
    from puffer_cli.inspection import inspect_file

    manifest = inspect_file(checkpoint / "manifest.json")
    return Plan(
        format=FORMAT,
        command="eval",
        env=config.train.env,
        config=settings_of(config),
        policy=Policy(path=str(checkpoint), manifest_sha256=manifest["sha256"]),
        episodes=episodes,
        max_steps=config.eval.max_steps,
        training_seed=config.train.seed,
        evaluation_seed=seed,
        limits=limits_of(config, seconds),
        versions=versions(),
    )


def read_plan(path: Path) -> Plan:
    """Read and validate a plan file.

    Raises:
        APIUsageError: every reason why it is none, or must not be run; one a line.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is no file")
        if path.stat().st_size > MAX_BYTES:
            raise APIUsageError(f"{path} is larger than {MAX_BYTES:,} bytes; that is no plan.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise APIUsageError(f"cannot read the plan {path}: {reason}.") from error
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise APIUsageError(f"{path} is not strict JSON: {error}") from error
    reasons = [f"{where}: looks like a secret; plans hold none." for where in _secrets(document)]
    if reasons:
        raise APIUsageError("\n".join(reasons))
    try:
        plan = Plan.model_validate(document, strict=True)
    except ValidationError as error:
        for detail in error.errors():
            where = ".".join(map(str, detail["loc"])) or "the document"
            reasons.append(f"{where}: {detail['msg']}, got {detail['input']!r:.80}.")
        raise APIUsageError("\n".join(reasons)) from error
    validate(plan)
    return plan


def validate(plan: Plan) -> Config:
    """Check what a schema cannot say, and return the plan's configuration.

    Raises:
        APIUsageError: the reasons, one a line.
    """
    if not ENV_NAME.fullmatch(plan.env):
        raise APIUsageError(
            f"env: {plan.env!r} is no name of an environment; plans name one and import nothing "
            "by a path."
        )
    config = resolve(find(plan.env), [Layer("plan", plan.config)])
    reasons = []
    missing = settings_of(config).keys() - plan.config.keys()
    reasons += [f"config: {key} is missing; a plan holds every setting." for key in sorted(missing)]
    if config.log.external != plan.external_logging:
        reasons.append(f"config: log.external = {config.log.external}, a plan's is none.")
    key, seed = "train.seed", config.train.seed
    if plan.command == "sweep":
        key, seed = "sweep.seed", (plan.sweep or {}).get("seed", seed)
    if plan.training_seed != seed:
        reasons.append(f"training_seed: {plan.training_seed} is not {key} = {seed}.")
    needed = _needed(plan, config)  # also refuses sizes that do not divide
    for name in ("steps", "agents", "workers", "threads"):
        need, limit = getattr(needed, name), getattr(plan.limits, name)
        if need > limit:
            reasons.append(f"limits.{name}: {limit} is below the {need} that the settings need.")
    episodes = plan.episodes or config.eval.episodes
    training = range(plan.training_seed, plan.training_seed + needed.agents)
    evaluation = range(plan.evaluation_seed, plan.evaluation_seed + max(episodes, 1))
    if training.start < evaluation.stop and evaluation.start < training.stop:
        reasons.append(
            f"evaluation_seed: seeds {evaluation.start} to {evaluation.stop - 1} overlap those of "
            f"the training, {training.start} to {training.stop - 1}."
        )
    if plan.command != "eval" and plan.evaluation_seed != plan.training_seed + SEED_DISTANCE:
        reasons.append("evaluation_seed: training is evaluated with training_seed + 2^31.")
    for command, names in OWN.items():
        own = [getattr(plan, name) for name in names]
        if plan.command == command and None in own:
            reasons.append(f"{', '.join(names)}: needed by a plan of {command}.")
        if plan.command != command and own != [None] * len(names):
            reasons.append(f"{', '.join(names)}: only in plans of {command}.")
    if plan.policy is not None and Path(plan.policy.path).name == "latest":
        reasons.append("policy.path: latest is whatever was written last; name the checkpoint.")
    if reasons:
        raise APIUsageError("\n".join(reasons))
    return config


def changes_of(plan: Plan) -> Layer:
    """The settings of an evaluation's plan that `puffer eval` takes as changes."""
    return Layer("plan", {k: v for k, v in plan.config.items() if k.startswith(CHANGEABLE)})


def settings_of(config: Config) -> dict[str, Any]:
    """Every key that a file may set; a plan holds all of them."""
    return {key: e["value"] for key, e in config.flat().items() if key != "train.env"}


def limits_of(config: Config, seconds: int) -> Limits:
    """What a training with this configuration uses."""
    vec = plan_vec(config)
    sizes = plan_sizes(config.train, vec.num_agents)
    return Limits(
        steps=sizes.total_timesteps,
        agents=vec.num_agents,
        workers=vec.num_workers or 0,
        threads=max(config.train.threads, config.vec.num_threads),
        seconds=seconds,
    )


def _needed(plan: Plan, config: Config) -> Limits:
    if plan.command != "sweep" or plan.sweep is None or plan.space is None:
        return limits_of(config, plan.limits.seconds)
    from puffer_cli.sweep.plan import needed, sweep_of

    return needed(sweep_of(plan, config), plan.limits.seconds)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands there twice")
    return found


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _secrets(value: object, where: str = "") -> list[str]:
    """Where keys name secrets; their values are not looked at, and not shown."""
    found = []
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{where}.{key}" if where else str(key)
            found += [path] if SECRET.search(str(key)) else _secrets(inner, path)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found += _secrets(inner, f"{where}.{index}")
    return found
