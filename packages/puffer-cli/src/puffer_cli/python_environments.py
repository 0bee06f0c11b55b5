"""Environments in Python: `NAME.py` in a folder of that name, or a registered function.

Either offers `make(buf=None, seed=0, **arguments) -> PufferEnv`; its other keywords are the
environment's arguments.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    from puffer_core import PufferEnv

OWN = ("buf", "seed")  # what the vectorizer passes


def is_python(name: str) -> bool:
    """Whether a name means an environment in Python."""
    from puffer_ocean.folders import is_path, registered

    if is_path(name):
        return _source(name).exists() and not _source(name).with_suffix(".c").exists()
    entry = registered().get(name)
    return entry is not None and ":" in entry.value  # a function in a module


def _source(name: str) -> Path:
    folder = Path(name).resolve()
    return folder / f"{folder.name}.py"


def maker(reference: str) -> Callable[..., PufferEnv]:
    """The function `make` of an environment.

    Raises:
        APIUsageError: the source has none.
    """
    from puffer_ocean.folders import is_path, registered

    if not is_path(reference):
        loaded: Callable[..., PufferEnv] = registered()[reference].load()
        return loaded
    path = _source(reference)
    make: Callable[..., PufferEnv] | None = getattr(_module(path), "make", None)
    if not callable(make):
        raise APIUsageError(f"{path} defines no make(buf=None, seed=0, **arguments).")
    return make


@functools.cache
def _module(path: Path) -> ModuleType:
    """The source as a module; it may import its neighbours, as a script may."""
    name = f"puffer_env_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent))
    sys.modules[name] = module  # dataclasses and pickle look for it there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = f", line {own[-1].lineno}" if own else ""  # a SyntaxError names it by itself
        raise APIUsageError(f"{path}{line}: {type(error).__name__}: {error}") from error
    return module


def make_python(
    reference: str, buf: Mapping[str, Any] | None = None, seed: int = 0, **arguments: Any
) -> PufferEnv:
    """Create an environment; workers import this function and find its source again."""
    return maker(reference)(buf=buf, seed=seed, **arguments)


class PythonEnvironment:
    """An environment in Python, by its folder or by the name that a package registers."""

    native = False

    def __init__(self, name: str) -> None:
        from puffer_ocean import names
        from puffer_ocean.folders import is_path

        source = _source(name)
        self.reference = str(source.parent) if is_path(name) else name
        self.name = source.stem if is_path(name) else name
        if self.name in names():
            raise APIUsageError(
                f"{source.parent} has the name of a shipped environment, whose runs would mix with "
                "its own: rename the folder and its source."
            )
        self._parameters = inspect.signature(maker(self.reference)).parameters

    @property
    def ini_files(self) -> list[Path]:
        """The config.ini beside the source, if there is one."""
        from puffer_ocean.folders import is_path

        if is_path(self.reference):
            own = Path(self.reference) / "config.ini"
        else:
            own = Path(inspect.getfile(maker(self.reference))).parent / "config.ini"
        return [own] if own.exists() else []

    def arguments(self, raw: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
        """The keywords of `make` with their defaults, in the types of these.

        Raises:
            APIUsageError: unknown name, or a value of another type; names the origin.
        """
        from puffer_cli.environments import literal, typed

        kinds = {parameter.kind for parameter in self._parameters.values()}
        defaults = {
            name: parameter.default
            for name, parameter in self._parameters.items()
            if name not in OWN and parameter.default is not inspect.Parameter.empty
        }
        values = dict(defaults)
        for name, value in raw.items():
            if name not in defaults and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise APIUsageError(
                    f"unknown key env.{name} ({origins[name]}) for {self.name}; "
                    + did_you_mean(name, list(defaults))
                )
            default = defaults.get(name)
            values[name] = literal(value) if default is None else typed(value, type(default))
            if default is not None and not isinstance(values[name], type(default)):
                raise APIUsageError(
                    f"env.{name} must be of type {type(default).__name__}, got {value!r} "
                    f"({origins[name]})."
                )
        return values

    def meanings(self) -> dict[str, str]:
        """None: a signature does not say."""
        return {}

    def creator(self) -> Callable[..., PufferEnv]:
        """A creator that travels to worker processes by the reference alone."""
        return functools.partial(make_python, self.reference)

    def agents(self, arguments: Mapping[str, Any]) -> int:
        """Agents of one instance, which is made and closed to ask it."""
        env = make_python(self.reference, **arguments)
        env.close()
        return env.num_agents
