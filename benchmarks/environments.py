"""Agent steps per second of the C environments alone: random actions, one core.

    uv run python benchmarks/environments.py [--num-envs N] [--seconds S]

`C` steps the library directly, `Python` goes through OceanEnv.step with its checks and infos, `vec`
through a vectorizer's send and recv, as the trainer does. Actions are drawn beforehand.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import puffer_ocean
from puffer_vector import make

BATCHES = 64


def rate(step: Callable[[Any], object], batches: list[Any], seconds: float, agents: int) -> float:
    """Agent steps per second of `step` over at least `seconds`, after one warm-up round."""
    for batch in batches:
        step(batch)
    rounds, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        for batch in batches:
            step(batch)
        rounds += 1
    return rounds * len(batches) * agents / elapsed


def measure(name: str, num_envs: int, seconds: float) -> list[float]:
    """C, Python and vectorizer rates of one environment."""
    vecenv = make(puffer_ocean.env_creator(name), env_kwargs={"num_envs": num_envs})
    env = vecenv.driver_env
    assert isinstance(env, puffer_ocean.OceanEnv)
    vecenv.reset(0)
    space = env.single_action_space
    rng = np.random.default_rng(0)
    batches = [rng.integers(0, space.n, num_envs).astype(np.int32) for _ in range(BATCHES)]
    function, vec = env._library.functions.step, env._vec

    def step_c(actions: Any) -> None:
        env.actions[:] = actions
        function(vec, 0, num_envs)

    steps = (step_c, env.step, vecenv.step)
    return [rate(step, batches, seconds, env.num_agents) for step in steps]


def main() -> None:
    """Measure every environment and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    table = Table(title=f"million agent steps per second, {options.num_envs:,} copies, one core")
    for column in ("environment", "C", "Python", "vec"):
        table.add_column(column, justify="left" if column == "environment" else "right")
    for name in puffer_ocean.names():
        rates = measure(name, options.num_envs, options.seconds)
        table.add_row(name, *(f"{value / 1e6:.1f}" for value in rates))
    Console().print(table)


if __name__ == "__main__":
    main()
