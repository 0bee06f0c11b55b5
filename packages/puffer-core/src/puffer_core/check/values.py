"""Observations against their space, and frozen copies of them to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.check.report import Findings, show
from puffer_core.spaces import Space

Frozen: TypeAlias = "dict[str, NDArray[Any]]"

FIXED_SIZE = (
    gymnasium.spaces.Box,
    gymnasium.spaces.Discrete,
    gymnasium.spaces.MultiBinary,
    gymnasium.spaces.MultiDiscrete,
)
SLACK = 1e-5  # of the bound's size: rounding is no fault


def check_space(space: object, path: str, findings: Findings) -> None:
    """Report a space that is none, or has no fixed size."""
    if isinstance(space, gymnasium.spaces.Dict):
        for key, inner in space.spaces.items():
            check_space(inner, f"{path}[{key!r}]", findings)
    elif isinstance(space, gymnasium.spaces.Tuple):
        for index, inner in enumerate(space.spaces):
            check_space(inner, f"{path}[{index}]", findings)
    elif not isinstance(space, FIXED_SIZE):
        name = type(space).__name__
        findings.add("space", f"expected a space of fixed size, got {name}", path)
    elif 0 in (space.shape or ()):
        findings.add("space", f"shape {space.shape} holds no value", path)


def check_observation(
    space: Space, value: Any, path: str, findings: Findings, step: int | None
) -> None:
    """Report where a value differs from what `space` declares."""
    if isinstance(space, gymnasium.spaces.Dict):
        if not isinstance(value, Mapping) or set(value) != set(space.spaces):
            got = sorted(map(str, value)) if isinstance(value, Mapping) else show(value)
            expected = sorted(map(str, space.spaces))
            evidence = f"expected a dict with the keys {expected}, got {got}"
            findings.add("observation-structure", evidence, path, step)
            return
        for key, inner in space.spaces.items():
            check_observation(inner, value[key], f"{path}[{key!r}]", findings, step)
    elif isinstance(space, gymnasium.spaces.Tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(space.spaces):
            evidence = f"expected a tuple of {len(space.spaces)}, got {show(value)}"
            findings.add("observation-structure", evidence, path, step)
            return
        for index, (inner, part) in enumerate(zip(space.spaces, value, strict=True)):
            check_observation(inner, part, f"{path}[{index}]", findings, step)
    elif isinstance(space, FIXED_SIZE):
        _check_leaf(space, value, path, findings, step)


def _check_leaf(space: Space, value: Any, path: str, findings: Findings, step: int | None) -> None:
    array = _number_array(value)
    if array is None:
        evidence = f"expected numbers, got {show(value)}"
        findings.add("observation-dtype", evidence, path, step, "error")
        return
    if array.shape != space.shape:
        evidence = f"expected {space.shape}, got {array.shape}"
        findings.add("observation-shape", evidence, path, step)
        return
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        check_range(space, array, path, findings, step)
        return
    declared = np.dtype(space.dtype)
    # A Discrete value may be an int of any kind; numpy makes one of its own width.
    if array.dtype != declared and not (array.dtype.kind in "biu" and not space.shape):
        with np.errstate(all="ignore"):
            cast = array.astype(declared)
        close = np.isclose(cast, array, rtol=1e-2, atol=0) if declared.kind == "f" else False
        changed = ~((cast == array) | close)
        evidence = f"expected {declared}, got {array.dtype}"
        if changed.any():
            index = tuple(int(i) for i in np.argwhere(changed)[0])
            evidence += f"; {array[index]} at {index} would become {cast[index]}"
            findings.add("observation-dtype", evidence, path, step, "error")
            return  # out of bounds too, most likely, for the same reason
        findings.add("observation-dtype", evidence, path, step)
    check_range(space, array, path, findings, step)


def check_range(
    space: Space, array: NDArray[Any], path: str, findings: Findings, step: int | None
) -> None:
    """Report numbers that are not finite or out of bounds; extra leading axes are welcome."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        findings.add("observation-nan", f"{array[index]} at {index}", path, step)
        return
    low, high = _bounds(space)
    outside = (array < low) | (array > high)
    if outside.any() and array.dtype.kind == "f":
        scale = SLACK * np.maximum(1, np.abs(np.where(array < low, low, high)))
        outside = (array < low - scale) | (array > high + scale)
    if outside.any():
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        bounds = (np.broadcast_to(bound, array.shape)[index] for bound in (low, high))
        evidence = "{} at {}, declared {} to {}".format(array[index], index, *bounds)
        # A number out of range of a choice has no embedding; a box only loses its scale.
        is_box = isinstance(space, gymnasium.spaces.Box)
        findings.add("observation-outside", evidence, path, step, None if is_box else "error")


