"""Serial against environments stepped by hand and against Gymnasium's own vectorizer."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv
from puffer_vector import Serial, make


def test_native_environments_equal_stepping_by_hand(clock):
    vecenv = make(clock, num_envs=3, backend=Serial, seed=10)
    hand = [clock(seed=10 + i) for i in range(3)]
    vecenv.async_reset()
    for i, env in enumerate(hand):
        env.reset(10 + i)
    rng = np.random.default_rng(0)
    for t in range(20):
        obs, rewards, terminals, truncations, infos, ids, masks = vecenv.recv()
        for name, got in (
            ("observations", obs),
            ("rewards", rewards),
            ("terminals", terminals),
            ("truncations", truncations),
            ("masks", masks),
            ("final_observations", vecenv.final_observations),
        ):
            expected = np.concatenate([getattr(env, name) for env in hand])
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
        assert ids.tolist() == [0, 1, 2, 3, 4, 5]
        assert ids.dtype == np.int64
        if t == 0:
            assert infos == [{"reset": 10}, {"reset": 11}, {"reset": 12}]
        actions = rng.integers(5, size=6)
        vecenv.send(actions)
        for i, env in enumerate(hand):
            env.step(actions[2 * i : 2 * i + 2])
    vecenv.close()


def test_equals_gymnasium_in_same_step_mode(cartpole):
    if gymnasium.__version__ < "1.1":
        pytest.skip("Gymnasium has autoreset modes since 1.1")
    peer = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1")] * 3,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    vecenv = make(cartpole, num_envs=3, backend=Serial)
    expected, _ = peer.reset(seed=7)
    got, _ = vecenv.reset(seed=7)
    rng = np.random.default_rng(0)
    episodes = 0
    for _ in range(200):
        np.testing.assert_array_equal(got, expected)
        actions = rng.integers(2, size=3)
        expected, *flags, peer_infos = peer.step(actions)
        got, rewards, terminals, truncations, _ = vecenv.step(actions)
        for a, b in zip((rewards, terminals, truncations), flags, strict=True):
            np.testing.assert_array_equal(a, b)
        for row in np.flatnonzero(terminals | truncations):
            episodes += 1
            np.testing.assert_array_equal(
                vecenv.final_observations[row], peer_infos["final_obs"][row]
            )
    assert episodes > 10
    peer.close()
    vecenv.close()


class Told(gymnasium.Env):
    """Ends after two steps; its infos say what happened."""

    observation_space = spaces.Box(0, 9, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, quiet=False):
        self.quiet, self.episode, self.t = quiet, 0, 0

    def reset(self, *, seed=None, options=None):
        self.episode, self.t = self.episode + 1, 0
        return np.array([self.t]), {} if self.quiet else {"begin": self.episode}

    def step(self, action):
        self.t += 1
        info = {} if self.quiet else {"t": self.t}
        return np.array([self.t]), 1.0, False, self.t == 2, info


def told(buf=None, seed=0, quiet=False):
    return GymnasiumPufferEnv(Told(quiet), buf=buf, seed=seed)


def test_infos_of_step_and_of_the_reset_in_it():
    vecenv = make(told, num_envs=1, backend=Serial)
    assert vecenv.reset()[1] == [{"begin": 1}]
    assert vecenv.step([0])[4] == [{"t": 1}]
    obs, rewards, terminals, truncations, infos = vecenv.step([0])
    assert infos[:2] == [{"t": 2}, {"begin": 2}]
    assert infos[2]["episode_length"].tolist() == [2]
    assert (obs[0], rewards[0], terminals[0], truncations[0]) == (0, 1, False, True)
    assert vecenv.final_observations.tolist() == [[2]]
    assert vecenv.step([0])[0].tolist() == [[1]]


def test_empty_infos_are_left_out():
    vecenv = make(told, env_kwargs={"quiet": True}, num_envs=2, backend=Serial)
    assert vecenv.reset()[1] == []
    assert vecenv.step([0, 0])[4] == []


def test_reset_in_the_middle_begins_anew(clock):
    vecenv = make(clock, num_envs=2, backend=Serial)
    vecenv.reset()
    vecenv.step([1, 1, 1, 1])
    vecenv.step([1, 1, 1, 1])
    vecenv.send([1, 1, 1, 1])
    vecenv.async_reset()  # a batch is in flight
    obs, rewards, terminals, truncations, _, _, masks = vecenv.recv()
    assert obs[:, 1].tolist() == [0] * 4
    assert rewards.tolist() == [0] * 4
    assert not (terminals | truncations).any()
    assert masks.all()
    for _ in range(3):
        vecenv.reset()  # as often as you like
    vecenv.close()


@pytest.mark.parametrize(
    ("observation", "action"),
    [
        (spaces.Box(0, 1, (), np.float16), spaces.Box(-1, 1, (), np.float64)),
        (spaces.Box(0, 1, (2, 3), np.uint8), spaces.MultiDiscrete([2, 3])),
        (spaces.Box(0, 1, (2,), np.bool_), spaces.Box(-1, 1, (2, 2), np.float32)),
    ],
)
def test_other_spaces_arrive_whole(observation, action):
    seen = []

    class Echo(gymnasium.Env):
        observation_space, action_space = observation, action

        def reset(self, *, seed=None, options=None):
            return np.ones(observation.shape), {}

        def step(self, action):
            seen.append(action)
            return np.ones(observation.shape), 0.0, False, False, {}

    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(Echo(), buf=buf, seed=seed)

    vecenv = make(creator, num_envs=3, backend=Serial)
    obs, _ = vecenv.reset()
    assert obs.shape == (3, *observation.shape)
    assert obs.dtype == observation.dtype
    assert (obs == 1).all()
    actions = vecenv.action_space.sample()
    vecenv.step(actions)
    np.testing.assert_array_equal(seen, actions)
