"""make: environments behind the backend of your choice."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError
from puffer_vector.base import VecEnv
from puffer_vector.multiprocessing import Multiprocessing
from puffer_vector.native import Native
from puffer_vector.serial import Serial

RAY = "Ray"  # imported only when it is used
# PufferEnv stands for the native backend, as in programs written for PufferLib.
BACKENDS: dict[str, type[VecEnv]] = {
    "Serial": Serial,
    "Multiprocessing": Multiprocessing,
    "Native": Native,
    "PufferEnv": Native,
    "native": Native,
}


def make(
    env_creator_or_creators: object,
    env_args: object = None,
    env_kwargs: object = None,
    backend: str | type[VecEnv] | type[PufferEnv] = PufferEnv,
    num_envs: int = 1,
    seed: object = 0,
    **kwargs: Any,
) -> VecEnv:
    """Build environments and the vectorizer that runs them.

    Args:
        env_creator_or_creators: A creator for all environments, or a list of `num_envs`. It is
            called as `creator(*args, buf=..., seed=..., **kwargs)` and returns a PufferEnv.
        env_args: Positional arguments of the creator; with a list of creators, a list of such.
        env_kwargs: Keyword arguments of the creator; with a list of creators, a list of such.
        backend: `Serial`, `Multiprocessing`, `Ray`, or `PufferEnv` (also `Native`) for exactly
            one native environment; the class or its name.
        num_envs: Number of environments.
        seed: Environment i is built with `seed + i`, and reset with it when the first reset is
            given no other; or a list of `num_envs` seeds.
        **kwargs: Further keywords of the backend: see `Multiprocessing` and `Ray`.

    Raises:
        APIUsageError: Arguments that are unknown or do not fit.
    """
    cls = _backend(backend)
    _check_keywords(cls, kwargs)
    vecenv: VecEnv = cls(env_creator_or_creators, env_args, env_kwargs, num_envs, seed, **kwargs)
    return vecenv


def _backend(backend: object) -> Any:
    if backend == RAY:
        from puffer_vector.ray import Ray

        return Ray
    if isinstance(backend, str):
        if backend in BACKENDS:
            return BACKENDS[backend]
        names = [*BACKENDS, RAY]
        near = difflib.get_close_matches(backend.lower(), [name.lower() for name in names], 1)
        meant = [name for name in names if [name.lower()] == near]
        hint = f"did you mean {meant[0]!r}?" if meant else f"use one of {', '.join(names)}."
        raise APIUsageError(f"There is no backend {backend!r}: {hint}")
    if backend is PufferEnv:
        return Native
    if isinstance(backend, type) and issubclass(backend, VecEnv):
        return backend
    raise APIUsageError(
        "backend must be Serial, Multiprocessing, Ray, PufferEnv, or the name of one, got "
        f"{backend!r}."
    )


def _check_keywords(cls: type[VecEnv], kwargs: dict[str, Any]) -> None:
    accepted = list(inspect.signature(cls).parameters)[5:]  # the first five are make's own
    for name in kwargs:
        if name in accepted:
            continue
        if name in inspect.signature(Multiprocessing).parameters:
            raise APIUsageError(f"{cls.__name__} takes no {name}: it is for Multiprocessing.")
        choices = [*accepted, "env_args", "env_kwargs", "backend", "num_envs", "seed"]
        near = difflib.get_close_matches(name, choices, 1)
        hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(choices)}."
        raise APIUsageError(f"make has no keyword {name}: {hint}")
