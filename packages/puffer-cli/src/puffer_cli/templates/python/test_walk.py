"""The rules on paper. Run `pytest` in this folder."""

import numpy as np
import pytest
from walk import Walk

LEFT, RIGHT = 0, 1


@pytest.fixture
def env():
    """Eleven cells, the goal on the right."""
    env = Walk(size=11)
    env.reset(seed=0)
    env.goal = 1
    return env


def test_five_steps_to_the_right_reach_the_goal(env):
    """The agent begins in cell 5 of 0..10."""
    for _ in range(4):
        observation, reward, terminated, truncated, _ = env.step(RIGHT)
        assert (reward, terminated, truncated) == (0, False, False)
    assert observation.tolist() == [np.float32(0.8), 1]
    assert env.step(RIGHT)[1:4] == (1, True, False)


def test_the_other_end_costs_one(env):
    """Nothing is won there."""
    for _ in range(5):
        _, reward, terminated, _, _ = env.step(LEFT)
    assert (reward, terminated) == (-1, True)


def test_an_episode_is_cut():
    """After `max_steps` steps."""
    env = Walk(size=11, max_steps=3)
    env.reset(seed=0)
    flags = [env.step(action)[2:4] for action in (LEFT, RIGHT, LEFT)]
    assert flags == [(False, False), (False, False), (False, True)]
