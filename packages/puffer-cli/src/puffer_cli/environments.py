"""Environments by name.

`breakout` or `puffer_breakout` in C, `gymnasium/ID` from Gymnasium, those that other packages
register in the entry point group `puffer.envs`, and `./folder` of one's own.

Importing this module is cheap; the libraries are loaded when an environment is looked at.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from puffer_core import PufferEnv
    from puffer_ocean.arguments import Argument

CONFIG = Path(__file__).parent / "config"
GYMNASIUM = "gymnasium/"
DEFAULT_COPIES = 1024  # of a C environment: enough rows to keep the policy busy

# Packages that register ids with Gymnasium when they are imported: prefix -> import, distribution.
PACKAGES = {
    "ALE/": ("ale_py", "ale-py"),
    "BabyAI-": ("minigrid", "minigrid"),
    "MiniGrid-": ("minigrid", "minigrid"),
}


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

        _import_package(env_id)
        if env_id not in gymnasium.registry:
            hint = did_you_mean(env_id, list(gymnasium.registry))
            raise APIUsageError(f"Gymnasium has no environment {env_id!r}; {hint}")
        self.env_id = env_id
        self.name = self.reference = GYMNASIUM + env_id

    @property
    def ini_files(self) -> list[Path]:
        """Settings for all of Gymnasium, then those of this id if there are any."""
        own = CONFIG / "gymnasium" / f"{self.env_id}.ini"
        return [CONFIG / "gymnasium.ini", *([own] if own.exists() else [])]

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
    import gymnasium

    from puffer_core import GymnasiumPufferEnv

    _import_package(env_id)
    try:
        # The passive checker repeats at every step what the emulation checks on each copy.
        env = gymnasium.make(env_id, **{"disable_env_checker": True, **arguments})
    except Exception as error:  # the arguments are the user's, and a constructor may raise anything
        raise APIUsageError(
            f"gymnasium.make({env_id!r}, **{arguments}): {type(error).__name__}: {error}"
        ) from error
    return GymnasiumPufferEnv(env, buf=buf, seed=seed)


def _import_package(env_id: str) -> None:
    for prefix, (module, distribution) in PACKAGES.items():
        if env_id.startswith(prefix):
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise APIUsageError(
                    f"{env_id} needs the package {distribution}: `pip install {distribution}` "
                    f"({error})."
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
