"""Bandit, memory, password, stochastic, chain, benchmark: their rules on paper."""

import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv


def step(env, *actions):
    """One step of every environment; returns rewards and the ended episodes' statistics."""
    _, rewards, _, _, infos = env.step(np.asarray(actions, np.int32))
    return rewards.copy(), infos[0] if infos else None


# Bandit


def test_bandit_pays_by_chance():
    env = OceanEnv("bandit", 4000, arms=3, pulls=1, chance=0.8)
    env.reset(seed=1)
    good, _ = step(env, *[2] * 4000)  # the last arm is the good one
    bad, info = step(env, *[0] * 4000)
    # standard errors: sqrt(0.8 x 0.2 / 4000) = 0.0063, sqrt(0.1 x 0.9 / 4000) = 0.0047
    assert good.mean() == pytest.approx(0.8, abs=0.03)
    assert bad.mean() == pytest.approx(0.1, abs=0.024)
    assert np.array_equal(info["score"], bad)
    assert not info["perf"].any()


def test_bandit_observation_and_share():
    env = OceanEnv("bandit", 1, arms=3, pulls=4, chance=1)
    observations, _ = env.reset(seed=0)
    assert observations[0].tolist() == [1, 0, 0, 0, 0]
    for arm, expected in ((0, [0, 0, 1, 0, 0]), (2, [0, 1, 0, 0, 1]), (2, [0, 1, 0, 0, 1])):
        step(env, arm)
        assert env.observations[0].tolist() == expected
    rewards, info = step(env, 1)
    assert rewards[0] == 0  # chance 1: the others never pay
    assert env.final_observations[0].tolist() == [0, 0, 0, 1, 0]
    assert (info["score"][0], info["perf"][0]) == (2, 2 / 4)
    assert env.observations[0].tolist() == [1, 0, 0, 0, 0]


def test_a_shuffled_bandit_draws_every_arm():
    env = OceanEnv("bandit", 300, arms=3, pulls=1, shuffled=True)
    env.reset(seed=0)
    assert {c_state(env, i).good for i in range(300)} == {0, 1, 2}


# Memory


def test_memory_shows_waits_and_asks():
    env = OceanEnv("memory", 50, length=3, delay=2, symbols=4)
    observations, _ = env.reset(seed=5)
    shown = []
    for _ in range(3):
        assert (observations[:, :4].sum(1) == 1).all()
        assert not observations[:, 4].any()
        shown.append(observations[:, :4].argmax(1))
        rewards, _ = step(env, *[0] * 50)
        assert not rewards.any()
        observations = env.observations
    for _ in range(2):
        assert not observations.any()
        rewards, _ = step(env, *[0] * 50)
        assert not rewards.any()
    wrong = np.arange(50) % 2  # every second environment forgets the first symbol
    for i, symbols in enumerate(shown):
        assert observations[0].tolist() == [0, 0, 0, 0, 1]
        answers = (symbols + (wrong if i == 0 else 0)) % 4
        rewards, info = step(env, *answers)
        expected = (1 - wrong if i == 0 else np.ones(50)) / np.float32(3)
        np.testing.assert_allclose(rewards, expected, rtol=1e-6)
    np.testing.assert_allclose(info["score"], 1 - wrong / 3)
    np.testing.assert_array_equal(info["perf"], 1 - wrong)
    assert (info["episode_length"] == 8).all()


def test_memory_without_delay():
    env = OceanEnv("memory", 1, length=1, delay=0, symbols=2)
    observations, _ = env.reset(seed=0)
    symbol = observations[0, :2].argmax()
    step(env, 1 - symbol)  # not asked yet
    assert env.observations[0].tolist() == [0, 0, 1]
    rewards, info = step(env, symbol)
    assert rewards[0] == 1
    assert info["perf"][0] == 1


# Password


def test_exactly_one_password_opens():
    length = 4
    env = OceanEnv("password", 2**length, length=length)
    env.reset(seed=0)
    tried = np.arange(2**length)
    for i in range(length):
        assert env.observations[0].tolist() == np.eye(length)[i].tolist()
        rewards, info = step(env, *(tried >> i & 1))
        assert not rewards.any() or i == length - 1
    (opened,) = np.flatnonzero(rewards)
    assert info["perf"].tolist() == rewards.tolist()
    right = [length - bin(opened ^ each).count("1") for each in tried]
    np.testing.assert_allclose(info["score"], np.asarray(right) / length)


