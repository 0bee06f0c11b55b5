"""Creators and settings of environments by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from puffer_ocean.env import OceanEnv
from puffer_ocean.folders import folder_of, is_path
from puffer_ocean.library import load


def env_creator(name: str = "squared") -> Callable[..., OceanEnv]:
    """A creator for `puffer_vector.make`; `puffer_NAME` and `NAME` are the same.

    Args:
        name: as `OceanEnv` takes it; a relative path is bound to where it leads now.

    Raises:
        APIUsageError: there is no such environment (names the nearest).
    """
    load(name)
    return functools.partial(OceanEnv, str(folder_of(name)) if is_path(name) else name)


def config_path(name: str) -> Path:
    """The ini file with the tuned training settings of an environment."""
    return folder_of(name) / "config.ini"
