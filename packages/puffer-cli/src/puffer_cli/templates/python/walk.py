"""Walk: find the way to the goal at one end of a line of cells.

Observation: the agent's place from -1 (left end) to 1 (right end), and the side of the goal, -1 or
1. Actions: left, right. Reward 1 at the goal, -1 at the other end; both end the episode.
"""

import gymnasium
import numpy as np

from puffer_core import GymnasiumPufferEnv


class Walk(gymnasium.Env):
    """An ordinary Gymnasium environment."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, size=11, max_steps=100):
        """A line of `size` cells; episodes of more than `max_steps` steps are truncated."""
        self.observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.render_mode = "rgb_array"
        self.size, self.max_steps = size, max_steps

    def reset(self, *, seed=None, options=None):
        """Begin in the middle."""
        super().reset(seed=seed)
        self.cell, self.tick = self.size // 2, 0
        self.goal = int(self.np_random.choice([-1, 1]))
        return self._observe(), {}

    def step(self, action):
        """One cell to the left (0) or right (1)."""
        self.cell += 1 if action else -1
        self.tick += 1
        terminated = self.cell in (0, self.size - 1)
        reward = 0.0
        if terminated:
            reward = 1.0 if (self.cell == 0) == (self.goal < 0) else -1.0
        return self._observe(), reward, terminated, self.tick >= self.max_steps, {}

    def render(self):
        """The line as a picture, 20 pixels a cell."""
        picture = np.full((20, 20 * self.size, 3), 40, np.uint8)
        end = 0 if self.goal < 0 else self.size - 1
        picture[:, 20 * end : 20 * end + 20] = (240, 170, 92)
        picture[4:16, 20 * self.cell + 4 : 20 * self.cell + 16] = (84, 190, 176)
        return picture

    def _observe(self):
        last = self.size - 1
        return np.array([(2 * self.cell - last) / last, self.goal], np.float32)


def make(buf=None, seed=0, size=11, max_steps=100):
    """What `puffer` calls; the other keywords are the environment's arguments, `--env.size 21`."""
    return GymnasiumPufferEnv(Walk(size, max_steps), buf=buf, seed=seed)
