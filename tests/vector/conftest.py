"""Environments for the tests, and a net under each: no test leaves a process behind."""

import multiprocessing
import os
import signal
import sys
import time

import cloudpickle
import gymnasium
import local_ray
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv, PufferEnv

# Workers cannot import test files by name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Clock(PufferEnv):
    """Two agents; agent k's episodes last 3 + k + index steps, and its reward is its action + k.

    Observation: (seed, steps of the episode). Agent 0 ends by termination, agent 1 by truncation.
    """

    metadata = {"name": "clock"}  # noqa: RUF012

    def __init__(self, buf=None, seed=0, length=3, fault=None, at=None):
        self.single_observation_space = spaces.Box(0, 1e6, (2,), np.float64)
        self.single_action_space = spaces.Discrete(5)
        self.num_agents = 2
        super().__init__(buf)
        self.seed, self.fault, self.at = seed, fault, at
        self.lengths = np.array([length, length + 1])
        self.log = []
        self.total = 0
        self.fail("init", seed)

    def fail(self, where, key):
        if self.at != (where, key):
            return
        if self.fault == "raise":
            raise ValueError(f"broken in {where}")
        if self.fault == "exit":
            os._exit(3)
        if self.fault == "sys.exit":
            sys.exit(3)
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hang":
            time.sleep(3600)

    def reset(self, seed=None):
        self.log.append(seed)
        if seed is not None:
            self.seed = seed
        self.fail("reset", self.seed)
        self.observations[:, 0] = self.seed
        self.observations[:, 1] = 0
        return self.observations, [{"reset": self.seed}]

    def step(self, actions):
        self.total += 1
        self.fail("step", (self.seed, self.total))
        self.rewards[:] = actions + self.agent_ids
        self.observations[:, 1] += 1
        ends = self.observations[:, 1] >= self.lengths
        self.terminals[:] = ends & [True, False]
        self.truncations[:] = ends & [False, True]
        self.final_observations[ends] = self.observations[ends]
        self.observations[ends, 1] = 0
        infos = [{"seed": self.seed}] if self.total % 2 else []
        return self.observations, self.rewards, self.terminals, self.truncations, infos


@pytest.fixture
def clock():
    return Clock


@pytest.fixture
def cartpole():
    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(
            env_creator=gymnasium.make, env_args=["CartPole-v1"], buf=buf, seed=seed
        )

    return creator


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    left = multiprocessing.active_children()
    for process in left:
        process.terminate()
        process.join()
    assert left == []


@pytest.fixture(scope="session")
def cluster():
    """A real Ray cluster of two nodes on this machine."""
    pytest.importorskip("ray", reason="Ray is not installed: uv sync --group ray")
    with local_ray.cluster() as nodes:
        yield nodes


@pytest.fixture
def no_actor_is_left():
    yield
    assert local_ray.wait_until(lambda: not local_ray.actors()), local_ray.actors()
