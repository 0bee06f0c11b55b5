"""Copy a value into a buffer, and refuse a copy that would change it."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError

# (path, dtype returned, dtype declared) of conversions that users have been told about.
reported: set[tuple[str, np.dtype[Any], np.dtype[Any]]] = set()


def copy_checked(target: NDArray[Any], value: object, path: str, report: bool = False) -> None:
    """Write `value` into `target`.

    Rounding to a float of lower precision is allowed (a float64 observation in a float32 space);
    losing a fraction, overflowing, or turning NaN into an integer is not.

    Args:
        target: View of a buffer row, shape and dtype as declared.
        value: An array, or anything that numpy makes one of.
        path: Name of the value for messages, such as "observation".
        report: Log that the value has another dtype than the target, once in a process.

    Raises:
        APIUsageError: Another shape, no number, or a value that `target.dtype` cannot hold.
    """
    source = np.asarray(value)
    if source.shape != target.shape:
        raise APIUsageError(
            f"{path}: expected shape {target.shape}, got {source.shape}. The space that the "
            "environment declares must describe what it returns."
        )
    if source.dtype == target.dtype:
        target[...] = source
        return
    if source.dtype.kind not in "biuf":
        raise APIUsageError(f"{path}: expected {target.dtype}, got {source.dtype}.")
    with np.errstate(all="ignore"):  # what goes wrong is found by comparing
        cast = source.astype(target.dtype)
        if target.dtype.kind == "f":
            changed = np.isfinite(source) & ~np.isfinite(cast)  # overflow
        else:
            changed = _does_not_fit(source, cast)
    if changed.any():
        index = tuple(int(i) for i in np.argwhere(changed)[0])
        raise APIUsageError(
            f"{path}: expected {target.dtype}, got {source.dtype} with the value "
            f"{source[index]} at {index}, which {target.dtype} cannot hold."
        )
    target[...] = cast
    if report and isinstance(
        value, (np.ndarray, np.generic)
    ):  # lists and Python's numbers have no dtype
        _report(path, source.dtype, target.dtype)


def _report(path: str, got: np.dtype[Any], declared: np.dtype[Any]) -> None:
    if (path, got, declared) not in reported:
        reported.add((path, got, declared))
        logging.getLogger(__name__).warning(
            "%s: the environment returns %s where its space declares %s; the values are converted "
            "(reported once).",
            path,
            got,
            declared,
        )


def _does_not_fit(source: NDArray[Any], cast: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell where an integer or bool `cast` of `source` has another value."""
    is_bool = cast.dtype.kind == "b"
    if source.dtype.kind == "f":
        # Bounds before comparing: casting what is out of range gives any number, and float16
        # turns that number back into the infinity it came from. Both bounds are exact floats.
        low = 0.0 if is_bool else float(np.iinfo(cast.dtype).min)
        end = 2.0 if is_bool else float(np.iinfo(cast.dtype).max // 2 + 1) * 2
        wide = source.astype(np.float64)
        return np.asarray(~((wide >= low) & (wide < end) & (wide == np.floor(wide))))
    # The sign too: -1 and 2**64 - 1 are the same 64 bits, so the way back restores either.
    changed_sign = (source < 0) != (False if is_bool else cast < 0)
    return np.asarray((cast.astype(source.dtype) != source) | changed_sign)
