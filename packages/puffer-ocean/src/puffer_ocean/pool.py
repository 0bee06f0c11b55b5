"""`Pool`: C threads that share the copies of an environment."""

from __future__ import annotations

import functools
import os
import weakref
from typing import Any

import cffi

from puffer_ocean import build
from puffer_ocean.library import contract, declarations

SPIN_NS = 50_000  # about what it costs to put a thread to sleep and wake it


class Pool:
    """Threads in C, the caller among them.

    They start with the first step and end with `close`, when the pool is collected, or with the
    interpreter. A fork starts its own.
    """

    def __init__(self, num_threads: int) -> None:
        """Prepare `num_threads` threads; more than there are CPUs never wait actively.

        Raises:
            ImportError: the pool is not built.
            MemoryError: no memory for it.
        """
        ffi, functions = _library()
        spin = SPIN_NS if num_threads <= _cpus() else 0
        self._pool = functions.puffer_pool_create(num_threads, spin)
        if self._pool == ffi.NULL:
            raise MemoryError(f"no memory for {num_threads} threads")
        self._step = functools.partial(functions.puffer_pool_step, self._pool)
        self._null = ffi.NULL
        # Before the interpreter unloads the code that the threads run.
        self.close = weakref.finalize(self, functions.puffer_pool_close, self._pool)

    def step(self, function: Any, vec: Any, num_envs: int) -> None:
        """Call `function(vec, first, last)` on ranges that cover `num_envs`, and wait for all.

        Raises:
            RuntimeError: no thread can be started.
        """
        error = self._step(function, vec, num_envs)
        if error != self._null:
            raise RuntimeError(contract().string(error).decode())


@functools.cache
def _library() -> tuple[Any, Any]:
    if not build.POOL.exists():
        raise ImportError(
            f"the pool of threads is not built ({build.POOL} is missing); build it "
            "with `python -m puffer_ocean`."
        )
    ffi = cffi.FFI()
    ffi.include(contract())
    ffi.cdef(declarations("puffer_pool.h"))
    return ffi, ffi.dlopen(str(build.POOL))


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
