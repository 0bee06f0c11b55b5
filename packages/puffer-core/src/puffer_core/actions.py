"""From a row of the action buffer to the action that a Gymnasium environment expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space

Decoder: TypeAlias = "Callable[[Any], Any]"


def action_decoder(space: Space) -> tuple[Space, Decoder]:
    """Return the flat space of an action space, and a function from its rows to actions.

    Args:
        space: The wrapped environment's action space.

    Returns:
        The space of one row, counted from 0 (`Discrete`, 1-D `MultiDiscrete`, or the `Box`
        itself), and a function that takes a row (with or without a leading axis of one agent)
        and returns what `env.step` gets: a Python int for `Discrete`, else an array of the
        space's shape and dtype.

    Raises:
        APIUsageError: The space is of another class, which the message names.
    """
    if isinstance(space, gymnasium.spaces.Discrete):
        return gymnasium.spaces.Discrete(int(space.n)), _discrete(int(space.n), int(space.start))
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        start = np.asarray(getattr(space, "start", 0))  # since Gymnasium 1.0
        return _choices(space, np.asarray(space.nvec), start)
    if isinstance(space, gymnasium.spaces.MultiBinary):
        return _choices(space, np.full(space.shape, 2), np.asarray(0))
    if isinstance(space, gymnasium.spaces.Box):
        return space, _box(space)
    raise APIUsageError(
        f"action_space: {type(space).__name__} is not supported, only Discrete, MultiDiscrete, "
        "MultiBinary and Box."
    )


def _discrete(n: int, start: int) -> Decoder:
    def decode(row: Any) -> int:
        action = int(_integers(row, 1)[0])
        if not 0 <= action < n:
            raise APIUsageError(f"action: expected 0 to {n - 1}, got {action}.")
        return action + start

    return decode


def _choices(space: Space, counts: NDArray[Any], start: NDArray[Any]) -> tuple[Space, Decoder]:
    def decode(row: Any) -> NDArray[Any]:
        actions = _integers(row, counts.size).reshape(counts.shape)
        if ((actions < 0) | (actions >= counts)).any():
            raise APIUsageError(f"action: expected 0 to {counts - 1}, got {actions}.")
        return np.asarray(actions + start, dtype=space.dtype)

    return gymnasium.spaces.MultiDiscrete(counts.ravel()), decode


def _box(space: gymnasium.spaces.Box) -> Decoder:
    def decode(row: Any) -> NDArray[Any]:
        action = np.asarray(row)
        if action.shape not in (space.shape, (1, *space.shape)):
            raise APIUsageError(f"action: expected shape (1, *{space.shape}), got {action.shape}.")
        if action.dtype.kind not in ("iuf" if np.dtype(space.dtype).kind == "f" else "iu"):
            raise APIUsageError(f"action: expected {space.dtype}, got {action.dtype}.")
        if not np.isfinite(action).all():
            raise APIUsageError(f"action: expected finite numbers, got {action}.")
        # A copy of its own: environments may keep their action, and the buffer's row changes.
        clipped = np.clip(action.reshape(space.shape), space.low, space.high)
        return np.array(clipped, dtype=space.dtype)

    return decode


def _integers(row: Any, count: int) -> NDArray[Any]:
    actions = np.asarray(row)
    if actions.size != count or actions.dtype.kind not in "iu":
        raise APIUsageError(
            f"action: expected {count} integer(s), got shape {actions.shape} and dtype "
            f"{actions.dtype}."
        )
    return np.ravel(actions)
