"""Pendulum: step by step with Gymnasium's Pendulum-v1."""

import gymnasium
import numpy as np
import pytest
from c_state import c_state

from puffer_ocean import OceanEnv


@pytest.mark.parametrize("discrete", [False, True])
def test_the_same_as_gymnasium(discrete):
    peer = gymnasium.make("Pendulum-v1").unwrapped
    peer.reset(seed=0)
    env = OceanEnv("pendulum", 1, discrete=discrete)
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    state = c_state(env)
    peer.state = np.array([state.angle, state.velocity])
    total = 0.0
    for i in range(200):
        if discrete:
            action = rng.integers(3, size=1)
            torque = 2.0 * (action - 1)
        else:
            action = rng.uniform(-1.2, 1.2, (1, 1)).astype(np.float32)  # some beyond the bounds
            torque = 2.0 * action[0].astype(np.float64)
        observation, reward, *_ = peer.step(torque)
        _, rewards, terminals, truncations, infos = env.step(action)
        total += reward
        last = i == 199
        mine = env.final_observations[0] if last else env.observations[0]
        np.testing.assert_allclose(mine, observation, atol=2e-6)
        assert rewards[0] == pytest.approx(reward, abs=2e-6)
        assert truncations[0] == last
        assert not terminals[0]
    assert infos[0]["episode_return"][0] == pytest.approx(total, abs=1e-3)
    assert infos[0]["score"][0] == pytest.approx(total / 200, abs=1e-5)


@pytest.mark.parametrize(
    ("angle", "perf"),
    [(0.0, 1.0), (np.pi, 0.0)],  # upright costs nothing; hanging costs pi^2 a step
)
def test_the_ends_of_perf(angle, perf):
    env = OceanEnv("pendulum", 1, max_steps=1)
    env.reset(seed=0)
    c_state(env).angle, c_state(env).velocity = angle, 0.0
    *_, infos = env.step(np.zeros((1, 1), np.float32))
    assert infos[0]["perf"][0] == perf
    assert infos[0]["score"][0] == pytest.approx(-(angle**2))


def test_the_beginning_is_drawn_from_the_whole_circle():
    env = OceanEnv("pendulum", 2000)
    observations, _ = env.reset(seed=1)
    angles = np.arctan2(observations[:, 1], observations[:, 0])
    assert abs(angles.mean()) < 0.2  # standard error: pi / sqrt(3 x 2000) = 0.04
    assert angles.std() == pytest.approx(np.pi / np.sqrt(3), rel=0.05)
    assert np.abs(observations[:, 2]).max() <= 1
