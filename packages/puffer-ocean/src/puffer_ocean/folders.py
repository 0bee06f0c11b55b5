"""Where an environment lies: shipped, registered by another package, or in a folder."""

from __future__ import annotations

import difflib
import os
from importlib import metadata
from pathlib import Path
from types import ModuleType

from puffer_core import APIUsageError
from puffer_ocean import build

GROUP = "puffer.envs"


def is_path(name: str) -> bool:
    """Whether `name` is meant as a path: it has a separator, or is `.` or `..`."""
    return "/" in name or os.sep in name or name in (".", "..")


def folder_of(name: str) -> Path:
    """The folder of an environment.

    Args:
        name: a shipped environment (`squared` or `puffer_squared`), one that an installed package
            registers in the entry point group `puffer.envs`, or the path of a folder with a slash
            (`./my_env`).

    Raises:
        APIUsageError: there is none (names the nearest).
    """
    if is_path(name):
        return _own_folder(name)
    short = name.removeprefix("puffer_")
    if short in build.names():
        return build.ENVS / short
    others = registered()
    if name in others:
        return _registered_folder(others[name])
    known = [*build.names(), *others]
    near = difflib.get_close_matches(short, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
    raise APIUsageError(f"unknown environment {name!r}; {hint}")


def _own_folder(name: str) -> Path:
    folder = Path(name).resolve()
    if folder.parent == build.ENVS and folder.name in build.names():
        return folder
    if not folder.is_dir():
        raise APIUsageError(f"there is no folder {folder}.")
    if not build.source_in(folder).exists() and not build.library_in(folder).exists():
        raise APIUsageError(
            f"{folder} holds no environment: expected {folder.name}.c or, for `puffer`, "
            f"{folder.name}.py, named like the folder."
        )
    if folder.name in build.names():
        raise APIUsageError(
            f"{folder} has the name of a shipped environment, whose runs would mix with its own: "
            "rename the folder, its source and its PUFFER_NAME."
        )
    return folder


def registered() -> dict[str, metadata.EntryPoint]:
    """The environments of other packages by name; one with the name of ours does not count."""
    entries = metadata.entry_points(group=GROUP)
    return {entry.name: entry for entry in entries if entry.name not in build.names()}


def _registered_folder(entry: metadata.EntryPoint) -> Path:
    module = entry.load()
    if not isinstance(module, ModuleType) or module.__file__ is None:
        raise APIUsageError(
            f"the entry point {entry.name} = {entry.value!r} in {GROUP} is no module: for an "
            "environment in C it names the package that lies in the environment's folder."
        )
    return Path(module.__file__).resolve().parent
