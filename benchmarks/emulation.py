"""Microseconds per step that a wrapper adds to a Gymnasium environment, ours beside others.

    uv run --group bench python benchmarks/emulation.py [--steps N] [--rounds N]

Every runner steps one environment with the same random actions and begins a new episode where one
ends. Rounds of all runners alternate; the best round of each counts. `overhead` is a runner's time
minus that of the plain environment, `ratio` that overhead divided by the wrapper's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

from puffer_core import GymnasiumPufferEnv
from puffer_vector import make

Step = Callable[[int], object]


class Nested(gymnasium.Env[Any, Any]):
    """Returns the same nested observation for ever, so that nothing but the wrapper takes time."""

    observation_space = spaces.Dict(
        camera=spaces.Box(0, 255, (16, 16), np.uint8),
        body=spaces.Dict(joints=spaces.Box(-1, 1, (8,)), gear=spaces.Discrete(5)),
        items=spaces.Tuple([spaces.MultiDiscrete([3, 4]), spaces.MultiBinary(4)]),
    )
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.observation = self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        return self.observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Change nothing."""
        return self.observation, 0.0, False, False, {}


def cartpole() -> gymnasium.Env[Any, Any]:
    """CartPole without Gymnasium's checking wrappers, which would hide the difference."""
    return gymnasium.make("CartPole-v1", disable_env_checker=True).unwrapped


def plain(creator: Callable[[], gymnasium.Env[Any, Any]]) -> Step:
    """The environment by itself."""
    env = creator()
    env.reset(seed=0)

    def step(action: int) -> None:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    return step


def wrapped(creator: Callable[[], gymnasium.Env[Any, Any]]) -> Step:
    """GymnasiumPufferEnv."""
    env = GymnasiumPufferEnv(creator())
    env.reset(seed=0)
    rows = np.arange(2, dtype=np.int32)[:, None]

    def step(action: int) -> None:
        env.step(rows[action])
        if env.done:
            env.reset()

    return step


def serial(creator: Callable[[], gymnasium.Env[Any, Any]]) -> Step:
    """puffer_vector.Serial of one environment, with statistics."""
    vecenv = make(
        lambda buf=None, seed=0: GymnasiumPufferEnv(creator(), buf=buf, seed=seed),
        backend="Serial",
        num_envs=1,
    )
    vecenv.reset(seed=0)
    rows = np.arange(2, dtype=np.int32)[:, None]
    return lambda action: vecenv.step(rows[action])


def sync_vector(creator: Callable[[], gymnasium.Env[Any, Any]]) -> Step:
    """gymnasium.vector.SyncVectorEnv of one environment."""
    vecenv = gymnasium.vector.SyncVectorEnv([creator])
    vecenv.reset(seed=0)
    rows = np.arange(2)[:, None]
    return lambda action: vecenv.step(rows[action])


def dummy_vec_env(creator: Callable[[], gymnasium.Env[Any, Any]]) -> Step:
    """stable_baselines3's DummyVecEnv of one environment."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    vecenv = DummyVecEnv([creator])
    vecenv.reset()
    rows = np.arange(2)[:, None]
    return lambda action: vecenv.step(rows[action])


RUNNERS = [plain, wrapped, serial, sync_vector, dummy_vec_env]


def main() -> None:
    """Measure and print one table for each environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    actions = np.random.default_rng(0).integers(2, size=options.steps).tolist()
    for title, creator in (("CartPole-v1", cartpole), ("nested Dict", Nested)):
        steps: dict[str, Step] = {}
        table = Table("runner", "us/step", "overhead", "ratio", title=title)
        for runner in RUNNERS:
            try:
                steps[runner.__name__] = runner(creator)
            except Exception as error:  # DummyVecEnv has no nested spaces
                table.add_row(runner.__name__, f"{type(error).__name__}: {error}"[:40], "", "")
        best = dict.fromkeys(steps, float("inf"))
        for _ in range(options.rounds):
            for name, step in steps.items():
                begin = time.perf_counter()
                for action in actions:
                    step(action)
                best[name] = min(best[name], (time.perf_counter() - begin) / options.steps * 1e6)
        ours = best["wrapped"] - best["plain"]
        for name, micros in best.items():
            over = micros - best["plain"]
            ratio = "" if name == "plain" else f"{over / ours:.1f}"
            table.add_row(name, f"{micros:.2f}", "" if name == "plain" else f"{over:.2f}", ratio)
        Console().print(table)


if __name__ == "__main__":
    main()
