"""Environments by name.

`breakout` or `puffer_breakout` in C, `gymnasium/ID` from Gymnasium, those of families.py, those
that other packages register in the entry point group `puffer.envs`, and `./folder` of one's own.

Importing this module is cheap; the libraries are loaded when an environment is looked at.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    import gymnasium

    from puffer_core import PufferEnv
    from puffer_ocean.arguments import Argument

CONFIG = Path(__file__).parent / "config"
GYMNASIUM = "gymnasium/"
DEFAULT_COPIES = 1024  # of a C environment: enough rows to keep the policy busy

ALE, MINIGRID, PETTINGZOO = "ale/", "minigrid/", "pettingzoo/"
FAMILIES = (GYMNASIUM, ALE, MINIGRID, PETTINGZOO)

# Packages that register ids with Gymnasium when they are imported: prefix -> import, our extra.
PACKAGES = {
    "ALE/": ("ale_py", "atari"),
    "BabyAI-": ("minigrid", "minigrid"),
    "MiniGrid-": ("minigrid", "minigrid"),
}
# Parts of Gymnasium that have our extra, and settings, by the module of their classes.
PARTS = {"box2d": "box2d", "classic_control": "", "mujoco": "mujoco"}


class Environment(Protocol):
    """What the command knows of an environment before it is created."""

    @property
    def name(self) -> str:
        """The name in run folders and messages."""

    @property
    def reference(self) -> str:
        """What `find` takes to find it again, from any folder."""

    @property
    def ini_files(self) -> list[Path]:
        """Tuned settings, general ones first."""

    @property
    def native(self) -> bool:
        """Whether one instance holds many copies, `num_envs` of them."""

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """All keyword arguments, checked; `origins` names where each of `raw` came from."""

    def meanings(self) -> dict[str, str]:
        """What each argument means, as far as the environment says so."""

    def creator(self) -> Callable[..., PufferEnv]:
        """The creator that `puffer_vector.make` takes."""

    def agents(self, arguments: Mapping[str, Any]) -> int:
        """Agents of one copy of the environment."""


def find(name: str) -> Environment:
    """The environment of that name.

    Raises:
        APIUsageError: there is none (names the nearest), or its package is not installed.
    """
    from puffer_cli.python_environments import PythonEnvironment, is_python

    if name.startswith(GYMNASIUM):
        return GymnasiumEnvironment(name.removeprefix(GYMNASIUM))
    if name.startswith(FAMILIES):
        from puffer_cli import families

        family, _, own = name.partition("/")
        kinds: dict[str, Callable[[str], Environment]] = {
            "ale": families.AleEnvironment,
            "minigrid": families.MinigridEnvironment,
            "pettingzoo": families.PettingZooEnvironment,
        }
        return kinds[family](own)
    return PythonEnvironment(name) if is_python(name) else OceanEnvironment(name)


def label(reference: str) -> str:
    """The `name` of an environment by its `reference`: of a path the last part."""
    return Path(reference).name if Path(reference).is_absolute() else reference


def own_keys(command: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's keys of a command line that takes no others, without `env.`.

    Raises:
        APIUsageError: another key.
    """
    for key in values:
        if not key.startswith("env."):
            raise APIUsageError(f"puffer {command} takes no {key}, only keys of the environment.")
    return {key.removeprefix("env."): value for key, value in values.items()}


class OceanEnvironment:
    """An environment in C: shipped, registered by another package, or in a folder."""

    native = True

    def __init__(self, name: str) -> None:
        from puffer_ocean import names
        from puffer_ocean.folders import folder_of, is_path, registered

        short = name.removeprefix("puffer_")
        known = [*names(), *registered()]
        if not is_path(name) and not {name, short} & {*known}:
            prefix = name[: -len(short)]
            hint = did_you_mean(name, [prefix + each for each in known])
            raise APIUsageError(
                f"unknown environment {name!r}; {hint} (`puffer envs` lists them; "
                f"{GYMNASIUM}ID takes one from Gymnasium, ./FOLDER one of your own)"
            )
        self._folder = folder_of(name)
        self.name = self._folder.name
        self.reference = str(self._folder) if is_path(name) else self.name

    @property
    def ini_files(self) -> list[Path]:
        """The environment's own config.ini, if it has one."""
        own = self._folder / "config.ini"
        return [own] if own.exists() else []

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """Values of `num_envs` and of every argument that the C source declares.

        Raises:
            APIUsageError: unknown name, wrong type, out of range; names the origin.
        """
        declared = self._declared()
        for name in raw:
            if name not in declared:
                raise APIUsageError(
                    f"unknown key env.{name} ({origins[name]}) for {self.name}; "
                    + did_you_mean(name, list(declared))
                )
        values: dict[str, Any] = {}
        for name, argument in declared.items():
            value = typed(raw.get(name, argument.default), argument.type)
            try:
                values[name] = argument.check(value)
            except APIUsageError as error:
                raise APIUsageError(f"env.{error} ({origins[name]})") from error
        return values

    def _declared(self) -> dict[str, Argument]:
        from puffer_ocean import load
        from puffer_ocean.arguments import Argument

        about = "copies that step as one"
        copies = Argument("num_envs", "int", DEFAULT_COPIES, 1, 2**31 - 1, about)
        return {"num_envs": copies, **load(self.reference).arguments}

    def meanings(self) -> dict[str, str]:
        """The help texts that the C source declares."""
        return {name: argument.help for name, argument in self._declared().items()}

    def creator(self) -> Callable[..., PufferEnv]:
        """An `OceanEnv` of `num_envs` copies."""
        from puffer_ocean import env_creator

        return env_creator(self.reference)

    def agents(self, arguments: Mapping[str, Any]) -> int:
        """Agents of one copy, which may depend on the arguments."""
        from puffer_ocean import load

        library = load(self.reference)
        own = {name: value for name, value in arguments.items() if name != "num_envs"}
        return library.describe(library.check_arguments(own)).num_agents


