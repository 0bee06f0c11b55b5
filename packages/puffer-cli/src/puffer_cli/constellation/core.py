"""The core in Python: core.c by cffi, on numpy arrays. What each function does stands in core.h."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt

from puffer_cli.constellation import build

BINS, LEVELS = 64, 32
Floats = npt.NDArray[np.float32]
Array = np.ndarray[Any, Any]


@functools.cache
def load(path: Path = build.LIBRARY) -> SimpleNamespace:
    """The functions of core.h, without their prefix.

    They take C-contiguous arrays where C has pointers (None is a null pointer), numbers elsewhere.

    Raises:
        BuildError: the library was not built with the package, and cannot be built now.
    """
    if not path.exists():
        build.build_native(path)
    ffi = cffi.FFI()
    ffi.cdef((build.FOLDER / "core.h").read_text())
    library = ffi.dlopen(str(path))

    def argument(value: Any, kind: Any) -> Any:
        if value is None:
            return ffi.NULL
        if isinstance(value, np.ndarray):
            return ffi.from_buffer(kind, value, require_writable=value.flags.writeable)
        return value

    def bind(name: str) -> Any:
        function = getattr(library, name)
        kinds = [_array_type(ffi, kind) for kind in ffi.typeof(function).args]

        def call(*arguments: Any) -> Any:
            return function(*(argument(v, k) for v, k in zip(arguments, kinds, strict=True)))

        return call

    names = [name for name in dir(library) if name.startswith("core_")]
    return SimpleNamespace(**{name.removeprefix("core_"): bind(name) for name in names})


def _array_type(ffi: Any, kind: Any) -> Any:
    return f"{kind.item.cname}[]" if kind.kind == "pointer" else kind


def front(cost: Floats, score: Floats) -> npt.NDArray[np.uint32]:
    """Rows that no other row beats: low cost, high score; by cost. NaN is never among them."""
    native, n = load(), len(cost)
    order, scratch, found = (np.empty(n, np.uint32) for _ in range(3))
    cost, scores = as_floats(cost), np.empty(n, np.float32)
    known = native.order(cost, as_floats(score), n, order, scratch, scores)
    return found[: native.front(cost, order, scores, known, None, found)]


def extent(values: Floats) -> tuple[float, float, int]:
    """Least and greatest finite value, and how many there are; (0, 0, 0) if none."""
    out = np.empty(2)
    count = load().extent(as_floats(values), len(values), None, out)
    return float(out[0]), float(out[1]), count


def as_floats(values: Array) -> Floats:
    """The form that the core takes."""
    return np.ascontiguousarray(values, np.float32)
