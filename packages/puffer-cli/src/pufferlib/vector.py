"""Vectorized environments."""

from typing import TYPE_CHECKING, Any

import puffer_vector
from puffer_vector import Multiprocessing, Native, PufferEnv, Serial, WorkerError, autotune, make

if TYPE_CHECKING:
    from puffer_vector import Ray as Ray

__all__ = ["Multiprocessing", "Native", "PufferEnv", "Serial", "WorkerError", "autotune", "make"]


def __getattr__(name: str) -> Any:
    if name == "Ray":  # an extra, imported only when it is used
        return puffer_vector.Ray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
