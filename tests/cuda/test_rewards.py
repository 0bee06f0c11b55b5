import gymnasium
import numpy as np
import pytest

from puffer_cuda.rewards import RewardScaler


def flags(*values):
    return np.array(values, bool)


def test_scale_then_clip_and_only_agents_that_acted_count():
    scaler = RewardScaler(3, 0.5, 1.0, False, 0.9)
    rewards = np.array([4, -1, -6], np.float32)
    got = scaler(rewards, flags(0, 0, 0), flags(1, 1, 0))
    assert got.tolist() == [1.0, -0.5, -1.0]
    assert scaler.clipped_share == 0.5
    assert rewards.tolist() == [4, -1, -6]


def test_the_deviation_is_that_of_discounted_returns():
    random = np.random.default_rng(0)
    rewards = random.normal(1, 5, (200, 4)).astype(np.float32)
    ends = random.random((200, 4)) < 0.1
    masks = random.random((200, 4)) < 0.8
    scaler = RewardScaler(4, 1.0, 0.0, True, 0.97)
    seen, running = [], np.zeros(4)
    for t in range(200):
        batches = [np.array([2, 0]), np.array([1, 3])] if t % 2 else [slice(0, 4)]
        got = np.zeros(4, np.float32)
        for agents in batches:
            own = (rewards[t, agents], ends[t, agents], masks[t, agents])
            before = len(seen)
            running[agents] = 0.97 * running[agents] + own[0]
            seen += list(running[agents][own[2]])
            running[agents] = np.where(own[1] | ~own[2], 0, running[agents])
            got[agents] = scaler(*own, agents)
            if len(seen) > before + 1:
                expected = own[0] / np.std(seen)
                np.testing.assert_allclose(got[agents], expected, rtol=1e-5)
    assert scaler.count == len(seen)
    assert scaler.deviation == pytest.approx(np.std(seen), rel=1e-10)


def test_against_gymnasium():
    # In one endless episode: where one ends, its wrapper forgets the return before its last reward.
    class Noise(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)
        random = np.random.default_rng(1)

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.raw = float(self.random.normal(2, 3))
            return np.zeros(1, np.float32), self.raw, False, False, {}

    inner = Noise()
    peer = gymnasium.wrappers.NormalizeReward(inner, gamma=0.9)
    ours = RewardScaler(1, 1.0, 0.0, True, 0.9)
    peer.reset()
    for t in range(3000):
        _, theirs, _, _, _ = peer.step(0)
        got = ours(np.array([inner.raw], np.float32), flags(0), flags(1))
        if t > 1000:
            assert got[0] == pytest.approx(theirs, rel=1e-3)


def test_rewards_that_do_not_vary_stay():
    scaler = RewardScaler(2, 1.0, 0.0, True, 0.0)
    ones = np.ones(2, np.float32)
    for _ in range(3):
        assert scaler(ones, flags(0, 0), flags(1, 1)).tolist() == [1, 1]
