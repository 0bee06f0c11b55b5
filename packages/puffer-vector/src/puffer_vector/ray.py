"""Ray: environments in actors, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import math
import os
import time
import weakref
from collections.abc import Mapping
from typing import Any

from puffer_core.buffers import Buffers, Field, allocate
from puffer_core.errors import APIUsageError
from puffer_vector import by_value
from puffer_vector.group import WRITTEN
from puffer_vector.parallel import Parallel

# Workers run what is installed on their node, and get by value what is not. Ray's own way, if a
# program runs under `uv run`, is to pack its whole folder and install it again for every worker.
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")

try:
    import ray
    from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError, RayTaskError

    from puffer_vector import ray_cluster
    from puffer_vector.ray_actor import Arrays, EnvActor
except ImportError as error:
    raise ImportError(
        "The Ray backend needs Ray: pip install 'puffer-vector[ray]', on every node."
    ) from error

GRACE = 3.0  # seconds that an actor gets to finish its step and close its environments


class Ray(Parallel):
    """Environments in Ray actors, `num_envs / num_workers` neighbours in each.

    The contract is that of `Multiprocessing`, with the same bytes. What actors answer is copied
    into buffers of this process: `zero_copy` only says whether batches are fixed blocks. A step
    costs one call per actor, a millisecond or two, so an actor should have much to do in it.

    A program that is connected to Ray already stays so. Else it is connected here and disconnected
    by the last `close`. An actor that raises, dies with its process or node, or is late
    (`timeout`) becomes one `WorkerError`, or is replaced with `on_error="restart"`; no step is
    ever sent twice. Modules that are not installed travel to the actors by value.
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
        on_error: str = "raise",
        max_restarts: int | None = None,
        address: str | None = None,
        num_cpus: float = 1,
        num_gpus: float = 0,
        resources: Mapping[str, float] | None = None,
        placement_strategy: Any = "PACK",
        start_timeout: float | None = None,
    ) -> None:
        """Start the actors and wait until all environments are built.

        Args:
            env_creators: As in `make`; creators travel by value, lambdas included.
            env_args: As in `make`.
            env_kwargs: As in `make`.
            num_envs: Number of environments.
            seed: As in `make`.
            num_workers: Number of actors, a divisor of `num_envs`. None: as many as fit what the
                cluster has free.
            batch_size: Environments per `recv`, a multiple of those of an actor; None: all.
                With `zero_copy` it must divide `num_envs`.
            zero_copy: Whether batches smaller than `num_envs` are fixed blocks (True) or the
                actors that answer first (False; the one case without reproducible order).
            timeout: Seconds to wait for an actor's answer; None: no limit.
            on_error: As in `Multiprocessing`.
            max_restarts: As in `Multiprocessing`.
            address: Of a cluster, as in `ray.init`; "auto" finds one that runs on this machine.
                None: the variable `RAY_ADDRESS`, else a new runtime on this machine.
            num_cpus: CPUs of an actor, may be a fraction.
            num_gpus: GPUs of an actor, may be a fraction.
            resources: Custom resources of an actor.
            placement_strategy: How actors are spread over nodes: "PACK" (as few as possible),
                "SPREAD" (as many as possible), "STRICT_PACK", "STRICT_SPREAD" (no other way), or
                an object of `ray.util.scheduling_strategies` for every actor.
            start_timeout: Seconds to wait for resources and for actors to start, for clusters
                that grow. None: 30, and what the cluster has not at all is an error at once.

        Raises:
            APIUsageError: Arguments that do not fit each other or the cluster.
            WorkerError: An actor failed to start.
        """
        self._each = _resources(num_cpus, num_gpus, resources)
        _check_placement(placement_strategy, self._each, start_timeout)
        self._actors: list[Any] = []
        lease = _Lease(self._actors, os.getpid())
        self._finalizer = weakref.finalize(self, lease.end)
        lease.connected = ray_cluster.connect(address)
        try:
            many = (env_creators, env_args, env_kwargs, num_envs, seed)
            plan = (num_workers, batch_size, zero_copy)
            super().__init__(*many, *plan, timeout, on_error, max_restarts)
            workers = len(self._spans)
            self._demand = ray_cluster.Demand(
                workers, self._each, placement_strategy, start_timeout
            )
            lease.group, self._placements = ray_cluster.reserve(self._demand)
        except BaseException:
            self._stop()
            raise
        self._places = [""] * workers  # node and process, of actors that started
        self._refs: dict[Any, int] = {}  # answers in flight, of which worker
        self._starts: dict[Any, int] = {}  # of actors that have not started
        self._build()

    def _free_cpus(self) -> int:
        return ray_cluster.free_workers(self._each)

    def _allocate(self, fields: Mapping[str, Field]) -> Buffers:
        return allocate(fields)

    def _dumps(self, value: object) -> bytes:
        return by_value.dumps(value)

    def _begin(self, index: int, seeds: list[int], again: bytes | None) -> None:
        custom = {k: v for k, v in self._each.items() if k not in ("CPU", "GPU")}
        actor = (
            ray.remote(EnvActor)
            .options(
                num_cpus=self._each.get("CPU", 0),
                num_gpus=self._each.get("GPU", 0),
                resources=custom,
                scheduling_strategy=self._placements[index],
            )
            .remote()
        )
        self._actors[index : index + 1] = [actor]  # the first time, it is the next one
        first_env = self._spans[index].start
        self._places[index] = ""
        self._starts[actor.where.remote()] = index
        self._refs[actor.build.remote(self._payloads[index], first_env, seeds, again)] = index
        self._mark_busy(index)

    def _end(self, index: int) -> None:
        for refs in (self._refs, self._starts):
            for ref in [ref for ref, owner in refs.items() if owner == index]:
                del refs[ref]
        ray.kill(self._actors[index])

    def _command(self, index: int, command: str, argument: object) -> None:
        if command == "step":
            argument = self._buffers["actions"][self._rows([index])]
        method = getattr(self._actors[index], command)
        self._refs[method.remote(argument)] = index
        self._mark_busy(index)

    def _wait(self) -> None:
        starting = set(self._starts.values())
        limits = {
            index: self._since[index]
            + (self._demand.patience if index in starting else self._timeout or math.inf)
            for index in self._busy
        }
        slowest = min(limits, key=limits.__getitem__)
        left = max(0.0, limits[slowest] - time.monotonic())
        ready, _ = ray.wait(
            [*self._starts, *self._refs], timeout=None if left == math.inf else left
        )
        for ref in ready:
            if ref in self._starts:
                self._started(self._starts.pop(ref), ref)
            else:
                self._receive(self._refs.pop(ref), ref)
        if not ready and slowest in starting:
            within = f"did not start within {self._demand.patience:g} s"
            hint = "If that is enough, Ray's logs say why the process did not start."
            self._fail(slowest, within, f". {self._demand.shortage()} {hint}")
        elif not ready:
            self._fail(slowest, f"did not answer within {self._timeout} s")

    def _started(self, index: int, ref: Any) -> None:
        with contextlib.suppress(RayError):  # the answer in flight will say it
            node, process = ray.get(ref)
            self._places[index] = f" on node {node} (process {process})"
            self._since[index] = time.monotonic()

    def _receive(self, index: int, ref: Any) -> None:
        try:
            status, answer, arrays = ray.get(ref)
        except RayError as error:
            return self._fail(index, _how_it_failed(error) + self._places[index], f":\n\n{error}")
        if status == "ok":
            self._store(index, arrays)
        self._take(index, status, answer)

    def _store(self, index: int, arrays: Arrays) -> None:
        """Copy what an actor sent, which is read-only and Ray's, into the worker's rows."""
        span = self._rows([index])
        for name, array in zip(WRITTEN, arrays, strict=False):
            self._buffers[name][span] = array
        ends = self._buffers["terminals"][span] | self._buffers["truncations"][span]
        self._buffers["final_observations"][span][ends] = arrays[-1]

    def _stop(self) -> None:
        self._finalizer()


