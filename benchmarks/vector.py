"""Environment steps per second of our vectorizers beside their peers, in one run.

    uv run --group bench python benchmarks/vector.py [--only WORK] [--seconds S] [--json]

Every row steps the same environments with the same random actions. "ratio" compares a row with the
fastest peer of its kind: in this process, with worker processes, or in C. Ocean environments, which
have no peer here, are compared with one core: the copies in one instance on one thread, or single
copies in Serial. The CPU time, per 1,000 steps, is that of this process and all its descendants.
Peers that are not installed are left out. The delayed environments burn their time as CPU time, so
that a busy machine does not make them cheaper. Rates are medians of three.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
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
from puffer_vector.make import BACKENDS

WORKERS = 2
DELAYS = (0, 10, 100, 1000)  # microseconds
COPIES = (1024, 4096)  # of an Ocean environment
HERE, PROCESSES, IN_C = "here", "processes", "in C"  # kinds of rows
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
    """One vectorizer at one work: `start` builds it and returns (step, steps per call, close)."""

    name: str
    kind: str
    peer: bool  # what rows of this kind are compared with
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
    rates, calls, cpu = [], 0, cpu_seconds()
    for _ in range(3):
        first, begin = calls, time.perf_counter()
        while (elapsed := time.perf_counter() - begin) < seconds / 3:
            step(calls)
            calls += 1
        rates.append((calls - first) * steps_per_call / elapsed)
    cpu = cpu_seconds() - cpu
    close()
    return statistics.median(rates), cpu * 1000 / (calls * steps_per_call)


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


def python_rows(creator: Callable[[], Any], n: int) -> Iterator[Row]:
    """All vectorizers of Python environments."""
    sync, asynchronous = gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv
    workers = partial(ours, creator, n, num_workers=WORKERS)
    processes = partial(workers, backend=Multiprocessing)
    fork = partial(gymnasium_vector, asynchronous, creator, n, context="fork")
    yield Row("gymnasium Sync", HERE, True, partial(gymnasium_vector, sync, creator, n))
    if with_sb3 := find_spec("stable_baselines3") is not None:
        yield Row("SB3 Dummy", HERE, True, partial(sb3_vector, "DummyVecEnv", creator, n))
    yield Row("ours Serial", HERE, False, partial(ours, creator, n, backend=Serial))
    yield Row(f"gymnasium Async, {n} processes", PROCESSES, True, fork)
    if with_sb3:
        subproc = partial(sb3_vector, "SubprocVecEnv", creator, n, start_method="fork")
        yield Row(f"SB3 Subproc, {n} processes", PROCESSES, True, subproc)
    yield Row(f"ours, {WORKERS} workers", PROCESSES, False, processes)
    blocks = partial(processes, batch_size=n // 2)
    yield Row(f"ours, {WORKERS} workers, 2 blocks", PROCESSES, False, blocks)
    first_come = partial(blocks, zero_copy=False)
    yield Row(f"ours, {WORKERS} workers, first come", PROCESSES, False, first_come)
    if find_spec("ray") and "Ray" in BACKENDS:
        yield Row(f"ours Ray, {WORKERS} actors", PROCESSES, False, partial(workers, backend="Ray"))


def cartpole_rows(n: int) -> Iterator[Row]:
    """CartPole in Python, and what the same task costs in C."""
    yield from python_rows(partial(gymnasium.make, "CartPole-v1"), n)
    if find_spec("envpool"):
        yield Row(f"EnvPool, {WORKERS} threads", IN_C, True, partial(envpool_cartpole, n))
    if find_spec("puffer_ocean"):
        for threads in (1, WORKERS):
            start = partial(ocean, "cartpole", n, threads)
            yield Row(f"ours Native, {threads} thread(s)", IN_C, False, start)


def ocean(name: str, copies: int, threads: int, **kwargs: Any) -> Any:
    """A vectorizer of C environments, `copies` in each instance."""
    import puffer_ocean

    settings = {"num_envs": copies, "num_threads": threads}
    vecenv: Any = make(puffer_ocean.env_creator(name), env_kwargs=settings, **kwargs)
    return batches(vecenv, vecenv.single_action_space.n)


def ocean_rows(name: str, copies: int) -> Iterator[Row]:
    """C environments on threads and in worker processes."""
    processes = {"backend": Multiprocessing, "num_workers": WORKERS}
    share = partial(ocean, name, copies // WORKERS, 1, num_envs=WORKERS, **processes)
    singles = partial(ocean, name, 1, 1, num_envs=copies)
    yield Row("ours Native, 1 thread", IN_C, True, partial(ocean, name, copies, 1))
    yield Row(f"ours Native, {WORKERS} threads", IN_C, False, partial(ocean, name, copies, WORKERS))
    yield Row(f"ours, {WORKERS} workers of {copies // WORKERS:,} copies", IN_C, False, share)
    blocks = partial(share, batch_size=1)
    yield Row(f"ours, {WORKERS} workers, a block each", IN_C, False, blocks)
    if copies == min(COPIES):
        yield Row("ours Serial, single copies", HERE, True, partial(singles, backend=Serial))
        workers = partial(singles, **processes)
        yield Row(f"ours, {WORKERS} workers, single copies", HERE, False, workers)


def works(n: int) -> dict[str, Iterator[Row]]:
    """Every work with its rows."""
    found = {f"CartPole-v1 x {n}": cartpole_rows(n)}
    for delay in DELAYS:
        found[f"{delay} us x {n}"] = python_rows(partial(Delayed, delay), n)
    if find_spec("puffer_ocean"):
        for name in ("breakout", "squared"):
            for copies in COPIES:
                found[f"{name} x {copies:,}"] = ocean_rows(name, copies)
    return found


def results(
    work: str, rows: Iterator[Row], seconds: float, console: Console
) -> list[dict[str, Any]]:
    """Measure all rows of a work."""
    found: list[dict[str, Any]] = []
    for row in rows:
        with console.status(f"{work}: {row.name}"):
            rate, cpu = measure(row, seconds)
        found.append(
            {
                "work": work,
                "vectorizer": row.name,
                "kind": row.kind,
                "peer": row.peer,
                "steps_per_second": rate,
                "cpu_seconds_per_1000_steps": cpu,
            }
        )
    for entry in found:
        peers = [e["steps_per_second"] for e in found if e["peer"] and e["kind"] == entry["kind"]]
        entry["ratio_to_best_peer"] = entry["steps_per_second"] / max(peers) if peers else None
    return found


def main() -> None:
    """Measure everything and print a table, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.6, help="per row")
    parser.add_argument("--only", default="", help="works whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # what peers say about each other's versions
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    table = Table(title=f"steps per second on {cores} cores, load before {load:.1f}")
    for column in ("work", "vectorizer", "kind", "steps/s", "ratio", "CPU s/1,000"):
        table.add_column(column, justify="right" if "/" in column or column == "ratio" else "left")
    console = Console(stderr=True)
    everything = []
    for work, rows in works(options.num_envs).items():
        if options.only not in work:
            continue
        found = results(work, rows, options.seconds, console)
        everything += found
        for i, entry in enumerate(found):
            ratio, cpu = entry["ratio_to_best_peer"], entry["cpu_seconds_per_1000_steps"]
            table.add_row(
                "" if i else work,
                entry["vectorizer"],
                entry["kind"],
                f"{entry['steps_per_second']:,.0f}",
                "" if ratio is None else f"{ratio:.2f}",
                f"{cpu:.4f}" if cpu >= 0.001 else f"{cpu:.6f}",
            )
        table.add_section()
    if options.json:
        print(json.dumps({"cpus": cores, "load_before": load, "rows": everything}))
    else:
        Console().print(table)


if __name__ == "__main__":
    main()
