"""The operations of the native trainer, compiled for tests and called with numpy arrays.

PUFFER_TEST_DEVICE=cuda compiles them with nvcc and puts the arrays where host and GPU share them.
"""

import ctypes
import functools
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from puffer_cuda.native import build, nvcc

TESTS = Path(__file__).parents[1] / "cuda" / "native"
INCLUDE = f"-I{os.environ.get('PUFFER_TEST_CPP', build.SOURCE.parent)}"  # another copy: mutants
ON_GPU = os.environ.get("PUFFER_TEST_DEVICE") == "cuda"


@functools.cache
def library(*flags):
    """The compiled `ops.cc`; `flags` as for `build.compile_library`."""
    folder = Path(tempfile.mkdtemp(prefix="native-ops-"))
    target = folder / "ops.so"
    if ON_GPU:
        compile_for_gpu(TESTS / "ops.cc", target, "-arch=native", *nvcc.linked())
    else:
        build.compile_library(TESTS / "ops.cc", target, (INCLUDE, *flags))
    return ctypes.CDLL(str(target))


def compile_for_gpu(source, target, *flags):
    """Compile a source with nvcc and return what it says."""
    command = nvcc.command(source, target, INCLUDE, *flags)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


class Ops:
    """Calls `op_NAME` of a library; arrays go as pointers, ints as int64, floats as float."""

    def __init__(self, *flags):
        self._library = library(*flags)

    def __getattr__(self, name):
        function = getattr(self._library, f"op_{name}")
        function.restype = None

        def call(*arguments):
            function(*(_argument(value) for value in arguments))
            self._library.op_sync()

        return call

    def bytes(self, count):
        """`count` bytes that the operations can reach."""
        if not ON_GPU:
            return np.empty(count, np.uint8)
        pointer = ctypes.c_void_p()
        self._library.op_allocate(ctypes.c_uint64(count), ctypes.byref(pointer))
        return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(pointer.value))


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


def guarded(ops, array):
    """`array` on a buffer with sentinels behind it, and a function that checks them."""
    array = np.ascontiguousarray(array)
    buffer = ops.bytes(array.nbytes + 64)
    buffer[:] = 0xA5
    view = buffer[: array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view, lambda: bool((buffer[array.nbytes :] == 0xA5).all())