def _bounds(space: Space) -> tuple[Any, Any]:
    if isinstance(space, gymnasium.spaces.Box):
        return space.low, space.high
    if isinstance(space, gymnasium.spaces.MultiBinary):
        return np.asarray(0), np.asarray(1)
    start = np.asarray(getattr(space, "start", 0))  # MultiDiscrete: since Gymnasium 1.0
    count = space.n if isinstance(space, gymnasium.spaces.Discrete) else getattr(space, "nvec", 0)
    return start, start + count - 1


def _number_array(value: Any) -> NDArray[Any] | None:
    try:
        array = np.asarray(value)
    except Exception:  # ragged lists, objects with an __array__ of their own
        return None
    return array if array.dtype.kind in "biuf" else None


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Walk the leaves of nested dicts and tuples, in order of keys."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (tuple, list)) and any(
        isinstance(part, (Mapping, tuple, list, np.ndarray)) for part in value
    ):
        for index, part in enumerate(value):
            yield from leaves(part, f"{path}[{index}]")
    else:
        yield path, value


def measurable(space: Space) -> NDArray[np.bool_]:
    """Tell for every number of an observation whether differences of it are distances.

    They are in float boxes. Choices, codes in grids and pixels are equal or not, nothing between.
    The order is that of `freeze`.
    """
    if isinstance(space, gymnasium.spaces.Dict):
        parts = [measurable(space.spaces[key]) for key in sorted(space.spaces, key=str)]
    elif isinstance(space, gymnasium.spaces.Tuple):
        parts = [measurable(inner) for inner in space.spaces]
    else:
        is_box = isinstance(space, gymnasium.spaces.Box) and np.dtype(space.dtype).kind == "f"
        parts = [np.full(int(np.prod(space.shape or ())), is_box)]
    return np.concatenate(parts)


def freeze(value: Any, path: str) -> Frozen:
    """Copy all leaves; those that are no numbers become their text."""
    frozen = {}
    for name, leaf in leaves(value, path):
        array = _number_array(leaf)
        frozen[name] = np.array(repr(leaf)) if array is None else array.copy()
    return frozen


def difference(expected: Frozen, got: Frozen) -> tuple[str, str] | None:
    """The first leaf that differs: its path, and both values in words; None if all are equal."""
    if expected.keys() != got.keys():
        odd = sorted(expected.keys() ^ got.keys())[0]
        return odd, f"present once, missing once: {odd}"
    for path, one in expected.items():
        two = got[path]
        # Bytes first: two NaN are equal here, and comparing bytes is fast.
        if one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes():
            continue
        if one.shape != two.shape:
            return path, f"shape {one.shape}, then {two.shape}"
        unequal = one != two
        if one.dtype.kind == "f" and two.dtype.kind == "f":
            unequal &= ~(np.isnan(one) & np.isnan(two))
        if np.any(unequal):
            index = tuple(int(i) for i in np.argwhere(unequal)[0])
            return path, f"{one[index]}, then {two[index]}" + (f" at {index}" if index else "")
    return None
