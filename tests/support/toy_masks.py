"""An environment that forbids choices."""

import sys

import cloudpickle
import numpy as np
from gymnasium import spaces

from puffer_core import PufferEnv

# Workers cannot import test files by name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Gate(PufferEnv):
    """Two agents with heads of 2 and 3 choices; in step t agent k may not take choice (t + k) % 5.

    It observes t; forbids nothing at the reset.
    """

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1e6, (1,), np.float32)
        self.single_action_space = spaces.MultiDiscrete([2, 3])
        self.num_agents = 2
        self.has_action_masks = True
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 0
        return self.observations, []

    def step(self, actions):
        self.observations += 1
        for k in range(2):
            self.action_masks[k] = np.arange(5) != (int(self.observations[k, 0]) + k) % 5
        return self.observations, self.rewards, self.terminals, self.truncations, []
