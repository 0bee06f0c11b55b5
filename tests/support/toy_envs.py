"""Small environments whose right behaviour is known on paper."""

import gymnasium
import numpy as np
from gymnasium import spaces

from puffer_core import PufferEnv


class Masked(PufferEnv):
    """Agents whose allowed choices change with every step; taking another one is an error.

    Two heads of 3 and 2 choices. In step t, agent i may choose 0 or (t + i) % 3 in the first head,
    and only (t + i) % 2 in the second one.
    """

    has_action_masks = True

    def __init__(self, buf=None, seed=0, num_agents=4, length=7):
        self.single_observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.single_action_space = spaces.MultiDiscrete([3, 2])
        self.num_agents, self.length = num_agents, length
        super().__init__(buf)

    def _show(self):
        self.observations[:] = np.random.default_rng(self.time).random((self.num_agents, 2))
        which = self.time + np.arange(self.num_agents)
        self.action_masks[:] = False
        self.action_masks[:, 0] = True
        self.action_masks[np.arange(self.num_agents), which % 3] = True
        self.action_masks[np.arange(self.num_agents), 3 + which % 2] = True

    def reset(self, seed=None):
        self.time = 0
        self._show()
        return self.observations, []

    def step(self, actions):
        rows = np.arange(self.num_agents)
        for head, first in ((0, 0), (1, 3)):
            assert self.action_masks[rows, first + actions[:, head]].all(), (self.time, actions)
        self.time += 1
        self.rewards[:] = actions[:, 0]
        self.truncations[:] = end = self.time % self.length == 0
        if end:
            self.final_observations[:] = self.observations
        self._show()
        return self.observations, self.rewards, self.terminals, self.truncations, []


class HigherNumber(PufferEnv):
    """Two agents choose a number from 0 to 3 in each of `length` steps; who has more wins.

    The sum of the differences is the reward of the first agent, its negative that of the second;
    both come in the last step. The best play is 3, whatever the other one does.
    """

    def __init__(self, buf=None, seed=0, length=3):
        self.single_observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.single_action_space = spaces.Discrete(4)
        self.num_agents, self.length = 2, length
        super().__init__(buf)

    def reset(self, seed=None):
        self.time, self.difference = 0, 0
        self.observations[:] = [[0, 0], [0, 1]]
        return self.observations, []

    def step(self, actions):
        self.time += 1
        self.difference += int(actions[0]) - int(actions[1])
        end = self.time == self.length
        score = np.sign(self.difference) if end else 0
        self.rewards[:] = [score, -score]
        self.terminals[:] = end
        self.observations[:, 0] = self.time / self.length
        if end:
            self.final_observations[:] = self.observations
            self.reset()
        return self.observations, self.rewards, self.terminals, self.truncations, []


class Recall(gymnasium.Env):
    """A sign is shown in the first step only; after `delay` steps the action must name it.

    Without memory nothing is better than guessing: a mean return of 0, with it 1.
    """

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, delay=4):
        self.delay = delay

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.sign = 0, int(self.np_random.integers(2))
        return np.array([2 * self.sign - 1, 0], np.float32), {}

    def step(self, action):
        self.time += 1
        end = self.time == self.delay
        reward = (1.0 if action == self.sign else -1.0) if end else 0.0
        return np.array([0, self.time / self.delay], np.float32), reward, end, False, {}


class Bandit(gymnasium.Env):
    """Four arms that pay 1 with probability 0.1, 0.3, 0.9, 0.5; an episode is one pull."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(4)
    chances = (0.1, 0.3, 0.9, 0.5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        reward = float(self.np_random.random() < self.chances[action])
        return np.ones(1, np.float32), reward, True, False, {}


class Mixture(gymnasium.Env):
    """Pays for playing action 1 a quarter of the time: the best policy is a stochastic one.

    The reward at the end of 64 steps is 1 - |share of action 1 - 1/4| x 4; the observation is
    always the same, so that a deterministic policy gets 0 (never) or less (always).
    """

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.time = self.ones = 0
        return np.ones(1, np.float32), {}

    def step(self, action):
        self.time += 1
        self.ones += int(action)
        end = self.time == 64
        reward = 1 - abs(self.ones / 64 - 0.25) * 4 if end else 0.0
        return np.ones(1, np.float32), reward, end, False, {}


class Combination(gymnasium.Env):
    """Three heads must name the three digits shown; each right one pays a third."""

    observation_space = spaces.MultiDiscrete([3, 4, 5])
    action_space = spaces.MultiDiscrete([3, 4, 5])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._show(), {}

    def _show(self):
        self.digits = self.np_random.integers([3, 4, 5])
        return self.digits

    def step(self, action):
        self.time += 1
        reward = float(np.mean(np.asarray(action) == self.digits))
        return self._show(), reward, self.time == 8, False, {}


class Dot(gymnasium.Env):
    """A bright pixel in one quarter of a noisy 12 x 12 image; the action names the quarter."""

    observation_space = spaces.Box(0, 255, (12, 12, 1), np.uint8)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._show(), {}

    def _show(self):
        image = self.np_random.integers(0, 64, (12, 12, 1)).astype(np.uint8)
        self.quarter = int(self.np_random.integers(4))
        y, x = self.np_random.integers(6, size=2)
        image[y + 6 * (self.quarter // 2), x + 6 * (self.quarter % 2)] = 255
        return image

    def step(self, action):
        self.time += 1
        reward = float(action == self.quarter)
        return self._show(), reward, self.time == 8, False, {}


class Constant(gymnasium.Env):
    """Reward 1 in every step; the episode ends after 5, as a terminal or as a time limit.

    With gamma = 0.9 the value of a state whose episode is cut by a time limit is 1 / 0.1 = 10; of
    the first state of one that terminates it is 1 + 0.9 + ... + 0.9^4 = 4.0951.
    """

    action_space = spaces.Discrete(2)

    def __init__(self, terminates, shows_time=False):
        self.terminates, self.shows_time = terminates, shows_time
        self.observation_space = spaces.Box(0, 1, (5,), np.float32)

    def _show(self):
        observation = np.zeros(5, np.float32)
        observation[self.time % 5 if self.shows_time else 0] = 1
        return observation

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self._show(), {}

    def step(self, action):
        self.time += 1
        end = self.time == 5
        return self._show(), 1.0, end and self.terminates, end and not self.terminates, {}
