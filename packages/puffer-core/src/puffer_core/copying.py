"""Copy a value into a buffer, and refuse a copy that would change it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError


def copy_checked(target: NDArray[Any], value: object, path: str) -> None:
    """Write `value` into `target`.

    Rounding to a float of lower precision is allowed (a float64 observation in a float32 space);
    losing a fraction, overflowing, or turning NaN into an integer is not.

    Args:
        target: View of a buffer row, shape and dtype as declared.
        value: An array, or anything that numpy makes one of.
        path: Name of the value for messages, such as "observation".

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
            changed = _rounds_differently(source, cast)
    if changed.any():
        index = tuple(int(i) for i in np.argwhere(changed)[0])
        raise APIUsageError(
            f"{path}: expected {target.dtype}, got {source.dtype} with the value "
            f"{source[index]} at {index}, which {target.dtype} cannot hold."
        )
    target[...] = cast


def _rounds_differently(source: NDArray[Any], cast: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell where an integer or bool `cast` differs from `source`."""
    # The way back must agree too: int64(-1) and uint64(2**64 - 1) compare equal as bits, and a
    # comparison of int64 with uint64 happens in float64 in old numpy.
    back = cast.astype(source.dtype)
    wrong_sign = (source < 0) != (cast < 0) if cast.dtype.kind != "b" else source < 0
    return np.asarray((back != source) | wrong_sign)
