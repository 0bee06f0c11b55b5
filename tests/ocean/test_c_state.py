"""The helper that lets tests read and write the State of an environment."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv, names


@pytest.mark.parametrize("name", names())
def test_the_struct_of_every_environment_is_understood(name):
    c_state(OceanEnv(name))


def test_it_is_the_true_state():
    env = OceanEnv("squared", 2, size=5)
    env.reset(seed=1)
    state = c_state(env, 1)
    assert (state.row, state.column, state.tick) == (2, 2, 0)
    state.target = 2 * 5 + 3  # right of the centre
    env.step(np.array([0, 4]))
    assert env.rewards.tolist() == [0, 1]
    wall = OceanEnv("breakout")
    wall.reset(seed=1)
    assert list(c_state(wall).bricks) == [True] * 108
