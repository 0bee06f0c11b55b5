"""Vectorized environments behind one interface: Serial, Multiprocessing, Ray."""

from typing import TYPE_CHECKING, Any

from puffer_core.env import PufferEnv
from puffer_vector.autotune import autotune
from puffer_vector.base import VecEnv
from puffer_vector.errors import WorkerError
from puffer_vector.make import make
from puffer_vector.multiprocessing import Multiprocessing
from puffer_vector.native import Native
from puffer_vector.serial import Serial
from puffer_vector.tuning import Profile, Trial, Tuning

if TYPE_CHECKING:
    from puffer_vector.ray import Ray as Ray

# Without Ray, which is an extra: `import *` must work without it.
__all__ = [
    "Multiprocessing",
    "Native",
    "Profile",
    "PufferEnv",
    "Serial",
    "Trial",
    "Tuning",
    "VecEnv",
    "WorkerError",
    "autotune",
    "make",
]


def __getattr__(name: str) -> Any:
    if name == "Ray":  # imported only when it is used
        from puffer_vector.ray import Ray

        return Ray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
