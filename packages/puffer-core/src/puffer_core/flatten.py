"""Between samples of a space and flat memory: `Writer` on the way in, `nativize` on the way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.copying import copy_checked
from puffer_core.errors import APIUsageError
from puffer_core.layout import Layout, Node, bounds
from puffer_core.spaces import Space

Write: TypeAlias = "Callable[[Any], None]"


def row_writer(layout: Layout, row: NDArray[Any], strict: bool = False) -> Write:
    """Return a function that writes a sample into a row of a flat buffer.

    Built once: it keeps a view of every leaf, so that a step only copies.

    Args:
        layout: What the row holds.
        row: `(*flat_space.shape,)`, a view of the buffer.
        strict: Also refuse values outside the bounds of a Box. Values of Discrete,
            MultiDiscrete and MultiBinary outside the space are always refused.

    Returns:
        `write(sample)`, which raises `APIUsageError` naming the path of what does not fit.
    """
    target = layout.view(row)
    return _writer(layout, target, strict)


def _writer(node: Node, target: NDArray[Any], strict: bool) -> Write:
    if not node.children:
        return _leaf_writer(node, target, strict)
    # [...] keeps a view where indexing a scalar field would give a number.
    entries = [
        (key, _writer(child, target[name][...], strict)) for key, name, child in node.children
    ]
    keys, path = [key for key, _ in entries], node.path
    key_set = set(keys)

    if isinstance(node.space, gymnasium.spaces.Dict):

        def write(sample: Any) -> None:
            if not (type(sample) is dict and sample.keys() == key_set):
                check_keys(sample, keys, path)
            for key, write_entry in entries:
                write_entry(sample[key])
    else:

        def write(sample: Any) -> None:
            check_length(sample, len(entries), path)
            for i, write_entry in entries:
                write_entry(sample[i])

    return write


def _leaf_writer(node: Node, target: NDArray[Any], strict: bool) -> Write:
    path, space = node.path, node.space
    is_box = isinstance(space, gymnasium.spaces.Box)
    if is_box and not strict:
        return _box_writer(target, path)
    low, high = bounds(space)
    if isinstance(space, gymnasium.spaces.Discrete):
        return _discrete_writer(space, target, path)
    expected = f"{path}: expected values inside {'the bounds' if is_box else space}"

    def write(sample: Any) -> None:
        # Only a Box is stored in the dtype that its author declared.
        copy_checked(target, sample, path, report=is_box)
        if not ((target >= low) & (target <= high)).all():  # NaN is not inside either
            _refuse(target, low, high, expected)

    if is_box or target.size > 32:
        return write
    limits = list(zip(np.ravel(low).tolist(), np.ravel(high).tolist(), strict=True))

    def write_few(sample: Any) -> None:
        # Python's numbers compare faster than a few elements of arrays, and what is inside the
        # limits fits the target.
        if (
            type(sample) is np.ndarray
            and sample.dtype.kind == "i"
            and sample.shape == target.shape
            and all(
                first <= number <= last
                for number, (first, last) in zip(sample.ravel().tolist(), limits, strict=True)
            )
        ):
            target[...] = sample
        else:
            write(sample)

    return write_few


def _box_writer(target: NDArray[Any], path: str) -> Write:
    shape, dtype = target.shape, target.dtype

    def write(sample: Any) -> None:
        # What is as declared, the common case, needs no more checks.
        if type(sample) is np.ndarray and sample.dtype is dtype and sample.shape == shape:
            target[...] = sample
        else:
            copy_checked(target, sample, path, report=True)

    return write


def _discrete_writer(space: gymnasium.spaces.Discrete, target: NDArray[Any], path: str) -> Write:
    first, last = int(space.start), int(space.start) + int(space.n) - 1

    def write(sample: Any) -> None:
        value = sample
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biu":
            value = value.item() if value.ndim == 0 else None
        if not isinstance(value, int) or not first <= value <= last:
            raise APIUsageError(
                f"{path}: expected a value of {space}, an integer from {first} to {last}, got "
                f"{sample!r:.80}."
            )
        target[...] = value

    return write


def _refuse(value: NDArray[Any], low: NDArray[Any], high: NDArray[Any], expected: str) -> None:
    low, high = np.broadcast_to(low, value.shape), np.broadcast_to(high, value.shape)
    outside = np.argwhere(~((value >= low) & (value <= high)))
    index = tuple(int(i) for i in outside[0])
    raise APIUsageError(
        f"{expected}, got {value[index]} at {index}, where {low[index]} to {high[index]} is "
        f"declared ({len(outside)} of {value.size} values are outside)."
    )


def check_keys(sample: Any, keys: list[Any], path: str) -> None:
    """Refuse a sample of a Dict space that has not exactly these keys, and name the others."""
    if isinstance(sample, Mapping):
        if len(sample) == len(keys) and all(key in sample for key in keys):
            return
        missing = [key for key in keys if key not in sample]
        extra = [key for key in sample if key not in keys]
        problem = " and ".join(
            f"{word} {', '.join(map(repr, some))}"
            for word, some in (("misses", missing), ("has the unknown", extra))
            if some
        )
        raise APIUsageError(f"{path}: expected the keys {keys}, but the value {problem}.")
    raise APIUsageError(f"{path}: expected a dict with the keys {keys}, got {sample!r:.80}.")


def check_length(sample: Any, length: int, path: str) -> None:
    """Refuse a sample of a Tuple space that is no tuple or list of this length."""
    if not isinstance(sample, (tuple, list)):
        raise APIUsageError(f"{path}: expected a tuple of {length}, got {sample!r:.80}.")
    if len(sample) != length:
        raise APIUsageError(f"{path}: expected a tuple of {length}, got one of {len(sample)}.")


def emulate(struct: NDArray[Any], sample: Any, path: str = "observation") -> None:
    """Write a sample into a structured array of one value, checking every copy.

    Args:
        struct: A structured array of shape `()` or `(1,)`, such as `env.obs_struct`; for a leaf
            an array of its shape.
        sample: Dicts and tuples nested like the fields.
        path: Name of the sample in messages.

    Raises:
        APIUsageError: Names the path of what does not fit.
    """
    names = struct.dtype.names
    if names is None:
        if struct.shape != np.shape(sample) and struct.shape[:1] == (1,):
            struct = struct[0, ...]
        copy_checked(struct, sample, path)
    elif isinstance(sample, Mapping):
        check_keys({str(key): None for key in sample}, list(names), path)
        for key, value in sample.items():
            emulate(struct[str(key)], value, f"{path}[{key!r}]".replace("'", '"'))
    elif names == tuple(f"f{i}" for i in range(len(names))):
        check_length(sample, len(names), path)
        for i, value in enumerate(sample):
            emulate(struct[f"f{i}"], value, f"{path}[{i}]")
    else:
        check_keys(sample, list(names), path)


def nativize(flat: NDArray[Any], space: Space, dtype: np.dtype[Any] | None = None) -> Any:
    """Return the sample of `space` that one flat observation holds.

    Args:
        flat: One row of a buffer, also with a leading axis of 1, in the buffer's dtype.
        space: The space of the sample.
        dtype: The layout's dtype, such as `env.obs_dtype`, to be compared with that of `space`.

    Returns:
        A sample that equals the original: Dicts and tuples nested as declared, an int for
        Discrete, arrays of the declared shape and dtype. Arrays of a Box are views.

    Raises:
        APIUsageError: `flat` or `dtype` is not of this space.
    """
    layout = Layout(space)
    expected = layout.flat_space
    if dtype is not None and np.dtype(dtype).base != layout.dtype.base:
        raise APIUsageError(f"nativize: {space} has the dtype {layout.dtype.base}, got {dtype}.")
    if flat.dtype != expected.dtype or flat.shape not in (expected.shape, (1, *expected.shape)):
        raise APIUsageError(
            f"nativize: expected shape {expected.shape} and dtype {expected.dtype}, got shape "
            f"{flat.shape} and dtype {flat.dtype}."
        )
    return _read(layout, layout.view(flat.reshape(expected.shape)))


def _read(node: Node, value: NDArray[Any]) -> Any:
    space = node.space
    if node.children:
        values = {key: _read(child, value[name][...]) for key, name, child in node.children}
        if isinstance(space, gymnasium.spaces.Dict):
            return {key: values[key] for key in space.spaces}
        return tuple(values.values())
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(value)
    return np.asarray(value, dtype=space.dtype)
