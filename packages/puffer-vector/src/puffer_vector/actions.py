"""Check a batch of actions and write it into the action buffer."""

from __future__ import annotations

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space, is_below


def check_actions(actions: object, space: Space, num_agents: int) -> NDArray[np.generic]:
    """Return actions as an array of the action buffer's shape.

    Args:
        actions: An array, a tensor on the CPU, or a list. `Discrete`: integers `(N,)` or
            `(N, 1)`; `MultiDiscrete`: integers `(N, K)`; `Box`: numbers `(N, *box)`.
        space: One agent's action space.
        num_agents: N.

    Returns:
        The array; for `Box` clipped to the bounds, in the space's dtype.

    Raises:
        APIUsageError: Wrong shape or dtype, a discrete action out of range, a number that is
            not finite; the message names the row.
    """
    if (
        type(actions) is np.ndarray
        and isinstance(space, gymnasium.spaces.Discrete)
        and actions.shape == (num_agents,)
        and is_below(actions, space.n)
    ):  # the common case
        return actions
    try:
        array = np.asarray(actions)
    except Exception as error:  # tensors on a GPU or with a gradient, ragged lists
        raise APIUsageError(f"actions: cannot be read as an array: {error}") from error
    shape = (num_agents, *(space.shape or ()))
    is_box = isinstance(space, gymnasium.spaces.Box)
    kinds = {"f": "iuf", "b": "iub"}.get(np.dtype(space.dtype).kind if is_box else "", "iu")
    if not is_box and len(shape) == 1 and array.shape == (num_agents, 1):
        array = array[:, 0]
    if array.shape != shape or array.dtype.kind not in kinds:
        raise APIUsageError(
            f"actions: expected {'numbers' if 'f' in kinds else 'integers'} of shape {shape}, got "
            f"dtype {array.dtype} and shape {array.shape}."
        )
    if isinstance(space, gymnasium.spaces.Box):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            _refuse(array, ~np.isfinite(array), "a finite number")
        return np.asarray(np.clip(array, space.low, space.high), dtype=space.dtype)
    if isinstance(space, gymnasium.spaces.Discrete):
        if array.min() < 0 or array.max() >= space.n:
            _refuse(array, (array < 0) | (array >= space.n), f"0 to {space.n - 1}")
    elif isinstance(space, gymnasium.spaces.MultiDiscrete):
        wrong = (array < 0) | (array >= space.nvec)
        if wrong.any():
            _refuse(array, wrong, f"0 to {space.nvec - 1}")
    return array


def _refuse(array: NDArray[np.generic], wrong: NDArray[np.bool_], expected: str) -> None:
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    raise APIUsageError(
        f"actions: row {index[0]} of the batch is {array[index[0]]}, expected {expected}."
    )
