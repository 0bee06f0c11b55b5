"""From a row of the action buffer to the action that a wrapped environment expects.

| action space                            | flat space                                         |
|-----------------------------------------|----------------------------------------------------|
| `Discrete`                              | `Discrete`, counted from 0                         |
| `MultiDiscrete`, `MultiBinary`          | `MultiDiscrete`, a head an element, counted from 0 |
| `Box`                                   | the same `Box`                                     |
| `Dict`, `Tuple` of discrete leaves      | `MultiDiscrete`, the heads of the leaves in order  |
| `Dict`, `Tuple` of Box leaves           | 1-D `Box`, the elements of the leaves in order     |

The order is that of `puffer_core.layout`. Structures that mix both kinds, or Box leaves of
integers and of floats, are refused: one action distribution cannot give both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.layout import Layout, Node, bounds
from puffer_core.spaces import Space

Decoder: TypeAlias = "Callable[[Any], Any]"
Build: TypeAlias = "Callable[[NDArray[Any]], Any]"


def action_decoder(space: object, path: str = "action_space") -> tuple[Space, Decoder]:
    """Return the flat space of an action space, and a function from its rows to actions.

    Args:
        space: The wrapped environment's action space.
        path: Its name in messages.

    Returns:
        The space of one row, as in the table above, and a function that takes a row (with or
        without a leading axis of one agent; int32 and int64 alike) and returns an action that
        `space` contains, nested and shaped as declared: a Python int for Discrete, an array of
        the declared dtype for other leaves. Box actions are clipped to their bounds.

    Raises:
        APIUsageError: The space, or a leaf of it, is of another class, or it mixes kinds; the
            message names paths and classes.
    """
    layout = Layout(space, path)
    if isinstance(layout.space, gymnasium.spaces.Box):
        return layout.space, _continuous(layout.space, lambda row: row)
    nodes = [node for _, node in layout.leaves()]
    boxes = [node for node in nodes if isinstance(node.space, gymnasium.spaces.Box)]
    build, _ = _builder(layout, 0)
    if not boxes:
        counts = np.concatenate([np.ravel(_count(node.space)) for node in nodes])
        if isinstance(layout.space, gymnasium.spaces.Discrete):
            n, start = int(layout.space.n), int(layout.space.start)
            return gymnasium.spaces.Discrete(n), _one_choice(n, start)
        return gymnasium.spaces.MultiDiscrete(counts), _discrete(counts, build)
    _check_boxes(path, nodes, boxes)
    dtype = np.result_type(*[node.dtype.base for node in nodes])
    flat = gymnasium.spaces.Box(
        np.concatenate([np.ravel(bounds(node.space)[0]) for node in nodes]).astype(dtype),
        np.concatenate([np.ravel(bounds(node.space)[1]) for node in nodes]).astype(dtype),
        dtype=dtype.type,
    )
    return flat, _continuous(flat, build)


def _count(space: Space) -> NDArray[Any]:
    low, high = bounds(space)
    return np.asarray(high.astype(np.int64) - low + 1)


def _check_boxes(path: str, nodes: list[Node], boxes: list[Node]) -> None:
    """Refuse a structure of which not all leaves are Box spaces of one kind of number."""
    others = [node for node in nodes if node not in boxes]
    if others:
        raise APIUsageError(
            f"{path} mixes continuous and discrete actions, {_name(boxes[0])} and "
            f"{_name(others[0])}: no policy gives both. Make it all Box or all discrete."
        )
    floats = [node for node in boxes if node.dtype.base.kind == "f"]
    integers = [node for node in boxes if node.dtype.base.kind != "f"]
    if floats and integers:
        raise APIUsageError(
            f"{path} mixes Box spaces of floats and of integers, {_name(floats[0])} and "
            f"{_name(integers[0])}. Give them one kind of dtype, or use Discrete for the integers."
        )
    if integers and np.result_type(*[node.dtype.base for node in nodes]).kind == "f":
        raise APIUsageError(
            f"{path} mixes uint64 with signed integers, which no integer dtype holds both: use "
            "int64 for all."
        )


def _name(node: Node) -> str:
    return f"{node.path} ({type(node.space).__name__}, {node.dtype.base})"


def _builder(node: Node, start: int) -> tuple[Build, int]:
    """Return a function from the flat elements to the value, and where its elements end."""
    space = node.space
    if node.children:
        parts: dict[Any, Build] = {}
        for key, _, child in node.children:
            parts[key], start = _builder(child, start)
        if isinstance(space, gymnasium.spaces.Dict):
            order = list(space.spaces)  # the environment may iterate over the dict
            return lambda flat: {key: parts[key](flat) for key in order}, start
        return lambda flat: tuple(part(flat) for part in parts.values()), start
    shape, dtype = node.dtype.shape, space.dtype
    stop = start + int(np.prod(shape, dtype=np.int64))
    if isinstance(space, gymnasium.spaces.Discrete):
        first = int(space.start)
        return lambda flat: int(flat[start]) + first, stop
    if isinstance(space, gymnasium.spaces.Box):
        low, high = _finite_bounds(space)

        # Again for this leaf: rounding the joint dtype to its own must not cross its bounds.
        def box(flat: NDArray[Any]) -> NDArray[Any]:
            return _clip(flat[start:stop].reshape(shape), low, high)

        return box, stop
    offset = bounds(space)[0]
    return lambda flat: np.array(flat[start:stop].reshape(shape) + offset, dtype=dtype), stop


def _one_choice(n: int, start: int) -> Decoder:
    """Decode a lone Discrete, the most common of all, without arrays."""

    def decode(row: Any) -> int:
        array = np.asarray(row)
        if array.size != 1 or array.dtype.kind not in "iu":
            raise _no_integers(array, 1)
        action = int(array.item())
        if not 0 <= action < n:
            raise APIUsageError(f"action: expected 0 to {n - 1}, got {action}.")
        return action + start

    return decode


def _discrete(counts: NDArray[Any], build: Build) -> Decoder:
    size, last = counts.size, counts - 1

    def decode(row: Any) -> Any:
        actions = np.asarray(row)
        if actions.size != size or actions.dtype.kind not in "iu":
            raise _no_integers(actions, size)
        actions = actions.ravel()
        if ((actions < 0) | (actions > last)).any():
            raise APIUsageError(f"action: expected 0 to {last}, got {actions}.")
        # int64 before a start is added: what fits the buffer may not fit with it.
        return build(actions.astype(np.int64))

    return decode


def _no_integers(actions: NDArray[Any], count: int) -> APIUsageError:
    return APIUsageError(
        f"action: expected {count} integer(s), got shape {actions.shape} and dtype {actions.dtype}."
    )


def _continuous(space: gymnasium.spaces.Box, build: Build) -> Decoder:
    low, high = _finite_bounds(space)
    kinds = {"f": "iuf", "b": "iub"}.get(np.dtype(space.dtype).kind, "iu")

    def decode(row: Any) -> Any:
        action = np.asarray(row)
        if action.shape not in (space.shape, (1, *space.shape)):
            raise APIUsageError(f"action: expected shape (1, *{space.shape}), got {action.shape}.")
        if action.dtype.kind not in kinds:
            raise APIUsageError(f"action: expected {space.dtype}, got {action.dtype}.")
        if action.dtype.kind == "f" and not np.isfinite(action).all():
            raise APIUsageError(f"action: expected finite numbers, got {action}.")
        return build(_clip(action.reshape(space.shape), low, high))

    return decode


def _finite_bounds(space: gymnasium.spaces.Box) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bounds with the greatest finite number in place of infinity."""
    dtype = np.dtype(space.dtype)
    if dtype.kind != "f":
        return space.low, space.high
    info = np.finfo(str(dtype))
    limits = np.clip([space.low, space.high], info.min, info.max).astype(dtype)
    return limits[0], limits[1]


def _clip(value: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """Clip into a new array of the bounds' dtype: environments may keep their action."""
    if value.dtype != low.dtype and low.dtype.kind in "iub" and value.dtype.kind in "iub":
        # Python's integers: numpy would compare int64 with uint64 as rounded floats.
        value, low_, high_ = value.astype(object), low.astype(object), high.astype(object)
        return np.array(np.clip(value, low_, high_), dtype=low.dtype)
    return np.array(np.clip(value, low, high), dtype=low.dtype)
