"""Flags, rewards, lengths and last observations of a counting environment, by arithmetic."""

import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv, PufferEnv
from puffer_vector import make

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it by name

ENVS, STEPS = 4, 60
KINDS = [(True, False), (False, True), (True, True)]  # terminated, truncated, both; in turn


def length_of(seed):
    return 1 + seed % 5  # episodes of one step among them


class Counting(gymnasium.Env):
    """Observes (episode, step in it); the reward of the k-th step is k."""

    observation_space = spaces.Box(0, 1e6, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, seed):
        self.length, self.episode = length_of(seed), -1

    def reset(self, seed=None, options=None):
        self.episode, self.now = self.episode + 1, 0
        return np.array([self.episode, 0], np.float32), {}

    def step(self, action):
        self.now += 1
        over = self.now == self.length
        terminated, truncated = (over and flag for flag in KINDS[self.episode % 3])
        return np.array([self.episode, self.now], np.float32), self.now, terminated, truncated, {}


class NativeCounting(PufferEnv):
    """The same, as a native environment of one agent."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = Counting.observation_space
        self.single_action_space = Counting.action_space
        self.num_agents = 1
        super().__init__(buf)
        self.env = Counting(seed)

    def reset(self, seed=None):
        self.observations[0] = self.env.reset()[0]
        return self.observations, []

    def step(self, actions):
        observation, reward, terminated, truncated, _ = self.env.step(actions[0])
        self.rewards[0], self.terminals[0], self.truncations[0] = reward, terminated, truncated
        if terminated or truncated:
            self.final_observations[0] = observation
            observation = self.env.reset()[0]
        self.observations[0] = observation
        return self.observations, self.rewards, self.terminals, self.truncations, []


def wrapped(buf=None, seed=0):
    return GymnasiumPufferEnv(Counting(seed), buf=buf, seed=seed)


# Another backend is one more row.
BACKENDS = {
    "Serial": ("Serial", {}),
    "workers": ("Multiprocessing", {"num_workers": 2}),
    "blocks": ("Multiprocessing", {"num_workers": 4, "batch_size": 2}),
    "first come": ("Multiprocessing", {"num_workers": 4, "batch_size": 2, "zero_copy": False}),
}


@pytest.mark.parametrize("creator", [wrapped, NativeCounting])
@pytest.mark.parametrize("how", BACKENDS)
@pytest.mark.parametrize("seed", [0, 3])
def test_every_step_of_every_environment(creator, how, seed):
    backend, kwargs = BACKENDS[how]
    vecenv = make(creator, num_envs=ENVS, backend=backend, seed=seed, **kwargs)
    vecenv.async_reset()
    taken = np.full(ENVS, -1)  # steps of each environment; the first answer is the reset's
    for _ in range(STEPS * vecenv.num_agents // vecenv.agents_per_batch):
        observations, rewards, terminals, truncations, infos, ids, masks = vecenv.recv()
        taken[ids] += 1
        told = {}
        for row, env in enumerate(ids.tolist()):
            length, t = length_of(seed + env), int(taken[env])
            assert masks[row]
            if t == 0:
                assert observations[row].tolist() == [0, 0]
                assert (rewards[row], terminals[row], truncations[row]) == (0, False, False)
                continue
            episode, k = (t - 1) // length, (t - 1) % length + 1
            over = k == length
            assert rewards[row] == k
            ends = tuple(over and flag for flag in KINDS[episode % 3])
            assert (terminals[row], truncations[row]) == ends
            assert observations[row].tolist() == ([episode + 1, 0] if over else [episode, k])
            if over:
                assert vecenv.final_observations[row].tolist() == [episode, length]
                told[env] = (length * (length + 1) / 2, length)
        columns = {"agent_id": [], "episode_return": [], "episode_length": []}
        for info in infos:
            for name, column in info.items():
                columns[name] += column.tolist()
        agents, *rest = columns.values()
        assert len(agents) == len(set(agents))
        assert dict(zip(agents, zip(*rest, strict=True), strict=True)) == told
        vecenv.send(np.zeros(len(ids), int))
    assert taken.sum() >= ENVS * (STEPS - 1)
    vecenv.close()
