"""GymnasiumVectorEnv against Gymnasium's own vector environment, step by step, byte for byte."""

import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import Multiprocessing, Serial, make

if not hasattr(gymnasium.vector, "AutoresetMode"):
    pytest.skip("Gymnasium has autoreset modes since 1.1", allow_module_level=True)

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from puffer_vector.adapters.gymnasium import GymnasiumVectorEnv

cloudpickle.register_pickle_by_value(sys.modules[__name__])

MODES = list(AutoresetMode)
BACKENDS = [{"backend": Serial}, {"backend": Multiprocessing, "num_workers": 2, "timeout": 60}]


class Talkative(gymnasium.Env):
    """Episodes of random length that end in every way; infos of every kind; options move it."""

    observation_space = spaces.Box(-100, 100, (2,), np.float64)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.length = 0, int(self.np_random.integers(1, 7))
        self.start = (options or {}).get("start", 0.0)
        return self.observe(), {"length": self.length, "nested": {"start": self.start}}

    def step(self, action):
        self.t += 1
        over = self.t >= self.length
        info = {"t": self.t} if self.t % 2 else {"vector": np.array([self.t, action]), "word": "a"}
        terminated = over and self.length % 3 != 1
        return self.observe(), 0.5 * action, terminated, over and self.length % 3 != 2, info

    def observe(self):
        return np.array([self.np_random.normal() + self.start, self.t])


def talkative(buf=None, seed=0):
    return GymnasiumPufferEnv(Talkative(), buf=buf, seed=seed)


def assert_same_infos(got, expected):
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        if isinstance(value, dict):
            assert_same_infos(got[key], value)
        elif value.dtype == object:
            assert got[key].dtype == object
            for a, b in zip(got[key], value, strict=True):
                np.testing.assert_array_equal(a, b)
        else:
            assert got[key].dtype == value.dtype
            np.testing.assert_array_equal(got[key], value)


