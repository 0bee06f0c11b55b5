"""The operations of the native trainer, compiled for tests and called with numpy arrays."""

import ctypes
import functools
import tempfile
from pathlib import Path

import numpy as np

from puffer_cuda.native import build

TESTS = Path(__file__).parents[1] / "cuda" / "native"
INCLUDE = f"-I{build.SOURCE.parent}"
SENTINEL = 123456.0


@functools.cache
def library(*flags):
    """The compiled `ops.cc`; `flags` as for `build.compile_library`."""
    folder = Path(tempfile.mkdtemp(prefix="native-ops-"))
    target = folder / "ops.so"
    build.compile_library(TESTS / "ops.cc", target, (INCLUDE, *flags))
    return ctypes.CDLL(str(target))


class Ops:
    """Calls `op_NAME` of a library; arrays go as pointers, ints as int64, floats as float."""

    def __init__(self, *flags):
        self._library = library(*flags)

    def __getattr__(self, name):
        function = getattr(self._library, f"op_{name}")
        function.restype = None

        def call(*arguments):
            function(*(_argument(value) for value in arguments))

        return call


class Double(float):
    """A float that C takes as a double."""


def _argument(value):
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, np.ndarray):
        assert value.flags["C_CONTIGUOUS"]
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, Double):
        return ctypes.c_double(value)
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_int64(value)


def guarded(array):
    """`array` on a buffer with sentinels behind it, and a function that checks them."""
    array = np.ascontiguousarray(array)
    buffer = np.full(array.nbytes + 64, 0xA5, np.uint8)
    view = buffer[: array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view, lambda: bool((buffer[array.nbytes :] == 0xA5).all())