def test_secrets_differ():
    def opens(secret):
        env = OceanEnv("password", 1, length=20, secret=secret)
        env.reset(seed=0)
        return c_state(env).password & (2**20 - 1)

    assert len({opens(secret) for secret in range(20)}) == 20


# Stochastic


@pytest.mark.parametrize(
    ("target", "ones", "perf"),
    [
        (0.75, 15, 1),  # 15 of 20 = 0.75
        (0.75, 20, 0),  # misses by the whole width 0.25
        (0.75, 10, 0),
        (0.75, 18, 0.64),  # 0.9: misses by 0.15 = 0.6 widths
        (0.75, 0, 0),  # never below 0
        (0.9, 19, 0.75),  # width 0.1, 0.95 misses by half of it
        (0.6, 11, 0.75),  # width 0.1
    ],
)
def test_frequency_is_what_pays(target, ones, perf):
    env = OceanEnv("stochastic", 1, steps=20, target=target)
    env.reset(seed=0)
    for i in range(20):
        assert env.observations.tolist() == [[1.0]]
        rewards, info = step(env, int(i < ones))
        assert rewards[0] == 0 or i == 19
    assert rewards[0] == pytest.approx(perf, abs=1e-6)
    assert info["perf"][0] == pytest.approx(perf)
    assert info["score"][0] == pytest.approx(ones / 20)


# Chain


def test_the_best_way_along_the_chain():
    env = OceanEnv("chain_mdp", 1, length=5)
    observations, _ = env.reset(seed=0)
    assert observations[0].tolist() == [1, 1, 0, 0, 0]
    total = 0.0
    for i in range(14):  # 5 + 9
        rewards, info = step(env, 1)
        total += rewards[0]
        assert rewards[0] == (i >= 2)  # 3 moves from the second state to the fifth
    assert total == 12
    assert (info["score"][0], info["perf"][0]) == (12, 1)


def test_the_near_reward():
    env = OceanEnv("chain_mdp", 1, length=5)
    env.reset(seed=0)
    returned = 0.0
    for _ in range(14):
        rewards, info = step(env, 0)
        assert rewards[0] == np.float32(0.001)
        returned += 0.001
    assert info["episode_return"][0] == pytest.approx(returned, rel=1e-6)
    assert info["perf"][0] == 0
    assert env.final_observations[0].tolist() == [1, 0, 0, 0, 0]


def test_there_and_back():
    env = OceanEnv("chain_mdp", 1, length=4)
    env.reset(seed=0)
    seen = []
    for action in (1, 1, 1, 0, 0, 0, 0):
        rewards, _ = step(env, action)
        seen.append((env.observations[0].sum(), rewards[0]))
    near = np.float32(0.001)
    assert seen == [(3, 0), (4, 1), (4, 1), (3, 0), (2, 0), (1, near), (1, near)]


# Benchmark


def test_the_first_byte_says_what_pays():
    env = OceanEnv("benchmark", 100, bytes=50, steps=10)
    env.reset(seed=3)
    for _ in range(10):
        first = env.observations[:, 0].copy()
        assert set(first) <= {0, 255}
        assert (env.observations[:, 1:] == env.observations[:, 1:2]).all()
        rewards, info = step(env, *((first > 0) ^ (np.arange(100) < 30)))
        assert rewards.tolist() == [0.0] * 30 + [1.0] * 70
    assert info["perf"].tolist() == [0.0] * 30 + [1.0] * 70
    assert info["score"].tolist() == [0.0] * 30 + [10.0] * 70


def test_compute_draws_numbers():
    def after(compute):
        env = OceanEnv("benchmark", 1, compute=compute)
        env.reset(seed=0)
        step(env, 0)
        return c_state(env).work

    assert after(0) == 0
    mask = 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    stream = mix(mix(golden))  # of seed 0, environment 0
    draws = [mix((stream + (i + 2) * golden) & mask) for i in range(3)]  # the first is reset's
    assert after(3) == sum(draws) & mask