def assert_same(got, expected):
    for a, b in zip(got[:-1], expected[:-1], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert_same_infos(got[-1], expected[-1])


@pytest.fixture(params=BACKENDS, ids=["serial", "workers"])
def backend(request):
    return request.param


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", ["CartPole-v1", "Talkative"])
def test_equals_gymnasium(mode, name, backend, cartpole):
    own, peer_creator = {
        "CartPole-v1": (cartpole, lambda: gymnasium.make("CartPole-v1")),
        "Talkative": (talkative, Talkative),
    }[name]
    envs = GymnasiumVectorEnv(make(own, num_envs=4, **backend), mode)
    peer = SyncVectorEnv([peer_creator] * 4, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] == mode
    assert envs.observation_space == peer.observation_space
    assert envs.action_space == peer.action_space
    assert envs.num_envs == 4
    assert_same(envs.reset(seed=3), peer.reset(seed=3))
    rng = np.random.default_rng(0)
    episodes = 0
    for step in range(500):
        actions = rng.integers(peer.single_action_space.n, size=4)
        got, expected = envs.step(actions), peer.step(actions)
        assert_same(got, expected)
        over = got[2] | got[3]
        episodes += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            seeds = [None, 100 + step, None, 200 + step]
            masks = {"reset_mask": over}
            assert_same(
                envs.reset(seed=seeds, options=dict(masks)), peer.reset(seed=seeds, options=masks)
            )
        if step == 250:  # in the middle of episodes
            assert_same(envs.reset(), peer.reset())
        if step == 300:
            chosen = {"reset_mask": np.array([True, False, False, True])}
            assert_same(envs.reset(options=dict(chosen)), peer.reset(options=chosen))
        if step == 350:
            options = {} if name == "CartPole-v1" else {"start": 5.0}
            assert_same(envs.reset(seed=9, options=options), peer.reset(seed=9, options=options))
    assert episodes > 40
    envs.close()
    envs.close()
    peer.close()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_episode_statistics_know_what_was_played(mode, backend):
    """Against sums kept by hand, which count no step that only resets."""
    envs = GymnasiumVectorEnv(make(talkative, num_envs=4, **backend), mode, episode_statistics=True)
    envs.reset(seed=0)
    returns, lengths, idle = np.zeros(4), np.zeros(4, int), np.zeros(4, bool)
    rng = np.random.default_rng(0)
    for step in range(200):
        actions = rng.integers(3, size=4)
        _, rewards, terminated, truncated, infos = envs.step(actions)
        lengths += ~idle
        returns += rewards
        over = terminated | truncated
        assert infos.get("_episode", np.zeros(4, bool)).tolist() == over.tolist()
        if over.any():
            np.testing.assert_array_equal(infos["episode"]["r"][over], returns[over])
            np.testing.assert_array_equal(infos["episode"]["l"][over], lengths[over])
        returns[over], lengths[over] = 0, 0
        idle = over & (mode == AutoresetMode.NEXT_STEP)
        if mode == AutoresetMode.DISABLED and over.any():
            over[step % 4] = True  # also one that goes on: its sums begin anew
            returns[over], lengths[over] = 0, 0
            envs.reset(options={"reset_mask": over})
    envs.close()


class Counted(PufferEnv):
    """A native environment of one agent: episodes of `seed` steps, which it resets itself."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1e6, (2,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 1
        super().__init__(buf)
        self.episode = 0

    def reset(self, seed=None):
        self.length = self.length if seed is None else seed
        self.begin()
        return self.observations, []

    def begin(self):
        self.episode += 1
        self.observations[:] = self.episode, 0

    def step(self, actions):
        self.observations[0, 1] += 1
        self.rewards[0] = 1
        self.terminals[0] = over = self.observations[0, 1] == self.length
        if over:
            self.final_observations[:] = self.observations
            self.begin()
        return self.observations, self.rewards, self.terminals, self.truncations, []


def play(envs, steps):
    for _ in range(steps):
        obs, rewards, terminated, _, _ = envs.step(np.zeros(2, int))
        yield obs[0].tolist(), rewards[0], terminated[0]


def test_native_environments_in_each_mode(backend):
    envs = [GymnasiumVectorEnv(make(Counted, num_envs=2, **backend), mode) for mode in MODES]
    played = {}
    for env in envs:
        assert env.reset(seed=2)[0].tolist() == [[1, 0], [1, 0]]
        played[env.autoreset_mode.name] = list(play(env, 2))
    assert played["SAME_STEP"] == [([1, 1], 1, False), ([2, 0], 1, True)]
    assert played["NEXT_STEP"] == [([1, 1], 1, False), ([1, 2], 1, True)]
    assert played["DISABLED"] == [([1, 1], 1, False), ([1, 2], 1, True)]
    by_mode = {env.autoreset_mode.name: env for env in envs}
    ahead = list(play(by_mode["NEXT_STEP"], 3))
    assert ahead == [([2, 0], 0, False), ([2, 1], 1, False), ([2, 2], 1, True)]
    disabled = by_mode["DISABLED"]
    with pytest.raises(APIUsageError, match=r"environments \[0\] are over"):
        disabled.step(np.zeros(2, int))
    obs, _ = disabled.reset(options={"reset_mask": np.array([True, False])})
    assert obs.tolist() == [[2, 0], [1, 2]]
    assert list(play(disabled, 1)) == [([2, 1], 1, False)]
    with pytest.raises(APIUsageError, match="native ones take none"):
        disabled.reset(options={"x": 1})
    for env in envs:
        env.close()


def test_wrappers_of_gymnasium_work_on_it(cartpole):
    envs = GymnasiumVectorEnv(make(cartpole, num_envs=2, backend=Serial), episode_statistics=True)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    inner = GymnasiumVectorEnv(make(cartpole, num_envs=2, backend=Serial), "NextStep")
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(inner)
    wrapped.reset(seed=1)
    envs.reset(seed=1)
    assert envs.step(np.zeros(2, int))[0] in envs.observation_space
    for _ in range(50):
        *_, infos = wrapped.step(np.zeros(2, int))
    assert "_episode" in infos or wrapped.return_queue
    assert envs.get_attr("spec")[0].id == "CartPole-v1"
    envs.set_attr("gravity", [1.0, 2.0])
    assert envs.get_attr("gravity") == (1.0, 2.0)


def test_observations_are_copies_unless_asked(cartpole):
    for copy in (True, False):
        envs = GymnasiumVectorEnv(make(cartpole, num_envs=2, backend=Serial), copy=copy)
        first, _ = envs.reset(seed=1)
        kept = first.copy()
        envs.step(np.zeros(2, int))
        assert (first == kept).all() == copy


def test_misuse(cartpole, clock):
    vecenv = make(clock, num_envs=2, backend=Serial)
    with pytest.raises(APIUsageError, match="NEXT_STEP needs environments of one agent"):
        GymnasiumVectorEnv(vecenv, AutoresetMode.NEXT_STEP)
    with pytest.raises(APIUsageError, match="expected what make"):
        GymnasiumVectorEnv(gymnasium.make("CartPole-v1"))
    with pytest.raises(ValueError, match="not a valid AutoresetMode"):
        GymnasiumVectorEnv(vecenv, "later")
    envs = GymnasiumVectorEnv(make(cartpole, num_envs=2, backend=Serial), "DISABLED")
    for options in (None, {"reset_mask": np.array([True, True])}):
        with pytest.raises(APIUsageError, match="first"):
            envs.step([0, 0]) if options is None else envs.reset(options=options)
    envs.reset()
    for mask, error in (([True, True], TypeError), (np.zeros(2, bool), ValueError)):
        with pytest.raises(error, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    blocks = make(cartpole, num_envs=2, backend=Multiprocessing, num_workers=2, batch_size=1)
    with pytest.raises(APIUsageError, match="batch_size=num_envs"):
        GymnasiumVectorEnv(blocks)
    blocks.close()


def test_independent_agents_are_rows(clock):
    """Two agents whose episodes end alone; the environment's info reaches both rows."""
    envs = GymnasiumVectorEnv(make(clock, num_envs=2, backend=Serial), episode_statistics=True)
    assert envs.num_envs == 4
    _, infos = envs.reset()
    assert infos["reset"].tolist() == [0, 0, 1, 1]
    for _ in range(3):
        _, _, terminated, truncated, infos = envs.step(np.ones(4, int))
    assert terminated.tolist() == [True, False, True, False]
    assert infos["_final_obs"].tolist() == [True, False, True, False]
    assert infos["final_obs"][0].tolist() == [0, 3]
    assert infos["episode"]["l"].tolist() == [3, 0, 3, 0]
    assert not truncated.any()


class Remembering(Counted):
    def get_state(self):
        return {"episode": np.array([self.episode])}


def test_what_is_held_back_is_not_saved():
    """The environment's own state does not know that its next episode has not been shown yet."""
    vecenv = make(Remembering, num_envs=2, backend=Serial)
    assert "0/episode" in vecenv.get_state()
    GymnasiumVectorEnv(vecenv, AutoresetMode.NEXT_STEP)
    with pytest.raises(APIUsageError, match="has no get_state"):
        vecenv.get_state()
