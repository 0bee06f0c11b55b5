"""Spaces: classes for `isinstance`, and the joint space of N equal agents.

Only Gymnasium's spaces count; those of the old `gym` package are not supported (convert them
with `shimmy`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError

Space: TypeAlias = "gymnasium.spaces.Space[Any]"

# Tuples because programs written for PufferLib test `isinstance(space, pufferlib.spaces.Box)`.
Box = (gymnasium.spaces.Box,)
Dict = (gymnasium.spaces.Dict,)
Discrete = (gymnasium.spaces.Discrete,)
MultiBinary = (gymnasium.spaces.MultiBinary,)
MultiDiscrete = (gymnasium.spaces.MultiDiscrete,)
Tuple = (gymnasium.spaces.Tuple,)

UNSIGNED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int32): np.dtype(np.uint32),
    np.dtype(np.int64): np.dtype(np.uint64),
}


def equal(one: object, other: object) -> bool:
    """Tell whether two spaces, or other values, are equal, shapes and dtypes included.

    Gymnasium 0.29 leaves out the dtype of a Box, and broadcasts MultiDiscrete spaces.
    """
    if isinstance(one, gymnasium.spaces.Dict) and isinstance(other, gymnasium.spaces.Dict):
        return set(one.spaces) == set(other.spaces) and all(
            equal(space, other.spaces[key]) for key, space in one.spaces.items()
        )
    if isinstance(one, gymnasium.spaces.Tuple) and isinstance(other, gymnasium.spaces.Tuple):
        return len(one.spaces) == len(other.spaces) and all(map(equal, one.spaces, other.spaces))
    if isinstance(one, gymnasium.Space) and isinstance(other, gymnasium.Space):
        return one.shape == other.shape and one.dtype == other.dtype and bool(one == other)
    return bool(one == other)


def is_below(numbers: NDArray[Any], n: int | np.integer[Any]) -> bool:
    """Tell whether 1-D int32 or int64 `numbers` are all from 0 to n-1; False for other dtypes.

    For hot paths: as unsigned numbers negative ones are too large, so one pass is enough, and
    argmax has a quarter of max's fixed cost.
    """
    unsigned = UNSIGNED.get(numbers.dtype)
    if unsigned is None:
        return False
    view = numbers.view(unsigned)
    return bool(view[view.argmax()] < n)


class JointBox(gymnasium.spaces.Box):
    """The Box of `n` agents that each have the same Box, agents along the first axis.

    Its bounds are read-only views that repeat those of one agent: for thousands of agents with
    image observations, bounds of their own would take gigabytes.
    """

    def __init__(self, space: gymnasium.spaces.Box, n: int) -> None:
        """Repeat `space` for `n` agents."""
        super().__init__(space.low, space.high, space.shape, np.dtype(space.dtype).type)
        self._one, self._n = space, n
        for name in ("low", "high", "bounded_below", "bounded_above"):
            one = np.asarray(getattr(self, name))
            setattr(self, name, np.broadcast_to(one, (n, *one.shape)))
        self._shape = (n, *space.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle one agent's bounds; the state of the random generator starts anew."""
        return JointBox, (self._one, self._n)


def joint_space(space: Space, n: int) -> Space:
    """Return the space of `n` agents that each have `space`, agents along the first axis.

    Args:
        space: `Discrete`, `MultiDiscrete` (1-D) or `Box`.
        n: Number of agents, at least 1.

    Returns:
        `Discrete(k)` becomes `MultiDiscrete([k] * n)`, shape `(n,)`; `MultiDiscrete` with K heads
        becomes an integer `Box` of 0 to `nvec - 1`, shape `(n, K)`; `Box` becomes a `Box` with
        its bounds repeated, shape `(n, *space.shape)`, same dtype.

    Raises:
        APIUsageError: The space is of another class.
    """
    if isinstance(space, gymnasium.spaces.Discrete):
        return gymnasium.spaces.MultiDiscrete(np.full(n, space.n, dtype=np.int64))
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        high = space.nvec - 1
        # The space's dtype is int64 unless its author chose another integer.
        heads = gymnasium.spaces.Box(np.zeros_like(high), high, dtype=high.dtype.type)
        return JointBox(heads, n)
    if isinstance(space, gymnasium.spaces.Box):
        return JointBox(space, n)
    raise APIUsageError(
        f"There is no joint space for {type(space).__name__}: expected Discrete, MultiDiscrete "
        "or Box."
    )


def check_observation_space(space: object) -> None:
    """Refuse an observation space that buffers cannot hold.

    Raises:
        APIUsageError: It is no Box, or it has no element.
    """
    if not isinstance(space, gymnasium.spaces.Box):
        raise APIUsageError(
            f"single_observation_space must be a gymnasium Box, got {type(space).__name__}. "
            "Wrap a Gymnasium environment with GymnasiumPufferEnv."
        )
    if 0 in space.shape:
        raise APIUsageError(
            f"single_observation_space has shape {space.shape}, which holds no value: give it at "
            "least one element."
        )


def check_action_space(space: object) -> None:
    """Refuse an action space whose actions do not fit the action buffer.

    Raises:
        APIUsageError: It is no Discrete, 1-D MultiDiscrete or Box, counts from another number
            than 0, or is too large for int32.
    """
    if isinstance(space, gymnasium.spaces.Box):
        if 0 in space.shape:
            raise APIUsageError(f"single_action_space has shape {space.shape}: no value to choose.")
        return
    if isinstance(space, gymnasium.spaces.Discrete):
        counts = np.array([space.n])
    elif isinstance(space, gymnasium.spaces.MultiDiscrete):
        counts = space.nvec
    else:
        raise APIUsageError(
            "single_action_space must be a gymnasium Discrete, MultiDiscrete or Box, got "
            f"{type(space).__name__}."
        )
    if counts.ndim != 1 or counts.size == 0:
        raise APIUsageError(
            f"A MultiDiscrete single_action_space must have a flat nvec of at least one number, "
            f"got shape {counts.shape}."
        )
    if np.any(getattr(space, "start", 0)):  # MultiDiscrete has a start since Gymnasium 0.29
        raise APIUsageError(
            f"single_action_space {space} does not start at 0, but action buffers hold 0 to n-1: "
            "use start=0 and add the offset inside step()."
        )
    if counts.max() > np.iinfo(np.int32).max:
        raise APIUsageError(f"single_action_space {space} has more actions than int32 can count.")
