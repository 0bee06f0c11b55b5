"""Environment steps per second of our vectorizers beside their peers, in one run.

    uv run --group bench python benchmarks/vector.py [--num-envs N] [--seconds S] [--only WORK]

Every row steps the same environments with the same random actions. "ratio" compares rows that step
in this process with SyncVectorEnv, rows with worker processes with AsyncVectorEnv, and Ocean
environments, which have no peer, with one thread. The CPU time, per 1,000 steps, is that of this
process and all its descendants. Peers that are not installed are left out. The delayed
environments burn their time as CPU time, so that a busy machine does not make them cheaper.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

from puffer_core import GymnasiumPufferEnv
from puffer_vector import Multiprocessing, Serial, make

WORKERS = 2
DELAYS = (0, 10, 100, 1000)  # microseconds
COPIES = 1024  # of an Ocean environment
TICK = os.sysconf("SC_CLK_TCK")


class Delayed(gymnasium.Env[Any, Any]):
    """Steps that take a normally distributed CPU time with 10 % spread; episodes of 200."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, microseconds: float) -> None:
        self.seconds = microseconds * 1e-6
        self.observation = np.zeros(4, np.float32)
        self.t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.t = 0
        return self.observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Burn the time."""
        self.t += 1
        if self.seconds:
            end = time.thread_time() + self.seconds * self.np_random.normal(1, 0.1)
            while time.thread_time() < end:
                pass
        return self.observation, 1.0, False, self.t == 200, {}


class Row(NamedTuple):
    """One vectorizer at one work: `start` builds it and returns (step, steps per call, close).

    The first row with the same `processes` is what a row is compared with.
    """

    name: str
    processes: bool
    start: Callable[[], tuple[Callable[[int], Any], int, Callable[[], Any]]]


def cpu_seconds() -> float:
    """CPU time so far of this process and all its descendants."""
    parents, times = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(") ", 1)[1].split()
        except OSError:  # it ended in between
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        times[pid] = (int(fields[11]) + int(fields[12])) / TICK
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(times[pid] for pid in ours)


def measure(row: Row, seconds: float) -> tuple[float, float]:
    """Environment steps per second, and CPU seconds per 1,000 steps."""
    step, steps_per_call, close = row.start()
    for i in range(20):
        step(i)
    calls, cpu, begin = 0, cpu_seconds(), time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        step(calls)
        calls += 1
    cpu = cpu_seconds() - cpu
    close()
    steps = calls * steps_per_call
    return steps / elapsed, cpu * 1000 / steps


def actions(batch: int, choices: int = 2, dtype: Any = np.int64) -> list[Any]:
    """64 batches of random actions."""
    rng = np.random.default_rng(0)
    return [rng.integers(choices, size=batch).astype(dtype) for _ in range(64)]


def ours(creator: Callable[[], Any], n: int, **kwargs: Any) -> Any:
    """One of our vectorizers of wrapped environments."""

    def wrapped(buf: Any = None, seed: int = 0) -> GymnasiumPufferEnv:
        return GymnasiumPufferEnv(creator(), buf=buf, seed=seed)

    return batches(make(wrapped, num_envs=n, **kwargs), 2)


def batches(vecenv: Any, choices: int) -> Any:
    """Step a vectorizer of ours with recv and send."""
    chosen = actions(vecenv.agents_per_batch, choices, np.int32)
    vecenv.async_reset()

    def step(i: int) -> None:
        vecenv.recv()
        vecenv.send(chosen[i % 64])

    return step, vecenv.agents_per_batch, vecenv.close


def gymnasium_vector(cls: Any, creator: Callable[[], Any], n: int, **kwargs: Any) -> Any:
    """One of Gymnasium's vector environments in SAME_STEP mode, the one that wastes no step."""
    if hasattr(gymnasium.vector, "AutoresetMode"):
        kwargs["autoreset_mode"] = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = cls([creator] * n, **kwargs)
    chosen = actions(n)
    envs.reset(seed=0)
    return lambda i: envs.step(chosen[i % 64]), n, envs.close