class _Lease:
    """What a vectorizer holds of a cluster, to give back exactly once."""

    def __init__(self, actors: list[Any], owner: int) -> None:
        self.actors = actors
        self.owner = owner
        self.connected = False  # whether `ray_cluster.disconnect` is owed
        self.group: Any = None  # the placement group

    def end(self) -> None:
        """Let the actors close their environments, then end them."""
        if os.getpid() != self.owner or not ray.is_initialized():
            return
        closed = [actor.close.remote() for actor in self.actors]
        with contextlib.suppress(RayError):
            ray.wait(closed, num_returns=len(closed), timeout=GRACE) if closed else None
        for actor in self.actors:
            ray.kill(actor)
        self.actors.clear()
        if self.group is not None:
            ray_cluster.release(self.group)
        if self.connected:
            ray_cluster.disconnect()


def _resources(
    num_cpus: float, num_gpus: float, custom: Mapping[str, float] | None
) -> dict[str, float]:
    if {"CPU", "GPU"} & {*(custom or {})}:
        raise APIUsageError("resources: give CPUs and GPUs as num_cpus and num_gpus.")
    asked = {"CPU": num_cpus, "GPU": num_gpus, **(custom or {})}
    for name, amount in asked.items():
        if not isinstance(amount, (int, float)) or not 0 <= amount < math.inf:
            raise APIUsageError(f"An actor's {name} must be a number of at least 0, got {amount!r}")
    return {name: float(amount) for name, amount in asked.items() if amount}


def _check_placement(strategy: Any, each: Mapping[str, float], start_timeout: float | None) -> None:
    if isinstance(strategy, str) and strategy not in ray_cluster.STRATEGIES:
        raise APIUsageError(
            f"placement_strategy must be one of {', '.join(ray_cluster.STRATEGIES)}, or an object "
            f"of ray.util.scheduling_strategies, got {strategy!r}."
        )
    if isinstance(strategy, str) and not each:
        raise APIUsageError(
            f"placement_strategy={strategy!r} reserves resources for every actor: give some, such "
            "as num_cpus=0.1."
        )
    if start_timeout is not None and not start_timeout > 0:
        raise APIUsageError(
            f"start_timeout must be a number of seconds above 0, got {start_timeout!r}."
        )


def _how_it_failed(error: RayError) -> str:
    if isinstance(error, ActorDiedError):
        return "died"
    if isinstance(error, ActorUnavailableError):
        return "cannot be reached"
    if isinstance(error, RayTaskError):  # the environments' own errors are answers
        return "sent infos that cannot be read"
    return "failed"
