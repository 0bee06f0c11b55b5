"""What the wrappers share about the objects they wrap: making, calling and reading them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from puffer_core.errors import APIUsageError

OLD_API = "Convert environments of the old gym API with shimmy: https://shimmy.farama.org"
FLOAT32_MAX = float(np.finfo(np.float32).max)


def make_object(
    env: object,
    env_creator: Callable[..., object] | None,
    env_args: Sequence[Any] | None,
    env_kwargs: Mapping[str, Any] | None,
) -> Any:
    """Return `env`, or what `env_creator(*env_args, **env_kwargs)` makes.

    Raises:
        APIUsageError: Not exactly one of `env` and `env_creator`, or no callable.
    """
    if (env is None) == (env_creator is None):
        raise APIUsageError("Give exactly one of env and env_creator.")
    if env_creator is None:
        return env
    if not callable(env_creator):
        raise APIUsageError(f"env_creator must be callable, got {describe(env_creator)}.")
    return env_creator(*(env_args or ()), **(env_kwargs or {}))


def reset_arguments(seed: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Keywords of `env.reset`: only what is given, since some environments know only one."""
    arguments: dict[str, Any] = {} if seed is None else {"seed": seed}
    if options is not None:
        arguments["options"] = options
    return arguments


def number(reward: Any, path: str = "reward") -> float:
    """Return a reward as a float.

    Raises:
        APIUsageError: It is no single number, or too large for float32.
    """
    if isinstance(reward, float):  # np.float64 is one too
        value = reward
    else:
        array = np.asarray(reward)
        if array.size != 1 or array.dtype.kind not in "biuf":
            raise APIUsageError(f"{path}: expected one number, got {describe(reward)}.")
        value = float(array.item())
    if abs(value) > FLOAT32_MAX and math.isfinite(value):
        raise APIUsageError(f"{path}: {value} is too large for the float32 buffer: scale it.")
    return value


def flag(value: Any, path: str) -> bool:
    """Return a terminal or truncation flag as a bool.

    Raises:
        APIUsageError: It is no single truth value; None and "no" have one in Python, but no
            environment means it.
    """
    if value is True or value is False:
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biu" or array.item() not in (0, 1):
        raise APIUsageError(f"{path}: expected True or False, got {describe(value)}.")
    return bool(array.item())


def describe(value: object) -> str:
    """Name a value in a message."""
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return value.__name__ + " (a class)" if isinstance(value, type) else f"{value!r:.80}"