def sb3_vector(name: str, creator: Callable[[], Any], n: int, **kwargs: Any) -> Any:
    """One of Stable-Baselines3's vector environments."""
    from stable_baselines3.common import vec_env

    envs = getattr(vec_env, name)([creator] * n, **kwargs)
    chosen = actions(n)
    envs.reset()
    return lambda i: envs.step(chosen[i % 64]), n, envs.close


def envpool_cartpole(n: int) -> Any:
    """EnvPool's own CartPole in C++, on as many threads as we have workers."""
    import envpool

    envs = envpool.make_gymnasium("CartPole-v1", num_envs=n, num_threads=WORKERS)
    chosen = actions(n)
    envs.reset()
    return lambda i: envs.step(chosen[i % 64]), n, lambda: None


def python_rows(creator: Callable[[], Any], n: int, with_envpool: bool) -> Iterator[Row]:
    """All vectorizers of Python environments."""
    sync, asynchronous = gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv
    workers = partial(ours, creator, n, backend=Multiprocessing, num_workers=WORKERS)
    yield Row("gymnasium Sync", False, partial(gymnasium_vector, sync, creator, n))
    yield Row("ours Serial", False, partial(ours, creator, n, backend=Serial))
    if with_sb3 := find_spec("stable_baselines3") is not None:
        yield Row("SB3 Dummy", False, partial(sb3_vector, "DummyVecEnv", creator, n))
    if with_envpool and find_spec("envpool"):
        yield Row("EnvPool (C++)", False, partial(envpool_cartpole, n))
    fork = partial(gymnasium_vector, asynchronous, creator, n, context="fork")
    yield Row(f"gymnasium Async, {n} processes", True, fork)
    yield Row(f"ours, {WORKERS} workers", True, workers)
    yield Row("ours, 2 workers, 2 blocks", True, partial(workers, batch_size=n // 2))
    if with_sb3:
        subproc = partial(sb3_vector, "SubprocVecEnv", creator, n, start_method="fork")
        yield Row(f"SB3 Subproc, {n} processes", True, subproc)


def ocean_rows(name: str) -> Iterator[Row]:
    """C environments: one thread, two, and two worker processes."""
    import puffer_ocean

    creator = puffer_ocean.env_creator(name)

    def start(copies: int, threads: int, **kwargs: Any) -> Any:
        settings = {"num_envs": copies, "num_threads": threads}
        vecenv: Any = make(creator, env_kwargs=settings, **kwargs)
        return batches(vecenv, vecenv.single_action_space.n)

    processes = {"backend": Multiprocessing, "num_envs": WORKERS, "num_workers": WORKERS}
    workers = partial(start, COPIES // WORKERS, 1, **processes)
    yield Row("ours Native, 1 thread", False, partial(start, COPIES, 1))
    yield Row("ours Native, 2 threads", False, partial(start, COPIES, 2))
    yield Row(f"ours, {WORKERS} workers", False, workers)


def works(n: int) -> dict[str, Iterator[Row]]:
    """Every work with its rows; the first row of a kind is what the others are compared with."""
    cartpole = partial(gymnasium.make, "CartPole-v1")
    found = {f"CartPole-v1 x {n}": python_rows(cartpole, n, True)}
    for delay in DELAYS:
        found[f"{delay} us x {n}"] = python_rows(partial(Delayed, delay), n, False)
    if find_spec("puffer_ocean"):
        for name in ("breakout", "squared"):
            found[f"{name} x {COPIES:,}"] = ocean_rows(name)
    return found


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.6, help="per row")
    parser.add_argument("--only", default="", help="works whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # what peers say about each other's versions
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    table = Table(title=f"steps per second on {cores} cores, load before {load:.1f}")
    for column in ("work", "vectorizer", "steps/s", "ratio", "CPU s/1,000"):
        table.add_column(column, justify="left" if column in ("work", "vectorizer") else "right")
    console = Console(stderr=True)
    for work, rows in works(options.num_envs).items():
        if options.only not in work:
            continue
        base: dict[bool, float] = {}
        for row in rows:
            with console.status(f"{work}: {row.name}"):
                rate, cpu = measure(row, options.seconds)
            ratio = rate / base.setdefault(row.processes, rate)
            name = work if len(base) == 1 and ratio == 1 else ""  # shown once
            table.add_row(name, row.name, f"{rate:,.0f}", f"{ratio:.2f}", f"{cpu:.4f}")
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()
