"""Layout: how values of a space lie in memory, the one description that all uses derive from.

A `Dict` or `Tuple` becomes an aligned structured dtype; its offsets are numpy's own. The leaves:

| space           | dtype                                    | shape        |
|-----------------|------------------------------------------|--------------|
| `Box`           | its own                                  | its own      |
| `Discrete`      | int32; int64 if its values need it       | `()`         |
| `MultiDiscrete` | int32; int64 if its values need it       | that of nvec |
| `MultiBinary`   | int8                                     | its own      |

`Discrete` and `MultiDiscrete` are stored as the values themselves, `start` included. The fields
of a `Dict` are its keys, sorted (or in the space's order where they cannot be compared):
Gymnasium calls two `Dict` spaces equal whatever the order of their keys, and equal spaces must
have equal layouts. The order never comes from a sample.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space

HINTS = {
    "Sequence": "Pad it to its greatest length and return a Box with a count beside it.",
    "Graph": "Pad nodes and edges to their greatest number and return a Dict of Box spaces.",
    "Text": "Encode the characters as a MultiDiscrete of fixed length.",
    "OneOf": "Return a Dict of all alternatives and a Discrete that tells which one counts.",
    "other": "Use Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple, or leave it out.",
}


class Node:
    """A space within a layout, and the memory of one value of it.

    Attributes:
        path: How a user reaches the value, such as `observation["tail"][2]`.
        space: The space.
        dtype: Its numpy dtype; a subarray dtype for a leaf that has a shape.
        children: `(key, field name, node)` of every entry, in the order of the fields; empty for
            a leaf.
    """

    def __init__(self, space: object, path: str) -> None:
        """Describe `space`.

        Raises:
            APIUsageError: A space without a fixed size, or without any value; the message names
                the path and the class.
        """
        self.path = path
        self.children: tuple[tuple[Any, str, Node], ...] = ()
        self.dtype: np.dtype[Any]
        if isinstance(space, (gymnasium.spaces.Dict, gymnasium.spaces.Tuple)):
            self.space: Space = space
            self.children = tuple(_children(space, path))
            fields = [(name, node.dtype) for _, name, node in self.children]
            self.dtype = np.dtype(fields, align=True)
        elif isinstance(space, gymnasium.Space):
            self.space = space
            self.dtype = _leaf_dtype(space, path)
        else:
            raise APIUsageError(
                f"{path}: expected a space of gymnasium, got {space!r:.80}. Convert environments "
                "of the old gym package with shimmy."
            )
        if self.dtype.itemsize == 0:
            raise APIUsageError(
                f"{path}: {space} holds no value. Give it at least one element, or leave it out."
            )

    def leaves(self, offset: int = 0) -> Iterator[tuple[int, Node]]:
        """Yield `(byte offset, node)` of every leaf, in the order in memory."""
        if not self.children:
            yield offset, self
        for _, name, node in self.children:
            assert self.dtype.fields is not None
            yield from node.leaves(offset + self.dtype.fields[name][1])


class Layout(Node):
    """The layout of a whole space, and the flat Box of its values.

    Attributes:
        flat_space: A `Box` as it is. Any other leaf becomes a 1-D Box of its dtype with its
            bounds, `(1,)` for Discrete. A structure whose leaves share one dtype becomes a 1-D
            Box of that dtype with the leaves' bounds one after the other; any other structure a
            1-D uint8 Box of its bytes, padding (always zero) included.
    """

    def __init__(self, space: object, path: str = "observation") -> None:
        """Describe `space`, called `path` in messages."""
        super().__init__(space, path)
        self.flat_space = self._flat_space()

    def _flat_space(self) -> gymnasium.spaces.Box:
        if isinstance(self.space, gymnasium.spaces.Box):
            return self.space
        nodes = [node for _, node in self.leaves()]
        dtype = nodes[0].dtype.base
        if any(node.dtype.base != dtype for node in nodes):
            return gymnasium.spaces.Box(0, 255, (self.dtype.itemsize,), np.uint8)
        pairs = [bounds(node.space) for node in nodes]
        low, high = (np.concatenate([np.ravel(pair[i]) for pair in pairs]) for i in (0, 1))
        return gymnasium.spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)

    def view(self, flat: NDArray[Any]) -> NDArray[Any]:
        """View flat values as what they hold.

        Args:
            flat: `(*leading, *flat_space.shape)`, in the dtype of `flat_space`.

        Returns:
            A view of the same memory: a structured array of shape `leading`, or for a leaf an
            array of shape `(*leading, *leaf shape)`.
        """
        leading = flat.shape[: flat.ndim - len(self.flat_space.shape)]
        if not self.children:
            return flat.reshape((*leading, *self.dtype.shape))
        return flat.view(self.dtype).reshape(leading)

    def describe(self) -> dict[str, Any]:
        """Return the layout as plain JSON values, to be stored and compared."""
        return {
            "flat_dtype": np.dtype(self.flat_space.dtype).str,
            "flat_shape": list(self.flat_space.shape),
            "itemsize": self.dtype.itemsize,
            "leaves": [
                {
                    "path": node.path,
                    "space": type(node.space).__name__,
                    "dtype": node.dtype.base.str,
                    "shape": list(node.dtype.shape),
                    "offset": offset,
                }
                for offset, node in self.leaves()
            ],
        }


def bounds(space: Space) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the greatest value of every element of a leaf space."""
    if isinstance(space, gymnasium.spaces.Box):
        return space.low, space.high
    if isinstance(space, gymnasium.spaces.Discrete):
        start = np.asarray(int(space.start), np.int64)
        return start, start + (int(space.n) - 1)
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        # Not in the space's own dtype, where start + nvec may overflow.
        nvec = space.nvec.astype(np.int64)
        start = np.zeros_like(nvec) + space.start
        return start, start + nvec - 1
    shape = space.shape or ()
    return np.zeros(shape, np.int8), np.ones(shape, np.int8)


def _leaf_dtype(space: Space, path: str) -> np.dtype[Any]:
    if isinstance(space, gymnasium.spaces.Box):
        element = np.dtype(space.dtype)
    elif isinstance(space, gymnasium.spaces.MultiBinary):
        element = np.dtype(np.int8)
    elif isinstance(space, (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete)):
        low, high = bounds(space)
        int32 = np.iinfo(np.int32)
        fits = low.size == 0 or (low.min() >= int32.min and high.max() <= int32.max)
        element = np.dtype(np.int32 if fits else np.int64)
    else:
        name = type(space).__name__
        bases = [base.__name__ for base in type(space).__mro__]  # also for subclasses
        hint = next((HINTS[base] for base in bases if base in HINTS), HINTS["other"])
        raise APIUsageError(f"{path}: {name} has no fixed size and cannot be flattened. {hint}")
    return np.dtype((element, space.shape or ()))


def _children(
    space: gymnasium.spaces.Dict | gymnasium.spaces.Tuple[Any], path: str
) -> Iterator[tuple[Any, str, Node]]:
    if isinstance(space, gymnasium.spaces.Tuple):
        for i, child in enumerate(space.spaces):
            yield i, f"f{i}", Node(child, f"{path}[{i}]")
        return
    keys: list[Any] = list(space.spaces)
    with contextlib.suppress(TypeError):  # keys of several types: the space's order
        keys.sort()
    names = [str(key) for key in keys]
    if "" in names or len(set(names)) < len(names):
        raise APIUsageError(f"{path}: its keys {keys} do not name different fields. Rename them.")
    for key, name in zip(keys, names, strict=True):
        yield key, name, Node(space.spaces[key], f"{path}[{key!r}]".replace("'", '"'))
