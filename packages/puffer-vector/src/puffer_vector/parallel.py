"""Parallel: what all vectorizers have in common whose environments step in workers."""

from __future__ import annotations

import itertools
import pickle
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers, Field, fill, rows
from puffer_core.errors import APIUsageError
from puffer_vector.base import AT_WORK, Batch, Reply, VecEnv
from puffer_vector.errors import WorkerError
from puffer_vector.plan import plan_workers
from puffer_vector.recipes import Facts, make_recipes
from puffer_vector.restarts import Restarts, check_restarts
from puffer_vector.seeds import expand_seeds


class Parallel(VecEnv):
    """Workers with `num_envs / num_workers` neighbouring environments each, and what they answer.

    A backend starts, commands, watches and stops workers; it tells what it sees by `_take` and
    `_fail`. An answer is complete once the worker's rows of `_buffers` are written.
    """

    _restarts: Restarts

    def __init__(
        self,
        env_creators: object,
        env_args: object,
        env_kwargs: object,
        num_envs: int,
        seed: object,
        num_workers: int | None,
        batch_size: int | None,
        zero_copy: bool,
        timeout: float | None,
        on_error: str,
        max_restarts: int | None,
    ) -> None:
        """Check and plan everything; the arguments are those of `Multiprocessing`."""
        recipes = make_recipes(env_creators, env_args, env_kwargs, num_envs)
        cpus = self._free_cpus() if num_workers is None else None
        num_workers, batch_size = plan_workers(
            len(recipes), num_workers, batch_size, zero_copy, cpus
        )
        seeds = expand_seeds(seed, len(recipes))
        if timeout is not None and not timeout > 0:
            raise APIUsageError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
        limit = check_restarts(on_error, max_restarts)
        self.driver_env = recipes[0].probe(seeds[0])
        facts = Facts.of(self.driver_env)
        super().__init__(facts, len(recipes), batch_size, seeds)
        self._timeout = timeout
        fields = facts.layout(self.num_envs)
        self._buffers = self._allocate(fields)
        fill(self._buffers, fields)
        self.final_observations = self._buffers["final_observations"]
        self._restarts = Restarts(limit, self._buffers, facts.num_agents, bool(facts.emulated))

        each = self.num_envs // num_workers
        self._spans = [range(first, first + each) for first in range(0, self.num_envs, each)]
        self._payloads = [self._dumps((facts, recipes[e.start : e.stop])) for e in self._spans]
        self._steps = [-1] * num_workers  # since the reset, which is 0; -1 while building
        self._busy: set[int] = set()
        self._since = [0.0] * num_workers  # time of the last command
        self._called: set[int] = set()  # busy with a call, not with a step or reset
        self._replaced: set[int] = set()  # busy because they replace one that was
        self._answers: dict[int, Any] = {}  # of idle workers, in order of arrival
        self.fixed_batches = zero_copy or batch_size == self.num_envs
        self._workers_per_batch = batch_size // each
        starts = range(0, num_workers, self._workers_per_batch) if self.fixed_batches else ()
        self._blocks = [self._block(range(i, i + self._workers_per_batch)) for i in starts]
        self._in_flight: deque[Batch] = deque()  # only of fixed blocks

    def _build(self) -> None:
        """Start all workers and wait until their environments are built."""
        try:
            for index, envs in enumerate(self._spans):
                self._begin(index, self._seeds[envs.start : envs.stop], None)
            while self._busy:
                self._wait()
        except BaseException:
            self._stop()
            raise
        self._answers.clear()

    def _free_cpus(self) -> int | None:
        """How many workers find a CPU; None: as many as this process may use."""
        return None

    @abstractmethod
    def _allocate(self, fields: Mapping[str, Field]) -> Buffers:
        """Make the joint buffers."""

    def _dumps(self, value: object) -> bytes:
        """Pickle what goes to a worker.

        Raises:
            APIUsageError: It cannot be pickled.
        """
        try:
            return bytes(cloudpickle.dumps(value))
        except Exception as error:
            raise APIUsageError(
                f"The creators and their arguments must be picklable to reach the workers: {error}"
            ) from error

    @abstractmethod
    def _begin(self, index: int, seeds: list[int], again: bytes | None) -> None:
        """Start a worker, also in place of one that failed, and mark it as busy.

        Args:
            index: Which.
            seeds: Of its environments.
            again: None, or pickled calls to run before a reset, whose infos are the answer then.
        """

    @abstractmethod
    def _end(self, index: int) -> None:
        """Stop and forget a worker that failed."""

    @abstractmethod
    def _command(self, index: int, command: str, argument: object) -> None:
        """Give a worker something to do ("step", "reset" or "call") and mark it as busy."""

    @abstractmethod
    def _wait(self) -> None:
        """Wait until a worker answers or fails, and take note of it."""

    def _mark_busy(self, index: int) -> None:
        self._busy.add(index)
        self._since[index] = time.monotonic()

    def _rows(self, workers: Sequence[int]) -> slice:
        agents = self._facts.num_agents
        first, last = self._spans[workers[0]], self._spans[workers[-1]]
        return slice(first.start * agents, last.stop * agents)

    def _block(self, workers: range) -> Batch:
        span = self._rows(workers)
        data = rows(self._buffers, span.start, span.stop)
        return Batch(workers, span, self.agent_ids[span], data)

    def _settle(self) -> None:
        while self._busy:
            self._wait()
        self._answers.clear()
        self._in_flight.clear()

    def _present(self, shown: list[Buffers]) -> None:
        for env, values in enumerate(shown):
            span = slice(env * self._facts.num_agents, (env + 1) * self._facts.num_agents)
            for name, value in values.items():
                self._buffers[name][span] = value
        self._steps = [0] * len(self._spans)
        self._answers.update({index: [] for index in range(len(self._spans))})
        self._in_flight = deque(self._blocks)

    def _launch_reset(self, seeds: list[int] | None) -> None:
        self._settle()
        for index, envs in enumerate(self._spans):
            own = None if seeds is None else seeds[envs.start : envs.stop]
            self._command(index, "reset", own)
            self._steps[index] = 0
        self._in_flight = deque(self._blocks)

    def _launch_step(self, batch: Batch, actions: NDArray[Any]) -> None:
        self._restarts.remember(batch.rows)
        if self.fixed_batches:
            np.copyto(batch.data["actions"], actions, casting="unsafe")  # checked by send
            self._in_flight.append(batch)
        else:
            self._buffers["actions"][batch.rows] = actions
        for index in batch.workers:
            self._command(index, "step", None)
            self._steps[index] += 1

    def _collect(self) -> Reply | None:
        if not self.fixed_batches:
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
        return self._spans[worker]

    def _launch_call(self, env_ids: Sequence[int], call: tuple[Any, ...]) -> list[Any]:
        function, arguments = call
        results: dict[int, Any] = {}
        errors: list[tuple[Exception, str]] = []
        shares = {
            index: [i for i, env in enumerate(env_ids) if env in envs]
            for index, envs in enumerate(self._spans)
        }
        asked = [index for index, share in shares.items() if share]
        if working := [i for i in asked if i in self._busy or i in self._answers]:
            raise APIUsageError(AT_WORK.format(env_ids[shares[working[0]][0]]))
        payloads = {}
        for index in asked:
            own_call = (function, [arguments[i] for i in shares[index]])
            payloads[index] = self._dumps(([env_ids[i] for i in shares[index]], own_call))
        self._called.update(asked)
        try:
            for index, payload in payloads.items():
                self._command(index, "call", payload)
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

    def _take(self, index: int, status: str, answer: Any) -> None:
        """Take what a worker answered."""
        if status == "error":
            env, text = answer
            return self._fail(index, f"raised an error in environment {env}", f":\n\n{text}")
        self._busy.discard(index)
        self._answers[index] = answer
        if index in self._replaced:
            self._replaced.discard(index)
            if self._steps[index] > 0:
                self._restarts.cut(self._rows([index]))

    def _fail(self, index: int, what: str, details: str = "") -> None:
        """Replace a worker that failed, or stop all and raise."""
        steps, envs = self._steps[index], self._spans[index]
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
        self._end(index)
        span, envs = self._rows([index]), self._spans[index]
        fill(rows(self._buffers, span.start, span.stop), self._facts.layout(len(envs)))
        seeds = self._restarts.seeds(index, self._streams[envs.start : envs.stop])
        self._replaced.add(index)
        self._begin(index, seeds, self._dumps(self._calls_again(envs)))
