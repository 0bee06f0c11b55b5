"""Load the compiled trainer for this processor, and what it needs of OpenBLAS."""

from __future__ import annotations

import functools
import math
import re
import sys
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt

from puffer_cuda.native import build, nvcc
from puffer_cuda.native.build import BuildError

DTYPES = (np.uint8, np.int8, np.int16, np.int32, np.float32, np.int64, np.float64)


class NotBuiltError(ImportError):
    """The native trainer, or a library that it needs, is not there; the message says which."""


@functools.cache
def declarations() -> Any:
    """The C ABI, read from `api.h` itself."""
    text = (build.SOURCE.parent / "api.h").read_text()
    found = re.search(r"/\* cffi: begin \*/(.*)/\* cffi: end \*/", text, re.DOTALL)
    assert found is not None
    ffi = cffi.FFI()
    ffi.cdef(found[1])
    return ffi


@functools.cache
def load() -> Any:
    """The trainer's library for this processor.

    Raises:
        NotBuiltError: it is not built, or was built from other sources.
    """
    base = _open(build.library("base"))
    level = declarations().string(base.puffer_native_level()).decode()
    levels = list(build.levels())
    runnable = levels[levels.index(level) :]  # the highest first
    return _open(next(path for path in map(build.library, runnable) if path.exists()))


def gpu_architecture(device: int = 0) -> str:
    """The architecture of a GPU as nvcc names it, sm_90 say; empty without one."""
    import torch

    if device >= torch.cuda.device_count():
        return ""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


@functools.cache
def load_cuda(device: int) -> Any:
    """The trainer's library for a GPU, compiled at its first use.

    Args:
        device: the number of the GPU.

    Raises:
        NotBuiltError: it cannot be compiled here; the message says why.
    """
    try:
        path = nvcc.build_library(
            gpu_architecture(device), lambda line: print(line, file=sys.stderr)
        )
    except BuildError as error:
        raise NotBuiltError(str(error)) from error
    return _open(path)


@functools.cache
def load_environment(device: int, folder: Path, version: tuple[int, int]) -> Any:
    """The `puffer_native_environment` of an environment, compiled for a GPU at its first use.

    Args:
        device: the number of the GPU.
        folder: of the environment.
        version: of its library for the CPU: contract, and bytes of one State.

    Raises:
        NotBuiltError: it cannot be compiled here, or is of another version; the message says why.
    """
    try:
        path = nvcc.build_environment(
            folder, gpu_architecture(device), lambda line: print(line, file=sys.stderr)
        )
    except BuildError as error:
        raise NotBuiltError(f"{error}\nUse vec.device = cpu") from error
    return open_environment(path, version)


def open_environment(path: Path, version: tuple[int, int]) -> Any:
    """The table of a library that steps an environment on a GPU.

    Raises:
        NotBuiltError: it is of another version than the environment's library for the CPU.
    """
    ffi = declarations()
    handle = ffi.dlopen(str(path))
    _keep.append(handle)
    table = handle.puffer_native_on_gpu()
    expected = (ffi.sizeof(table[0]), handle.PUFFER_NATIVE_ABI, *version)
    got = (table.size, table.abi, table.contract, table.state_size)
    if got != expected:
        raise NotBuiltError(
            f"{path}: sizes and versions are {got}, expected {expected}; build the environment "
            "for the CPU again"
        )
    return table


def _open(path: Path) -> Any:
    if not path.exists():
        raise NotBuiltError(
            f"the native backend is not built ({path.name} is missing); with a C++ compiler, "
            "`python -m puffer_cuda.native.build` builds it"
        )
    handle = declarations().dlopen(str(path))
    if handle.puffer_native_abi() != handle.PUFFER_NATIVE_ABI:
        raise NotBuiltError(f"{path} has another ABI version; build it again")
    return handle


@functools.cache
def sgemm() -> Any:
    """The address of OpenBLAS's cblas_sgemm, set to one thread a call.

    Raises:
        NotBuiltError: there is no scipy-openblas32.
    """
    try:
        import scipy_openblas32
    except ImportError as error:
        raise NotBuiltError(f"the native backend needs scipy-openblas32: {error}") from error
    ffi = cffi.FFI()
    ffi.cdef("void scipy_cblas_sgemm(); void scipy_openblas_set_num_threads(int);")
    folder = Path(scipy_openblas32.get_lib_dir())
    blas = ffi.dlopen(str(folder / scipy_openblas32.get_library(fullname=True)))
    blas.scipy_openblas_set_num_threads(1)
    _keep.append(blas)
    return address(ffi.addressof(blas, "scipy_cblas_sgemm"))


_keep: list[Any] = []  # libraries whose addresses were handed out


def address(pointer: Any) -> int:
    """The number behind a cffi pointer, whichever FFI it is of."""
    return int(cffi.FFI().cast("uintptr_t", pointer))


def array(tensor: Any, owner: Any) -> npt.NDArray[Any]:
    """A view of a `puffer_native_tensor`, which keeps `owner` alive."""
    ffi = declarations()
    shape = tuple(tensor.shape[d] for d in range(tensor.dims))
    dtype: Any = np.dtype(DTYPES[tensor.dtype])
    pointer = ffi.gc(ffi.cast("char *", tensor.data), lambda _, owner=owner: None)
    buffer = ffi.buffer(pointer, math.prod(shape) * dtype.itemsize)
    return np.frombuffer(buffer, dtype).reshape(shape)
