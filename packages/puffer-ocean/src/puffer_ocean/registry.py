"""Find a shipped environment by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from puffer_ocean import build
from puffer_ocean.env import OceanEnv
from puffer_ocean.library import load


def env_creator(name: str = "squared") -> Callable[..., OceanEnv]:
    """A creator for `puffer_vector.make`; `puffer_NAME` and `NAME` are the same.

    Raises:
        APIUsageError: there is no such environment (names the nearest).
    """
    return functools.partial(OceanEnv, load(name).name)


def config_path(name: str) -> Path:
    """The ini file with the tuned training settings of an environment."""
    return build.ENVS / load(name).name / "config.ini"
