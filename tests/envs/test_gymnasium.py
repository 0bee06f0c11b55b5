"""Real Gymnasium environments: 1,000 random steps through Serial equal the unwrapped twin."""

import warnings

import gymnasium
import numpy as np
import pytest
import random_spaces as rs
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_core.flatten import nativize
from puffer_vector import make

STEPS = 1000
CLASSIC = ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"  # by Gymnasium's version
TOY = ["Blackjack-v1", "CliffWalking-v1", "FrozenLake-v1", TAXI]
PACKAGES = {
    "ale_py": ["ALE/Pong-v5", "ALE/Breakout-v5"],
    "minigrid": ["MiniGrid-DoorKey-5x5-v0", "BabyAI-GoToRedBall-v0"],
    "mujoco": ["HalfCheetah-v5"],
}
# Their mission is a Text, which has no fixed size: left out, or as a MultiDiscrete of words.
MISSIONS = {
    "BabyAI-GoToRedBall-v0": "ImgObsWrapper",
    "MiniGrid-DoorKey-5x5-v0": "DictObservationSpaceWrapper",
}
ALL = [(None, name) for name in CLASSIC + TOY] + [(p, n) for p in PACKAGES for n in PACKAGES[p]]


class Recorder(gymnasium.Wrapper):
    """Remembers every action that reaches the environment."""

    def __init__(self, env):
        super().__init__(env)
        self.actions = []

    def step(self, action):
        self.actions.append(action)
        return self.env.step(action)


def make_env(package, name):
    if package:
        module = pytest.importorskip(package)
        if package == "ale_py":
            gymnasium.register_envs(module)
    with warnings.catch_warnings():
        # Gymnasium tells of newer versions of an environment; the tests mean this one.
        warnings.simplefilter("ignore", DeprecationWarning)
        # The checker would warn of what the environment itself does.
        env = gymnasium.make(name, disable_env_checker=True)
    if name in MISSIONS:
        env = getattr(module.wrappers, MISSIONS[name])(env)
    return env


# Environments cast and draw as they do; what they warn of is theirs.
@pytest.mark.filterwarnings("ignore:::gymnasium", "ignore:::minigrid", "ignore:::pygame")
@pytest.mark.parametrize(("package", "name"), ALL, ids=[name for _, name in ALL])
def test_equals_the_twin(package, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file where it runs
    twin = make_env(package, name)
    wrapped = []

    def creator(buf=None, seed=0):
        env = Recorder(make_env(package, name))
        wrapped.append(env)
        return GymnasiumPufferEnv(env, buf=buf, seed=seed)

    vecenv = make(creator, backend="Serial", num_envs=1)
    recorder = wrapped[-1]
    space = twin.observation_space
    vecenv.single_action_space.seed(1)

    def check(row, expected):
        rs.assert_same(nativize(row, space), rs.declared(space, expected))

    observations, _ = vecenv.reset(seed=7)
    expected, _ = twin.reset(seed=7)
    check(observations[0, ...], expected)
    episodes = total = length = 0
    for _ in range(STEPS):
        action = vecenv.single_action_space.sample()
        observations, rewards, terminals, truncations, infos = vecenv.step(np.asarray(action)[None])
        received = recorder.actions[-1]
        assert twin.action_space.contains(received)
        if isinstance(twin.action_space, spaces.Discrete):
            assert received == action + twin.action_space.start
        else:
            np.testing.assert_array_equal(received, action)
        expected, reward, terminated, truncated, _ = twin.step(received)
        total, length = total + np.float32(reward), length + 1
        assert rewards[0] == np.float32(reward)
        assert (terminals[0], truncations[0]) == (terminated, truncated)
        if terminated or truncated:
            check(vecenv.final_observations[0, ...], expected)
            assert infos[-1]["episode_length"].tolist() == [length]
            assert infos[-1]["episode_return"] == pytest.approx([total], abs=1e-3)
            episodes, total, length = episodes + 1, 0, 0
            expected, _ = twin.reset()
        check(observations[0, ...], expected)
    vecenv.close()
    twin.close()
    assert episodes or name in ("CliffWalking-v1", "MountainCarContinuous-v0", "ALE/Pong-v5")


def test_a_mission_of_minigrid_is_refused_with_its_path():
    pytest.importorskip("minigrid")
    with pytest.raises(
        APIUsageError, match=r'observation\["mission"\]: MissionSpace .*leave it out'
    ):
        GymnasiumPufferEnv(gymnasium.make("MiniGrid-DoorKey-5x5-v0"))


class Flat(gymnasium.Env):
    """One agent of a wrapped environment, as Gymnasium's own checker wants it."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        self.observation_space = wrapped.single_observation_space
        self.action_space = wrapped.single_action_space
        self.metadata = wrapped.metadata

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        observations, info = self.wrapped.reset(seed, options)
        return observations[0, ...].copy(), info

    def step(self, action):
        observations, rewards, terminals, truncations, info = self.wrapped.step(action)
        flags = bool(terminals[0]), bool(truncations[0])
        return observations[0, ...].copy(), float(rewards[0]), *flags, info


# It recommends float32, bounds in [-1, 1] and images of certain sizes: matters of taste here.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_gymnasiums_own_checker_accepts_the_wrapped_environment(name):
    from gymnasium.utils.env_checker import check_env

    wrapped = GymnasiumPufferEnv(make_env(None, name))
    check_env(Flat(wrapped), skip_render_check=True)
    check_env(wrapped.env.unwrapped, skip_render_check=True)  # and the inner one is unharmed