class GymnasiumEnvironment:
    """A Gymnasium environment; its arguments are those of `gymnasium.make`, unchecked here."""

    native = False

    def __init__(self, env_id: str) -> None:
        import gymnasium

        _import_registering(env_id)
        if env_id not in gymnasium.registry:
            hint = did_you_mean(env_id, list(gymnasium.registry))
            raise APIUsageError(f"Gymnasium has no environment {env_id!r}; {hint}")
        self.env_id = env_id
        self.name = self.reference = GYMNASIUM + env_id

    @property
    def ini_files(self) -> list[Path]:
        """Settings for all of Gymnasium, then for the part of it that this is from."""
        part = part_of(self.env_id)
        return [CONFIG / "gymnasium.ini", *([CONFIG / f"{part}.ini"] if part else [])]

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """Values as Python literals, or texts."""
        del origins  # any name may be right; the environment's constructor decides
        return {key: literal(value) for key, value in raw.items()}

    def meanings(self) -> dict[str, str]:
        """None: Gymnasium's constructors do not say."""
        return {}

    def creator(self) -> Callable[..., PufferEnv]:
        """`gymnasium.make` and the emulation around it."""
        return functools.partial(make_gymnasium, self.env_id)

    def agents(self, arguments: Mapping[str, Any]) -> int:
        """Always one."""
        return 1


def make_gymnasium(
    env_id: str, buf: Mapping[str, Any] | None = None, seed: int = 0, **arguments: Any
) -> PufferEnv:
    """Create a Gymnasium environment as a PufferEnv.

    Raises:
        APIUsageError: its package is missing, or it does not take these arguments.
    """
    from puffer_core import GymnasiumPufferEnv

    return GymnasiumPufferEnv(create_gymnasium(env_id, arguments), buf=buf, seed=seed)


def create_gymnasium(env_id: str, arguments: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """`gymnasium.make`, with what is missing in words.

    Raises:
        APIUsageError: its package is missing, or it does not take these arguments.
    """
    import gymnasium

    _import_registering(env_id)
    try:
        # The passive checker repeats at every step what the emulation checks on each copy.
        return gymnasium.make(env_id, **{"disable_env_checker": True, **arguments})
    except gymnasium.error.DependencyNotInstalled as error:
        extra = PARTS.get(part_of(env_id), "")
        hint = f": `pip install 'puffer-cli[{extra}]'`" if extra else ""
        raise APIUsageError(f"{env_id} lacks a package{hint} ({error}).") from error
    except Exception as error:  # the arguments are the user's, and a constructor may raise anything
        raise APIUsageError(
            f"gymnasium.make({env_id!r}, **{dict(arguments)}): {type(error).__name__}: {error}"
        ) from error


def part_of(env_id: str) -> str:
    """Which of PARTS a Gymnasium environment is from; empty for others."""
    import gymnasium

    entry = str(gymnasium.spec(env_id).entry_point)
    return next((part for part in PARTS if entry.startswith(f"gymnasium.envs.{part}")), "")


def _import_registering(env_id: str) -> None:
    for prefix, (module, extra) in PACKAGES.items():
        if env_id.startswith(prefix):
            import_package(module, extra, env_id)


def import_package(module: str, extra: str, name: str) -> ModuleType:
    """Import what an environment needs.

    Raises:
        APIUsageError: it is missing; names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise APIUsageError(
            f"{name} needs a package: `pip install 'puffer-cli[{extra}]'` ({error})."
        ) from error


def typed(value: Any, kind: type) -> Any:
    """A text as `kind` where it is one; what it is not, the caller's check says better."""
    from pydantic import TypeAdapter, ValidationError

    from puffer_cuda.config import Whole

    if isinstance(value, str):
        adapter: TypeAdapter[Any] = TypeAdapter(Whole if kind is int else kind)
        with contextlib.suppress(ValidationError):
            return adapter.validate_python(value)
    return value


def literal(value: Any) -> Any:
    """A text as the Python literal that it is, or as it stands; other values unchanged."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false", "yes", "no"):
        return value.lower() in ("true", "yes")
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
