"""Multiprocessing: environments in worker processes that write into shared memory."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import selectors
import time
import weakref
from collections.abc import Mapping
from multiprocessing.context import BaseContext

import numpy as np

from puffer_core.buffers import Buffers, Field
from puffer_core.errors import APIUsageError
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

STEP = pickle.dumps(("step", None))  # once, instead of in every step


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
        self._selector = selectors.DefaultSelector()
        self._waiter = Waiter(self._selector.select)
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
        worker = start_worker(self._context, arguments, envs)
        self._workers[index : index + 1] = [worker]  # the first time, it is the next one
        for source in (worker.pipe, worker.process.sentinel):
            self._selector.register(source, selectors.EVENT_READ, (index, worker))
        self._mark_busy(index)

    def _end(self, index: int) -> None:
        if index in self._lost:
            self._lost.discard(index)
        else:
            self._unwatch(index)
        end_worker(self._workers[index])

    def _unwatch(self, index: int) -> None:
        for source in (self._workers[index].pipe, self._workers[index].process.sentinel):
            self._selector.unregister(source)

    def _command(self, index: int, command: str, argument: object) -> None:
        try:
            if index in self._lost:
                raise BrokenPipeError
            if command == "step":
                self._workers[index].pipe.send_bytes(STEP)
            else:
                self._workers[index].pipe.send((command, argument))
        except OSError:
            self._fail(index, how_it_ended(self._workers[index]))
        self._mark_busy(index)

    def _wait(self) -> None:
        slowest, limit = -1, None
        if self._timeout is not None:
            slowest = min(self._busy, key=self._since.__getitem__)
            limit = self._since[slowest] + self._timeout
        wait = None if limit is None else max(0.0, limit - time.monotonic())
        ready = self._waiter.wait(wait)
        for key, _ in ready:
            index, worker = key.data
            if worker is not self._workers[index]:
                continue  # replaced a moment ago
            readable = key.fileobj is worker.pipe
            if index in self._busy:
                self._receive(index, readable)
            elif not readable:  # its sentinel
                self._lose(index)
        if limit is not None and slowest in self._busy and time.monotonic() > limit:
            self._workers[slowest].process.kill()
            self._fail(slowest, f"did not answer within {self._timeout} s")

    def _receive(self, index: int, readable: bool) -> None:
        worker = self._workers[index]
        try:
            # The sentinel may be ready while the last words still wait in the pipe.
            if not readable and not worker.pipe.poll():
                raise EOFError
            status, answer = worker.pipe.recv()
        except (EOFError, OSError):
            return self._fail(index, how_it_ended(worker))
        except Exception as error:
            return self._fail(index, f"sent infos that cannot be read ({error!r})")
        self._take(index, status, answer)

    def _lose(self, index: int) -> None:
        """Take note that a worker died while idle; what it answered before stays valid."""
        if self._restarts.limit:
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
        # Imported once instead of in every worker. A program with a fork server of its own is
        # not affected if that one runs already, or gives its own context.
        multiprocessing.set_forkserver_preload(["puffer_vector.worker"])
    if context not in methods:
        raise APIUsageError(f"context must be one of {', '.join(methods)}, got {context!r}.")
    return multiprocessing.get_context(context)
