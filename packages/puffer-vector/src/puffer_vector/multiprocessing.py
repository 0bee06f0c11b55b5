"""Multiprocessing: environments in worker processes that write into shared memory."""

from __future__ import annotations

import ctypes
import itertools
import multiprocessing
import os
import pickle
import selectors
import time
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing.context import BaseContext
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import fill, rows
from puffer_core.errors import APIUsageError
from puffer_vector.base import AT_WORK, Batch, Reply, VecEnv
from puffer_vector.errors import WorkerError
from puffer_vector.plan import plan_workers
from puffer_vector.processes import (
    Worker,
    end_worker,
    how_it_ended,
    start_worker,
    stop_workers,
)
from puffer_vector.recipes import Facts, Recipe, make_recipes
from puffer_vector.restarts import Restarts, check_restarts
from puffer_vector.seeds import expand_seeds
from puffer_vector.worker import view_shared

STEP = pickle.dumps(("step", None))  # once, instead of in every step


class Multiprocessing(VecEnv):
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

    _restarts: Restarts

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
        recipes = make_recipes(env_creators, env_args, env_kwargs, num_envs)
        num_workers, batch_size = plan_workers(len(recipes), num_workers, batch_size, zero_copy)
        seeds = expand_seeds(seed, len(recipes))
        if timeout is not None and not timeout > 0:
            raise APIUsageError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
        limit = check_restarts(on_error, max_restarts)
        self._context = _context(context)
        self.driver_env = recipes[0].probe(seeds[0])
        facts = Facts.of(self.driver_env)
        super().__init__(facts, len(recipes), batch_size, seeds)
        self._timeout = timeout
        fields = facts.layout(self.num_envs)
        self._shared = {
            name: self._context.RawArray(
                ctypes.c_byte, int(np.prod(field.shape)) * field.dtype.itemsize
            )
            for name, field in fields.items()
        }
        self._buffers = view_shared(self._shared, fields)
        fill(self._buffers, fields)
        emulated = bool(facts.emulated)
        self._restarts = Restarts(limit, self._buffers, facts.num_agents, emulated)
        self.final_observations = self._buffers["final_observations"]

        each = self.num_envs // num_workers
        spans = [range(first, first + each) for first in range(0, self.num_envs, each)]
        self._payloads = [_pack(facts, recipes[envs.start : envs.stop]) for envs in spans]
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()
        self._finalizer = weakref.finalize(
            self, stop_workers, self._workers, self._selector, os.getpid()
        )
        self._steps = [-1] * num_workers  # since the reset, which is 0; -1 while building
        self._busy: set[int] = set()
        self._since = [0.0] * num_workers  # time of the last command
        self._called: set[int] = set()  # busy with a call, not with a step or reset
        self._lost: set[int] = set()  # died while idle; replaced with the next command
        self._replaced: set[int] = set()  # busy because they replace one that was
        self._answers: dict[int, Any] = {}  # of idle workers, in order of arrival
        try:
            for index, envs in enumerate(spans):
                worker = self._start(index, envs, seeds[envs.start : envs.stop])
                self._workers.append(worker)
                self._watch(index)
            while self._busy:
                self._wait()
        except BaseException:
            self._stop()
            raise
        self._answers.clear()

        per_batch = batch_size // each
        self._fixed = zero_copy or batch_size == self.num_envs
        self._workers_per_batch = per_batch
        starts = range(0, num_workers, per_batch) if self._fixed else ()
        self._blocks = [self._block(range(start, start + per_batch)) for start in starts]
        self._in_flight: deque[Batch] = deque()  # only of fixed blocks

    def _start(
        self, index: int, envs: range, seeds: list[int], again: bytes | None = None
    ) -> Worker:
        payload = self._payloads[index]
        arguments = (self._shared, payload, self.num_envs, envs.start, seeds, again)
        return start_worker(self._context, arguments, envs)

    def _watch(self, index: int) -> None:
        worker = self._workers[index]
        for source in (worker.pipe, worker.process.sentinel):
            self._selector.register(source, selectors.EVENT_READ, (index, worker))
        self._busy.add(index)
        self._since[index] = time.monotonic()

    def _unwatch(self, index: int) -> None:
        for source in (self._workers[index].pipe, self._workers[index].process.sentinel):
            self._selector.unregister(source)

    def _rows(self, workers: Sequence[int]) -> slice:
        agents = self._facts.num_agents
        first, last = self._workers[workers[0]].envs, self._workers[workers[-1]].envs
        return slice(first.start * agents, last.stop * agents)

    def _block(self, workers: range) -> Batch:
        span = self._rows(workers)
        data = rows(self._buffers, span.start, span.stop)
        return Batch(workers, span, self.agent_ids[span], data)

    def _launch_reset(self, seeds: list[int] | None) -> None:
        while self._busy:
            self._wait()
        self._answers.clear()
        for index, worker in enumerate(self._workers):
            own = None if seeds is None else seeds[worker.envs.start : worker.envs.stop]
            self._command(index, "reset", own)
            self._steps[index] = 0
        self._in_flight = deque(self._blocks)

    def _launch_step(self, batch: Batch, actions: NDArray[Any]) -> None:
        self._restarts.remember(batch.rows)
        if self._fixed:
            np.copyto(batch.data["actions"], actions, casting="unsafe")  # checked by send
            self._in_flight.append(batch)
        else:
            self._buffers["actions"][batch.rows] = actions
        for index in batch.workers:
            self._command(index, "step", None)
            self._steps[index] += 1

    def _collect(self) -> Reply | None:
        if not self._fixed:
            return self._collect_first()
        if not self._in_flight:
            return None
        batch = self._in_flight[0]
        missing = [index for index in batch.workers if index not in self._answers]
        while missing:
            self._wait()
            missing = [index for index in missing if index not in self._answers]
        self._in_flight.popleft()  # only now: Ctrl-C while waiting loses no batch
        infos = [info for index in batch.workers for info in self._answers.pop(index)]
        stepped = self._steps[batch.workers[0]] > 0
        return Reply(batch, infos, batch.data["masks"] if stepped else None)

    def _collect_first(self) -> Reply | None:
        if len(self._busy) + len(self._answers) < self._workers_per_batch:
            return None
        while len(self._answers) < self._workers_per_batch:
            self._wait()
        workers = list(itertools.islice(self._answers, self._workers_per_batch))
        infos = [info for index in workers for info in self._answers.pop(index)]
        spans = [self._rows([index]) for index in workers]
        ids = np.concatenate([self.agent_ids[span] for span in spans])
        data = {name: buffer[ids] for name, buffer in self._buffers.items() if name != "actions"}
        agents_per_worker = len(ids) // len(workers)
        stepped = np.repeat([self._steps[index] > 0 for index in workers], agents_per_worker)
        return Reply(Batch(workers, ids, ids, data), infos, data["masks"] & stepped)

    def _envs_of(self, worker: int) -> range:
        return self._workers[worker].envs

    def _launch_call(self, env_ids: Sequence[int], call: tuple[Any, ...]) -> list[Any]:
        function, arguments = call
        results: dict[int, Any] = {}
        errors: list[tuple[Exception, str]] = []
        shares = {
            index: [i for i, env in enumerate(env_ids) if env in worker.envs]
            for index, worker in enumerate(self._workers)
        }
        asked = [index for index, share in shares.items() if share]
        if working := [i for i in asked if i in self._busy or i in self._answers]:
            raise APIUsageError(AT_WORK.format(env_ids[shares[working[0]][0]]))
        self._called.update(asked)
        try:
            for index in asked:
                own = [env_ids[i] for i in shares[index]]
                own_call = (function, [arguments[i] for i in shares[index]])
                self._command(index, "call", cloudpickle.dumps((own, own_call)))
            while not all(index in self._answers for index in asked):
                self._wait()
        except BaseException:  # an answer that nobody waits for would be taken for a step's
            if not self._closed:
                self._closed = "a call to its environments was interrupted"
                self._stop()
            raise
        self._called.clear()
        for index in asked:
            values, error, text = pickle.loads(self._answers.pop(index))
            if error is not None:
                errors.append((error, f"In worker {index}:\n\n{text}"))
            else:
                results.update(zip(shares[index], values, strict=True))
        if errors:
            error, text = errors[0]
            raise error from WorkerError(text)
        return [results[i] for i in range(len(env_ids))]

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
        self._busy.add(index)
        self._since[index] = time.monotonic()

    def _wait(self) -> None:
        """Wait until a worker answers, and take its answer."""
        slowest, limit = -1, None
        if self._timeout is not None:
            slowest = min(self._busy, key=self._since.__getitem__)
            limit = self._since[slowest] + self._timeout
        wait = None if limit is None else max(0.0, limit - time.monotonic())
        ready = self._selector.select(wait)
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
        if status == "error":
            env, text = answer
            return self._fail(index, f"raised an error in environment {env}", f":\n\n{text}")
        self._busy.discard(index)
        self._answers[index] = answer
        if index in self._replaced:
            self._replaced.discard(index)
            if self._steps[index] > 0:
                self._restarts.cut(self._rows([index]))

    def _lose(self, index: int) -> None:
        """Take note that a worker died while idle; what it answered before stays valid."""
        if self._restarts.limit:
            self._unwatch(index)
            self._lost.add(index)
        else:
            self._fail(index, how_it_ended(self._workers[index]))

    def _fail(self, index: int, what: str, details: str = "") -> None:
        """Replace a worker that failed, or stop all and raise."""
        steps, envs = self._steps[index], self._workers[index].envs
        phase = f"step {steps}" if steps > 0 else "reset" if steps == 0 else "construction"
        if index in self._replaced:
            phase = f"the restart in {phase}"
        when = f"{'during' if index in self._busy else 'after'} {phase}"
        message = f"worker {index} (environments {envs[0]} to {envs[-1]}) {what} {when}"
        text = message[0].upper() + message[1:] + (details or ".")
        answering = steps >= 0 and index not in self._called
        if answering and self._restarts.grant(index, text):
            return self._replace(index)
        self._closed = message
        self._stop()
        if self._restarts.count:
            text += f"\n{self._restarts.count} workers were restarted before."
        raise WorkerError(text) from None

    def _replace(self, index: int) -> None:
        """Start a worker whose first answer takes the place of the one that is missing."""
        failed = self._workers[index]
        if index in self._lost:
            self._lost.discard(index)
        else:
            self._unwatch(index)
        end_worker(failed)
        span = self._rows([index])
        fields = self._facts.layout(span.stop - span.start)
        fill(rows(self._buffers, span.start, span.stop), fields)
        envs = failed.envs
        seeds = self._restarts.seeds(index, self._streams[envs.start : envs.stop])
        again = cloudpickle.dumps(self._calls_again(envs))
        self._workers[index] = self._start(index, envs, seeds, again)
        self._replaced.add(index)
        self._watch(index)

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


def _pack(facts: Facts, recipes: Sequence[Recipe]) -> bytes:
    try:
        return bytes(cloudpickle.dumps((facts, list(recipes))))
    except Exception as error:
        raise APIUsageError(
            f"The creators and their arguments must be picklable to reach the workers: {error}"
        ) from error
