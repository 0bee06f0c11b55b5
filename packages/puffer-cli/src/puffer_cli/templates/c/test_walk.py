"""The rules on paper. Run `puffer build` first, then `pytest` in this folder."""

from pathlib import Path

import numpy as np
import pytest

from puffer_ocean import OceanEnv

FOLDER = str(Path(__file__).resolve().parent)
LEFT, RIGHT = 0, 1


@pytest.fixture
def env():
    """One environment of eleven cells whose goal is on the right."""
    env = OceanEnv(FOLDER, size=11)
    observations, _ = env.reset(seed=0)
    while observations[0, 1] < 0:
        observations, _ = env.reset()
    return env


def walk(env, action, steps):
    """The infos of the last of so many steps."""
    for _ in range(steps):
        infos = env.step(np.array([action]))[-1]
    return infos


def test_five_steps_to_the_right_reach_the_goal(env):
    """The agent begins in cell 5 of 0..10."""
    assert env.observations.tolist() == [[0, 1]]
    walk(env, RIGHT, 4)
    assert env.observations[0, 0] == np.float32(0.8)
    assert not env.rewards.any()
    (info,) = walk(env, RIGHT, 1)
    assert env.rewards.tolist() == [1]
    assert env.terminals.tolist() == [True]
    assert env.final_observations.tolist() == [[1, 1]]
    assert env.observations[0, 0] == 0  # the next episode has begun
    assert info["perf"].tolist() == [1]


def test_the_other_end_costs_one(env):
    """Nothing is won there."""
    (info,) = walk(env, LEFT, 5)
    assert env.rewards.tolist() == [-1]
    assert info["perf"].tolist() == [0]


def test_a_detour_costs_perf(env):
    """Seven steps where five are enough."""
    walk(env, LEFT, 1)
    (info,) = walk(env, RIGHT, 6)
    assert info["episode_length"].tolist() == [7]
    assert info["perf"].tolist() == [5 / 7]


def test_a_picture(env):
    """It needs no display."""
    picture = env.render()
    assert picture.dtype == np.uint8
    assert len(np.unique(picture)) > 2
