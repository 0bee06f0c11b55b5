"""Vectorized environments."""

from typing import TYPE_CHECKING, Any

import puffer_vector
from puffer_vector import Multiprocessing, Native, PufferEnv, Serial, WorkerError, autotune, make
from pufferlib._gone import missing

if TYPE_CHECKING:
    from puffer_vector import Ray as Ray

__all__ = [
    "Multiprocessing",
    "Native",
    "PufferEnv",
    "Serial",
    "WorkerError",
    "autotune",
    "make",
    "reset",
    "step",
]


def __getattr__(name: str) -> Any:
    if name == "Ray":  # an extra, imported only when it is used
        return puffer_vector.Ray
    missing(__name__, name)


def reset(vecenv: Any, seed: int = 42) -> tuple[Any, Any]:
    """`vecenv.reset(seed)`."""
    observations, infos = vecenv.reset(seed)
    return observations, infos


def step(vecenv: Any, actions: Any) -> Any:
    """`vecenv.step(actions)`."""
    return vecenv.step(actions)
