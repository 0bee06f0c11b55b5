"""Wrapped environments of several agents, and of nested spaces, under the vectorizers."""

import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
import toy_agents
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv, PettingZooPufferEnv
from puffer_vector import make

for module in (toy_agents, sys.modules[__name__]):  # workers cannot import test files by name
    cloudpickle.register_pickle_by_value(module)

LIVES = {
    "stays": [(0, 4)],
    "dies": [(0, 2)],
    "late": [(2, 4)],
    "reborn": [(0, 1), (2, 4)],
}


def creator(buf=None, seed=0):
    return PettingZooPufferEnv(toy_agents.Scripted(LIVES), buf=buf, seed=seed)


BACKENDS = [("Serial", {}), ("Multiprocessing", {"num_workers": 2})]


@pytest.mark.parametrize(("backend", "kwargs"), BACKENDS)
def test_rows_masks_final_observations_and_statistics(backend, kwargs):
    vecenv = make(creator, num_envs=2, backend=backend, **kwargs)
    try:
        vecenv.async_reset()
        observations, _, _, _, infos, _, masks = vecenv.recv()
        assert masks.tolist() == [True, True, False, True] * 2
        assert observations[:, 1].tolist() == [0] * 8
        assert infos == []
        episodes = []
        for step in range(1, 9):
            now = (step - 1) % 4 + 1  # the episode has four steps
            vecenv.send(np.zeros(8, int))
            observations, rewards, terminals, truncations, infos, _, masks = vecenv.recv()
            acted = [any(b < now <= e for b, e in lives) for lives in LIVES.values()]
            ends = [any(e == now for _, e in lives) for lives in LIVES.values()]
            assert masks.tolist() == acted * 2
            expected = [(10 * i + now) * acted[i] for i in range(4)] * 2
            assert rewards.tolist() == expected
            assert (terminals | truncations).tolist() == ends * 2
            assert terminals.any() == (now == 1)
            for row in np.flatnonzero(terminals | truncations):
                assert vecenv.final_observations[row].tolist() == [row % 4, now]
            if now == 4:  # the next episode began in the same step
                first = [[0, 0], [1, 0], [0, 0], [3, 0]]
                assert observations.tolist() == first * 2
            episodes += [info for info in infos if "episode_return" in info]
        counted = {
            key: np.concatenate([info[key] for info in episodes]).tolist()
            for key in ("agent_id", "episode_return", "episode_length")
        }
        got = sorted(zip(*counted.values(), strict=True))
        # Of each life: the sum of 10 * index + t over its steps.
        one = [
            (i + 4 * env, sum(10 * i + t for t in range(b + 1, e + 1)), e - b)
            for env in range(2)
            for i, lives in enumerate(LIVES.values())
            for b, e in lives
        ]
        assert got == sorted(one * 2)
    finally:
        vecenv.close()


class Nested(gymnasium.Env):
    """Observes what it is given; all in one reused dict."""

    observation_space = spaces.Dict(
        seen=spaces.Dict(go=spaces.Discrete(3, start=-1), fire=spaces.MultiBinary([2, 1])),
        clock=spaces.Box(0, np.inf, (), np.float64),
    )
    action_space = observation_space["seen"]

    def __init__(self):
        self.reused = {"clock": 0.0, "seen": {}}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.reused["clock"] = float(seed or 0)
        self.reused["seen"] = {"go": -1, "fire": np.zeros((2, 1), np.int8)}
        return self.reused, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.reused["clock"] += 1
        self.reused["seen"] = action
        return self.reused, 0.0, False, self.reused["clock"] % 4 == 0, {}


def nested(buf=None, seed=0):
    return GymnasiumPufferEnv(Nested(), buf=buf, seed=seed)


@pytest.mark.parametrize(("backend", "kwargs"), BACKENDS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_nested_spaces_arrive_whole(backend, kwargs, dtype):
    vecenv = make(nested, num_envs=2, backend=backend, **kwargs)
    try:
        rng = np.random.default_rng(0)
        vecenv.reset(seed=[1, 2])
        clock = np.array([1.0, 2.0])
        for _ in range(10):
            actions = rng.integers([2, 2, 3], size=(2, 3)).astype(dtype)
            observations, _, _, truncations, _ = vecenv.step(actions)
            clock += 1
            ends = clock % 4 == 0
            assert truncations.tolist() == ends.tolist()
            read = np.where(ends[:, None], vecenv.final_observations, observations)
            struct = read.view(vecenv.emulated["emulated_observation_dtype"])[:, 0]
            assert struct["clock"].tolist() == clock.tolist()
            assert struct["seen"]["go"].tolist() == (actions[:, 2] - 1).tolist()
            assert struct["seen"]["fire"][:, :, 0].tolist() == actions[:, :2].tolist()
            clock[ends] = 0
    finally:
        vecenv.close()


def test_actions_of_bools():
    class Switches(Nested):
        action_space = spaces.Box(0, 1, (2,), np.bool_)
        observation_space = action_space

        def reset(self, seed=None, options=None):
            return np.zeros(2, np.bool_), {}

        def step(self, action):
            assert self.action_space.contains(action)
            return action, 0.0, False, False, {}

    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(Switches(), buf=buf, seed=seed)

    vecenv = make(creator, num_envs=2, backend="Serial")
    vecenv.reset()
    for actions in (np.array([[True, False], [False, True]]), np.array([[1, 0], [0, 1]])):
        assert vecenv.step(actions)[0].tolist() == [[True, False], [False, True]]
    vecenv.close()


def test_strict_reaches_the_worker():
    def strict(buf=None, seed=0):
        env = toy_agents.Scripted(LIVES, spaces.Box(0, 2, (2,), np.float32))
        return PettingZooPufferEnv(env, buf=buf, seed=seed, strict=True)

    vecenv = make(strict, num_envs=2, backend="Multiprocessing", num_workers=2)
    try:
        with pytest.raises(RuntimeError, match="agent 'reborn': observation: expected values"):
            vecenv.reset()
    finally:
        vecenv.close()
