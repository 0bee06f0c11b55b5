"""SB3VecEnv against DummyVecEnv with Monitor, and PPO of Stable-Baselines3 on top of it."""

import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_vector import Multiprocessing, Serial, make

sb3 = pytest.importorskip(
    "stable_baselines3", reason="Stable-Baselines3 is not installed: uv sync --group peers"
)

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from puffer_vector.adapters.sb3 import SB3VecEnv

cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Short(gymnasium.Env):
    """Episodes of random length with every kind of end, infos and options."""

    observation_space = gymnasium.spaces.Box(-100, 100, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)
    weight = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.length = 0, int(self.np_random.integers(1, 7))
        return self.observe(), {"length": self.length, **(options or {})}

    def step(self, action):
        self.t += 1
        over = self.t >= self.length
        terminated = over and self.length % 3 != 1
        return (
            self.observe(),
            0.5 * action,
            terminated,
            over and self.length % 3 != 2,
            {"t": self.t},
        )

    def observe(self):
        return np.array([self.np_random.normal(), self.t], np.float32)

    def weigh(self):
        return self.weight

    def double(self, x, add=0):
        return 2 * x + add


class Wrapper(gymnasium.Wrapper):
    pass


def short(buf=None, seed=0):
    return GymnasiumPufferEnv(Wrapper(Wrapper(Short())), buf=buf, seed=seed)


@pytest.fixture(params=[Serial, Multiprocessing])
def envs(request):
    extra = {"num_workers": 2, "timeout": 60} if request.param is Multiprocessing else {}
    envs = SB3VecEnv(make(short, num_envs=4, backend=request.param, **extra))
    yield envs
    envs.close()


def test_equals_dummy_vec_env(envs):
    peer = DummyVecEnv([lambda: Monitor(Short())] * 4)
    assert isinstance(envs, VecEnv)
    assert (envs.num_envs, envs.observation_space) == (4, peer.observation_space)
    assert envs.action_space == peer.action_space
    assert envs.seed(7) == peer.seed(7)
    rng = np.random.default_rng(0)
    for step in range(300):
        if step in (0, 100, 200):
            if step == 200:  # options serve once, as in the peer
                for each in (envs, peer):
                    each.set_options([{"easy": 1}, {}, {"hard": 2}, {}])
            np.testing.assert_array_equal(envs.reset(), peer.reset())
            assert envs.reset_infos == peer.reset_infos
        actions = rng.integers(3, size=4)
        *got, infos = envs.step(actions)
        *expected, peer_infos = peer.step(actions)
        for a, b in zip(got, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        for info, peer_info in zip(infos, peer_infos, strict=True):
            assert info.keys() == peer_info.keys()
            assert info["TimeLimit.truncated"] == peer_info["TimeLimit.truncated"]
            assert info["t"] == peer_info["t"]
            if "episode" in info:
                assert {**info["episode"], "t": 0} == {**peer_info["episode"], "t": 0}
                np.testing.assert_array_equal(
                    info["terminal_observation"], peer_info["terminal_observation"]
                )
        assert envs.reset_infos == peer.reset_infos


def test_attributes_and_methods(envs):
    assert envs.get_attr("weight") == [2] * 4
    envs.set_attr("weight", 5, indices=[1, 3])
    assert envs.get_attr("weight") == [2, 5, 2, 5]
    assert envs.get_attr("weight", 1) == [5]
    assert envs.env_method("weigh") == [2, 5, 2, 5]  # behind the wrappers
    assert envs.env_method("double", 3, add=1, indices=[2, 0]) == [7, 7]
    assert envs.has_attr("weight")
    assert not envs.has_attr("height")
    assert envs.env_is_wrapped(Wrapper) == [True] * 4
    assert envs.env_is_wrapped(gymnasium.wrappers.TimeLimit, [0]) == [False]
    assert envs.render_mode is None
    envs.reset()
    envs.step_async(np.zeros(4, int))
    with pytest.raises(APIUsageError, match="environment 2 is at work"):
        envs.get_attr("weight", 2)
    envs.step_wait()
    assert envs.get_attr("weight", 2) == [2]


def test_wrappers_of_sb3(envs):
    with pytest.warns(UserWarning, match="already wrapped"):  # episodes are counted already
        monitored = VecMonitor(envs)
    wrapped = VecNormalize(monitored)
    assert wrapped.reset().shape == (4, 2)
    assert wrapped.step(np.ones(4, int))[0].shape == (4, 2)


def test_independent_agents_are_rows(clock):
    envs = SB3VecEnv(make(clock, num_envs=2, backend=Serial))
    envs.reset()
    assert envs.reset_infos == [{"reset": 0}, {"reset": 0}, {"reset": 1}, {"reset": 1}]
    for _ in range(3):
        _, _, dones, infos = envs.step(np.ones(4, int))
    assert dones.tolist() == [True, False, True, False]
    assert infos[2]["terminal_observation"].tolist() == [1, 3]
    assert infos[2]["episode"]["l"] == 3
    assert "episode" not in infos[1]


class Rewards(BaseCallback):
    """Remembers the mean return that the logs show."""

    def __init__(self):
        super().__init__()
        self.means = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.means.append(np.mean([episode["r"] for episode in self.model.ep_info_buffer]))


@pytest.fixture
def one_thread():
    """A small network is faster so, above all on a busy machine."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def train(cartpole, steps):
    vecenv = make(cartpole, num_envs=8, backend=Multiprocessing, num_workers=2, timeout=300)
    envs = SB3VecEnv(vecenv)
    model = sb3.PPO(
        "MlpPolicy", envs, n_steps=64, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=10,
        ent_coef=0.0, learning_rate=lambda left: 1e-3 * left, clip_range=lambda left: 0.2 * left,
        seed=0, device="cpu",
    )  # fmt: skip
    rewards = Rewards()
    model.learn(steps, callback=rewards)
    return envs, model, rewards.means


@pytest.mark.usefixtures("one_thread")
def test_ppo_learns_a_little(cartpole):
    envs, model, means = train(cartpole, 4096)
    assert model.num_timesteps == 4096
    assert means[0] < means[-1]
    episode = model.ep_info_buffer[-1]
    assert episode["r"] == episode["l"]  # CartPole pays 1 a step
    envs.close()


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_ppo_solves_cartpole(cartpole):
    envs, model, _ = train(cartpole, 100_000)
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=20)
    assert mean >= 475
    envs.close()
