"""Parallel environments without PettingZoo: agents that live, die and are born by a script."""

import numpy as np
from gymnasium import spaces

BOX = spaces.Box(-1e6, 1e6, (2,), np.float32)


class Scripted:
    """Agents named in `lives`: agent -> list of (first step, last step) of its lives.

    An agent of the life (b, e) is listed after step b (0: after the reset), acts in the steps
    b+1 to e, and ends in step e: terminated if e is odd, else truncated. Its observation is
    (its index, the step), its reward in step t is 10 * index + t. The order of dicts changes
    with every step.
    """

    def __init__(self, lives, observation_space=BOX, action_space=None):
        self.lives = lives
        self.possible_agents = list(lives)
        self.agents = []
        self.metadata = {"name": "scripted"}
        self.spaces = observation_space, action_space or spaces.Discrete(100, start=5)
        self.received, self.resets, self.closed = [], [], False

    def observation_space(self, agent):
        return self.spaces[0]

    def action_space(self, agent):
        return self.spaces[1]

    def listed(self, step):
        return [a for a, lives in self.lives.items() if any(b <= step < e for b, e in lives)]

    def shuffled(self, values):
        agents = list(values)
        np.random.default_rng(self.now).shuffle(agents)
        return {agent: values[agent] for agent in agents}

    def observation(self, agent):
        return np.array([self.possible_agents.index(agent), self.now], np.float32)

    def reset(self, seed=None, options=None):
        self.resets.append((seed, options))
        self.now = 0
        self.agents = self.listed(0)
        return {a: self.observation(a) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        assert sorted(actions) == sorted(self.agents)
        self.received.append(actions)
        self.now += 1
        acted = self.agents
        self.agents = self.listed(self.now)
        there = set(acted) | set(self.agents)
        ended = {a: any(e == self.now for _, e in self.lives[a]) and a in acted for a in there}
        odd = self.now % 2 == 1
        index = self.possible_agents.index
        return (
            self.shuffled({a: self.observation(a) for a in there}),
            self.shuffled({a: 10 * index(a) + self.now for a in there}),
            self.shuffled({a: ended[a] and odd for a in there}),
            self.shuffled({a: ended[a] and not odd for a in there}),
            self.shuffled({a: {"last": self.now} if ended[a] else {} for a in there}),
        )

    def render(self):
        return "picture"

    def close(self):
        self.closed = True
