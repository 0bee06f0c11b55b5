"""The configuration of a run: one typed model; every value knows where it came from.

Later layers win: defaults (in the models), the environment's ini files, a file of the user's, the
command line. An unknown key in any of them is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from puffer_cli.environments import Environment, find
from puffer_cli.layers import COMMAND_LINE, Layer, read_ini
from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError
from puffer_cuda.config import (
    EvalConfig,
    LogConfig,
    PolicyConfig,
    Section,
    SelfplayConfig,
    TrainConfig,
    VecConfig,
)

SECTIONS: dict[str, type[Section]] = {
    "train": TrainConfig,
    "policy": PolicyConfig,
    "vec": VecConfig,
    "eval": EvalConfig,
    "selfplay": SelfplayConfig,
    "log": LogConfig,
}
DEFAULT = "default"
RUN_DIR = "runs"

# What PufferLib calls these keys; its users type them, and no spelling distance finds ours.
RENAMED = {
    "train.adam_beta1": "train.beta1",
    "train.adam_beta2": "train.beta2",
    "train.adam_eps": "train.eps",
    "train.batch_size": "train.horizon (a batch is horizon x agents)",
    "train.bptt_horizon": "train.horizon",
    "train.anneal_ent_coef": "train.anneal_ent",
    "train.data_dir": "run_dir",
    "train.eval_episodes": "eval.episodes",
    "train.min_ent_coef_ratio": "train.min_ent_ratio",
    "train.update_epochs": "train.replay_ratio",
    "train.vtrace_c_clip": "train.c_clip",
    "train.vtrace_rho_clip": "train.rho_clip",
}


class Config(Section):
    """All settings of a run, checked.

    Attributes:
        env: the environment's keyword arguments; its name is `train.env`.
        origins: dotted key -> "default", a file, or "command line"; one entry for every key.
    """

    run_dir: str = Field(default=RUN_DIR, description="folder of run folders")
    train: TrainConfig
    policy: PolicyConfig
    vec: VecConfig
    eval: EvalConfig
    selfplay: SelfplayConfig
    log: LogConfig
    env: dict[str, Any] = Field(default_factory=dict)
    origins: dict[str, str] = Field(default_factory=dict, exclude=True)

    def nested(self) -> dict[str, Any]:
        """The values alone, as mutable dictionaries: section -> key -> value."""
        return self.model_dump()

    def flat(self) -> dict[str, dict[str, Any]]:
        """Dotted key -> {"value", "origin"} of every key; what a run's config.json keeps."""
        return {
            key: {"value": value, "origin": self.origins.get(key, DEFAULT)}
            for key, value in flatten(self.nested()).items()
        }


def load_config(
    env_name: str,
    overrides: Mapping[str, Any] | None = None,
    file: Path | str | None = None,
    origin: str = COMMAND_LINE,
) -> Config:
    """The configuration of an environment; reads nothing of the process, `sys.argv` included.

    Args:
        env_name: an environment, or "default" for the defaults alone.
        overrides: dotted key -> value, text or typed; wins over all files.
        file: an ini file that wins over the environment's own.
        origin: of the overrides.

    Raises:
        APIUsageError: unknown environment or key, or a wrong value; names key and origin.
    """
    last = Layer(origin, overrides or {})
    check_names(last)  # before the environment's library is loaded: a typo fails at once
    environment = None if env_name == DEFAULT else find(env_name)
    inis = [] if environment is None else environment.ini_files
    files = [*inis, *([Path(file)] if file is not None else [])]
    return resolve(environment, [*(read_ini(path) for path in files), last])


def resolve(environment: Environment | None, layers: Iterable[Layer]) -> Config:
    """Merge layers, later ones winning, and check every name and value.

    Raises:
        APIUsageError: as `load_config`.
    """
    raw: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        check_names(layer)
        for key, value in layer.values.items():
            section, dot, name = key.partition(".")
            raw.setdefault(section if dot else "", {})[name if dot else key] = value
            origins[key] = layer.origin
    sections = {name: _section(name, raw.get(name, {}), origins) for name in SECTIONS}
    try:
        config = Config.model_validate({**raw.get("", {}), **sections})
    except ValidationError as error:
        raise _readable(error, "", raw.get("", {}), origins) from error
    if environment is None:
        config.env = dict(raw.get("env", {}))
    else:
        own = {key: origins.get(f"env.{key}", DEFAULT) for key in raw.get("env", {})}
        config.env = environment.arguments(raw.get("env", {}), own)
        config.train.env = environment.reference
        origins["train.env"] = COMMAND_LINE
    config.origins = {key: origins.get(key, DEFAULT) for key in flatten(config.nested())}
    return config


def check_names(layer: Layer) -> None:
    """Refuse keys that no section has; those of `env` are the environment's to judge.

    Raises:
        APIUsageError: an unknown section or key; names the nearest, and the origin.
    """
    tops = [name for name, field in Config.model_fields.items() if field.annotation is str]
    for key in layer.values:
        section, dot, name = key.partition(".")
        if not dot and section not in tops:
            raise APIUsageError(f"unknown key {key} ({layer.origin}); {nearest_key(key)}")
        if not dot or section == "env":
            continue
        if key in RENAMED:
            raise APIUsageError(f"{key} ({layer.origin}) is called {RENAMED[key]} here.")
        if section == "sweep":
            if layer.origin == COMMAND_LINE:
                raise APIUsageError(f"{key} ({layer.origin}) is a setting of `puffer sweep`.")
            continue  # of an ini file: for `puffer sweep` to judge
        if section not in SECTIONS:
            raise APIUsageError(
                f"unknown section {section!r} of {key} ({layer.origin}); "
                + did_you_mean(section, [*SECTIONS, "env"])
            )
        if key == "train.env":
            raise APIUsageError(
                f"train.env ({layer.origin}) is set by the name of the environment: "
                "`puffer train ENV`."
            )
        if name not in SECTIONS[section].model_fields:
            raise APIUsageError(f"unknown key {key} ({layer.origin}); {nearest_key(key)}")


def all_keys() -> list[str]:
    """Every dotted key but those of environments."""
    keys = [f"{name}.{key}" for name, model in SECTIONS.items() for key in model.model_fields]
    return ["run_dir", *(key for key in keys if key != "train.env")]


def nearest_key(key: str) -> str:
    """The end of a message about an unknown key, in whichever section its name is most like."""
    names = {known.rpartition(".")[2]: known for known in all_keys()}
    return did_you_mean(key.rpartition(".")[2], names)


def flatten(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Section -> key -> value as dotted key -> value; one level, so values may be mappings."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = value
    return flat


def _section(name: str, raw: dict[str, Any], origins: Mapping[str, str]) -> Section:
    model = SECTIONS[name]
    for key, value in raw.items():
        # A bare `--train.seed` arrives as True, which pydantic would take for the integer 1.
        if isinstance(value, bool) and model.model_fields[key].annotation is not bool:
            raise APIUsageError(
                f"{name}.{key}: needs a value, got {value} ({origins[f'{name}.{key}']})."
            )
    try:
        return model(**raw)
    except ValidationError as error:
        raise _readable(error, name, raw, origins) from error


def _readable(
    error: ValidationError, section: str, raw: Mapping[str, Any], origins: Mapping[str, str]
) -> APIUsageError:
    lines = []
    for detail in error.errors():
        name = str(detail["loc"][0])
        key = f"{section}.{name}" if section else name
        expected = detail["msg"].removeprefix("Input should be ").split(", unable")[0]
        lines.append(f"{key}: expected {expected}, got {raw.get(name)!r} ({origins.get(key)}).")
    return APIUsageError("\n".join(lines))
