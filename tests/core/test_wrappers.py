"""Wrappers of single environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, check_env
from puffer_core.wrappers import ClipAction, EpisodeStats, GymToGymnasium, ResizeObservation


def test_episode_stats_are_those_of_a_count_by_hand():
    env = EpisodeStats(gymnasium.make("Blackjack-v1"))
    env.action_space.seed(0)
    for _ in range(30):
        env.reset()
        total, length, over = 0.0, 0, False
        while not over:
            *_, reward, terminated, truncated, info = env.step(env.action_space.sample())
            total, length, over = total + reward, length + 1, terminated or truncated
            assert ("episode_return" in info) == over
        assert (info["episode_return"], info["episode_length"]) == (total, length)


class Informative(gymnasium.Env):
    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.resets = []

    def reset(self, *, seed=None, options=None):
        self.resets.append((seed, options))
        self.ticks = 0
        return 0, {"level": 4}

    def step(self, action):
        self.ticks += 1
        return 0, 0.25, False, self.ticks == 4, {"level": 4, "tick": self.ticks, "name": "x"}


def test_episode_stats_pass_everything_else_on():
    inner = Informative()
    env = EpisodeStats(inner)
    assert inner.resets == []  # the constructor does not reset
    assert env.reset(seed=3, options={"a": 1}) == (0, {"level": 4})
    assert inner.resets == [(3, {"a": 1})]
    infos = [env.step(0)[4] for _ in range(4)]
    assert infos[0] == {"level": 4, "tick": 1, "name": "x"}
    last = {"level": 4, "tick": 4, "name": "x", "episode_return": 1.0, "episode_length": 4}
    assert infos[3] == last
    env.reset()
    env.step(0)
    env.reset()  # an unfinished episode does not count
    assert [env.step(0)[4] for _ in range(4)][3]["episode_return"] == 1.0
    assert env.unwrapped is inner


def test_the_environments_info_is_not_modified():
    class Keeps(Informative):
        def step(self, action):
            self.info = {"mine": 1}
            return 0, 1.0, True, False, self.info

    env = EpisodeStats(Keeps())
    env.reset()
    assert env.step(0)[4]["episode_return"] == 1.0
    assert env.unwrapped.info == {"mine": 1}


def test_clip_action_clips_to_the_inner_bounds():
    got = []

    class Pedal(Informative):
        action_space = spaces.Box(-1, 0.5, (2,), np.float32)

        def step(self, action):
            got.append(action)
            return super().step(action)

    env = ClipAction(Pedal())
    env.reset()
    action = np.array([-3, 3], np.float32)
    env.step(action)
    np.testing.assert_array_equal(got[0], np.array([-1, 0.5], np.float32))
    np.testing.assert_array_equal(action, [-3, 3])


class Picture(gymnasium.Env):
    action_space = spaces.Discrete(2)

    def __init__(self, shape=(4, 6), dtype=np.uint8):
        pixels = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        self.observation_space = spaces.Box(pixels, pixels + 1, dtype=dtype)
        self.pixels = pixels

    def reset(self, *, seed=None, options=None):
        return self.pixels, {}

    def step(self, action):
        return self.pixels, 0.0, False, False, {}


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_resize_keeps_every_second_pixel(shape, dtype):
    inner = Picture(shape, dtype)
    env = ResizeObservation(inner)
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation, inner.pixels[::2, ::2])
    np.testing.assert_array_equal(env.step(0)[0], observation)
    assert observation.shape == env.observation_space.shape == (2, 3, *shape[2:])
    assert env.observation_space.contains(observation)
    np.testing.assert_array_equal(env.observation_space.low, observation)
    np.testing.assert_array_equal(env.observation_space.high, observation + 1)
    assert observation.flags.c_contiguous
    before = inner.pixels.copy()
    observation[...] = 0
    np.testing.assert_array_equal(inner.pixels, before)
    emulated = GymnasiumPufferEnv(env)
    np.testing.assert_array_equal(emulated.reset()[0][0], inner.pixels[::2, ::2])


def test_resize_refuses_what_does_not_fit():
    for downscale in (3, 4, 0, -2):
        with pytest.raises(APIUsageError, match=r"divides height and width of \(4, 6\)"):
            ResizeObservation(Picture(), downscale)
    assert ResizeObservation(Picture(), 1).observation_space == Picture().observation_space
    with pytest.raises(APIUsageError, match=r"Box of shape \(height, width\)"):
        ResizeObservation(gymnasium.make("CartPole-v1"))
    with pytest.raises(APIUsageError, match="Discrete"):
        ResizeObservation(Informative())


class Old:
    """An environment of the interface before Gymnasium."""

    observation_space = spaces.Box(-9, 9, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, limit=12):
        self.limit = limit

    def seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.position, self.ticks = self.rng.uniform(-1, 1), 0
        return np.array([self.position], np.float32)

    def step(self, action):
        self.position += 2 * action - 1
        self.ticks += 1
        cut = self.ticks >= self.limit
        done = bool(abs(self.position) > 4) or cut
        info = {"TimeLimit.truncated": cut} if done else {}
        reward = float(self.position > 0) - 0.1 * action
        return np.array([self.position], np.float32), reward, done, info


def test_old_gym_episodes_end_with_the_right_flag():
    ends = set()
    env = GymToGymnasium(Old())
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(500):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        assert not (terminated and truncated)
        if terminated or truncated:
            ends.add("truncated" if truncated else "terminated")
            assert truncated == (env.env.ticks >= 12)
            env.reset()
    assert ends == {"truncated", "terminated"}


def test_old_gym_passes_the_checker():
    report = check_env(lambda: GymToGymnasium(Old()), steps=1000)
    assert report.ok, str(report)
    assert {finding.severity for finding in report.findings} <= {"note"}, str(report)


def test_old_gym_seeds():
    class TakesSeed(Old):
        seed = None

        def reset(self, seed=None):
            if seed is not None:
                Old.seed(self, seed)
            return super().reset()

    for cls in (Old, TakesSeed):
        env = GymToGymnasium(cls())
        first, _ = env.reset(seed=5)
        assert env.reset(seed=6)[0] != first
        assert env.reset(seed=5)[0] == first

    class NoSeed(Old):
        seed = None

    with pytest.raises(APIUsageError, match="NoSeed takes no seed"):
        GymToGymnasium(NoSeed()).reset(seed=1)


def test_errors_inside_an_old_reset_pass_through():
    class Broken(Old):
        calls = 0

        def reset(self):
            type(self).calls += 1
            raise TypeError("seed of all evil")

    with pytest.raises(TypeError, match="seed of all evil"):
        GymToGymnasium(Broken()).reset(seed=1)
    assert Broken.calls == 1  # not retried without the seed


def test_old_gym_refuses_the_rest():
    class NoSpaces:
        observation_space = action_space = object()

    with pytest.raises(APIUsageError, match="shimmy"):
        GymToGymnasium(NoSpaces())
    with pytest.raises(APIUsageError, match="no reset options"):
        GymToGymnasium(Old()).reset(options={"a": 1})
    new = GymToGymnasium(Informative())
    new.reset()
    with pytest.raises(APIUsageError, match=r"\(observation, reward, done, info\)"):
        new.step(0)
