"""Multiprocessing: environments in worker processes that write into shared memory."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import selectors
import time
import weakref
from collections.abc import Mapping
from multiprocessing.context import BaseContext

import numpy as np

from puffer_core.buffers import Buffers, Field
from puffer_core.errors import APIUsageError
from puffer_vector.infos import unpack
from puffer_vector.line import Board, Fence
from puffer_vector.parallel import Parallel
from puffer_vector.processes import (
    Worker,
    end_worker,
    how_it_ended,
    start_worker,
    stop_workers,
)
from puffer_vector.waiting import Waiter
from puffer_vector.worker import view_shared

WATCH = 0.1  # seconds between two looks for workers that died while others answer at once


class Multiprocessing(Parallel):
    """Environments in worker processes, `num_envs / num_workers` neighbours in each.

    Three ways to synchronise: all at once (`batch_size = num_envs`); contiguous blocks of workers
    in fixed order, as views of shared memory (`zero_copy=True`); first come, copied
    (`zero_copy=False`). An additional environment is built in this process first and closed
    again, to learn the size of the buffers; `driver_env` is that one. Needs Linux or macOS.

    A worker that raises, exits, is killed or is late (`timeout`) becomes one `WorkerError`; the
    others are stopped then. With `on_error="restart"` a new worker takes its place instead, with
    new environments that begin new episodes, on seeds derived from the old ones. Episodes that
    were broken are truncated in that step: reward 0, `final_observations` the last observation
    that was received. What `set_params` set is set again. `make` and calls such as `set_params`
    itself still raise. Workers end with their parent, however it ends.
    """

    def __init__(
        self,
        env_creators: object,
        env_args: object = None,
        env_kwargs: object = None,
        num_envs: int = 1,
        seed: object = 0,
        num_workers: int | None = None,
        batch_size: int | None = None,
        zero_copy: bool = True,
        timeout: float | None = None,
        context: str | BaseContext | None = None,
        on_error: str = "raise",
        max_restarts: int | None = None,
    ) -> None:
        """Start the workers and wait until all environments are built.

        Args:
            env_creators: As in `make`; creators travel by value, lambdas included.
            env_args: As in `make`.
            env_kwargs: As in `make`.
            num_envs: Number of environments.
            seed: As in `make`.
            num_workers: Number of processes, a divisor of `num_envs`. None: as many as fit the
                CPUs this process may use.
            batch_size: Environments per `recv`, a multiple of those of a worker; None: all.
                With `zero_copy` it must divide `num_envs`.
            zero_copy: Whether batches smaller than `num_envs` are fixed blocks (True) or the
                workers that answer first (False; the one case without reproducible order).
            timeout: Seconds to wait for a worker's answer; None: no limit.
            context: Start method or multiprocessing context. None: "forkserver" where it exists,
                else "spawn".
            on_error: "raise", or "restart" to replace workers that fail in a reset or step; each
                restart is a warning of the logger `puffer_vector`, with the traceback.
            max_restarts: After how many restarts in all the next failure raises; None: 10.

        Raises:
            APIUsageError: Arguments that do not fit each other.
            WorkerError: A worker failed to start.
        """
        self._context = _context(context)
        many = (env_creators, env_args, env_kwargs, num_envs, seed)
        plan = (num_workers, batch_size, zero_copy)
        super().__init__(*many, *plan, timeout, on_error, max_restarts)
        self._workers: list[Worker] = []
        self._lost: set[int] = set()  # died while idle; replaced with the next command
        self._asleep = self._context.RawArray(ctypes.c_int64, 1)
        self._selector = selectors.DefaultSelector()
        self._fence = Fence()
        self._waiter = Waiter(self._has_answer, self._sleep)
        self._next_watch = 0.0
        self._finalizer = weakref.finalize(
            self, stop_workers, self._workers, self._selector, os.getpid()
        )
        self._build()

    def _allocate(self, fields: Mapping[str, Field]) -> Buffers:
        self._shared = {
            name: self._context.RawArray(
                ctypes.c_byte, int(np.prod(field.shape)) * field.dtype.itemsize
            )
            for name, field in fields.items()
        }
        return view_shared(self._shared, fields)

    def _begin(self, index: int, seeds: list[int], again: bytes | None) -> None:
        envs, payload = self._spans[index], self._payloads[index]
        arguments = (self._shared, payload, self.num_envs, envs.start, seeds, again)
        board = Board(self._context, self._asleep)
        worker = start_worker(self._context, board, arguments, envs)
        self._workers[index : index + 1] = [worker]  # the first time, it is the next one
        for source in (worker.line.pipe, worker.process.sentinel):
            self._selector.register(source, selectors.EVENT_READ, (index, worker))
        self._mark_busy(index)

    def _end(self, index: int) -> None:
        if index in self._lost:
            self._lost.discard(index)
        else:
            self._unwatch(index)
        end_worker(self._workers[index])

    def _unwatch(self, index: int) -> None:
        for source in (self._workers[index].line.pipe, self._workers[index].process.sentinel):
            self._selector.unregister(source)

    def _command(self, index: int, command: str, argument: object) -> None:
        try:
            if index in self._lost:
                raise BrokenPipeError
            self._workers[index].line.command(None if command == "step" else (command, argument))
        except OSError:
            self._fail(index, how_it_ended(self._workers[index]))
        self._mark_busy(index)

    def _wait(self) -> None:
        slowest, limit = -1, None
        if self._timeout is not None:
            slowest = min(self._busy, key=self._since.__getitem__)
            limit = self._since[slowest] + self._timeout
        self._waiter.wait(None if limit is None else max(0.0, limit - time.monotonic()))
        now = time.monotonic()
        if now >= self._next_watch:
            self._watch(0)  # somebody may have died while others kept us awake
            self._next_watch = now + WATCH
        for index in [i for i in self._busy if self._workers[i].line.has_answer()]:
            self._receive(index)
        if limit is not None and slowest in self._busy and now > limit:
            self._workers[slowest].process.kill()
            self._fail(slowest, f"did not answer within {self._timeout} s")

    def _has_answer(self) -> bool:
        return any(self._workers[index].line.has_answer() for index in self._busy)

    def _sleep(self, timeout: float | None) -> None:
        self._asleep[0] = True
        self._fence()
        try:
            if not self._has_answer():
                self._watch(timeout)
        finally:
            self._asleep[0] = False

    def _watch(self, timeout: float | None) -> None:
        """Wait until a pipe or a sentinel has something to say, and find those that died."""
        for key, _ in self._selector.select(timeout):
            index, worker = key.data
            if worker is not self._workers[index]:
                continue  # replaced a moment ago
            if key.fileobj is worker.line.pipe:
                with contextlib.suppress(OSError, EOFError):  # its sentinel tells more
                    worker.line.clear()
            elif not (index in self._busy and worker.line.has_answer()):  # no last words
                self._lose(index)

    def _receive(self, index: int) -> None:
        worker = self._workers[index]
        try:
            status, answer = worker.line.answer() or ("infos", [])
            if status == "infos":
                answer = unpack(answer)
        except (EOFError, OSError):
            return self._fail(index, how_it_ended(worker))
        except Exception as error:
            return self._fail(index, f"sent infos that cannot be read ({error!r})")
        self._take(index, status, answer)

    def _lose(self, index: int) -> None:
        """Take note of a worker that died; what it answered before it was idle stays valid."""
        if self._restarts.limit and index not in self._busy:
            self._unwatch(index)
            self._lost.add(index)
        else:
            self._fail(index, how_it_ended(self._workers[index]))

    def _stop(self) -> None:
        self._finalizer()


def _context(context: str | BaseContext | None) -> BaseContext:
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, BaseContext):
        return context
    if context is None:
        # Not fork: it copies the locks of threads that the parent runs, torch's among them.
        context = "forkserver" if "forkserver" in methods else "spawn"
    if context == "forkserver":
        # Imported once instead of in every worker. A program with a fork server of its own is
        # not affected if that one runs already, or gives a context instead of a name.
        multiprocessing.set_forkserver_preload(["puffer_vector.worker"])
    if context not in methods:
        raise APIUsageError(f"context must be one of {', '.join(methods)}, got {context!r}.")
    return multiprocessing.get_context(context)
