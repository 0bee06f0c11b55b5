"""Agent steps per second of the C environments alone: random actions, one core.

    uv run python benchmarks/environments.py [NAME ...] [--num-agents N] [--seconds S] [--json]

`C` steps the library directly, `Python` goes through OceanEnv.step with its checks and infos, `vec`
through a vectorizer's send and recv, as the trainer does. Actions are drawn beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.progress import track
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


def random_actions(space: Any, num_agents: int, rng: np.random.Generator) -> Any:
    """One uniform action of each agent, as the environment's buffer holds them."""
    if isinstance(space, gymnasium.spaces.Box):
        shape = (num_agents, *space.shape)
        return rng.uniform(space.low, space.high, shape).astype(np.float32)
    if isinstance(space, gymnasium.spaces.Discrete):
        return rng.integers(0, space.n, num_agents).astype(np.int32)
    return rng.integers(0, space.nvec, (num_agents, *space.shape)).astype(np.int32)


def measure(name: str, num_agents: int, seconds: float) -> dict[str, float]:
    """C, Python and vectorizer rates of one environment."""
    library = puffer_ocean.load(name)
    each = library.describe(library.check_arguments({})).num_agents
    num_envs = max(1, num_agents // each)
    vecenv = make(puffer_ocean.env_creator(name), env_kwargs={"num_envs": num_envs})
    env = vecenv.driver_env
    assert isinstance(env, puffer_ocean.OceanEnv)
    vecenv.reset(0)
    space, rng = env.single_action_space, np.random.default_rng(0)
    batches = [random_actions(space, env.num_agents, rng) for _ in range(BATCHES)]
    function, vec = env._library.functions.step, env._vec

    def step_c(actions: Any) -> None:
        env.actions[:] = actions
        function(vec, 0, num_envs)

    steps = {"C": step_c, "Python": env.step, "vec": vecenv.step}
    return {k: rate(step, batches, seconds, env.num_agents) for k, step in steps.items()}


def main() -> None:
    """Measure every environment and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    parser.add_argument("--num-agents", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each of three rates")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rates = {
        name: measure(name, options.num_agents, options.seconds)
        for name in track(options.names or puffer_ocean.names(), console=Console(stderr=True))
    }
    if options.json:
        print(json.dumps(rates, indent=1))
        return
    table = Table(title=f"million agent steps per second, {options.num_agents:,} agents, one core")
    for column in ("environment", "C", "Python", "vec"):
        table.add_column(column, justify="left" if column == "environment" else "right")
    for name, measured in rates.items():
        table.add_row(name, *(f"{value / 1e6:.1f}" for value in measured.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
