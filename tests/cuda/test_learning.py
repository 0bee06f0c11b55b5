"""Small environments whose best return is known are learnt, with every network that can.

Measured over five seeds so far: the values at a time limit and at an end (MLP), and memory with
MinGRU (two seeds). The other thresholds follow from what the best policy and a blind one reach.
"""

import functools

import gymnasium
import numpy as np
import pytest
import torch
import toy_agents
import toy_envs

from puffer_core import GymnasiumPufferEnv, PettingZooPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.evaluation import evaluate_policy
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_vector import Serial, make

pytestmark = pytest.mark.slow

SETTINGS = {
    "device": "cpu", "threads": 1, "horizon": 16, "gamma": 0.95, "prio_alpha": 0,
    "replay_ratio": 2, "learning_rate": 0.01, "ent_coef": 0.01, "vf_clip_coef": 1,
}  # fmt: skip
MEMORY = {"learning_rate": 0.03, "replay_ratio": 4, "minibatch_size": 128}


def vecenv(env, num_envs=32):
    creator = functools.partial(GymnasiumPufferEnv, env_creator=env)
    return make(creator, backend=Serial, num_envs=num_envs)


def learn(env, steps, network="mlp", num_envs=32, seed=1, encoder="auto", **settings):
    """A trainer after `steps` steps."""
    envs = env if hasattr(env, "recv") else vecenv(env, num_envs)
    torch.manual_seed(seed)
    config = PolicyConfig(network=network, hidden_size=32, num_layers=1, encoder=encoder)
    settings = {**SETTINGS, "minibatch_size": 0, "seed": seed, **settings}
    config_train = TrainConfig(total_timesteps=steps, **settings)
    trained = PuffeRL(config_train, envs, make_policy(config, envs))
    while trained.epoch < trained.total_epochs:
        trained.evaluate()
        trained.train()
    return trained


def score(trained, env, episodes=128, greedy=False):
    """Mean return of fresh episodes."""
    results = evaluate_policy(
        trained.policy, vecenv(env, 32), seed=2**31, episodes=episodes, greedy=greedy
    )
    return float(results["episode_return"].mean())


@pytest.mark.parametrize("network", ["mingru", "lstm", "gru"])
def test_memory(network):
    assert score(learn(toy_envs.Recall, 40_000, network, **MEMORY), toy_envs.Recall) > 0.9


def test_what_needs_memory_cannot_be_done_without():
    assert abs(score(learn(toy_envs.Recall, 40_000, "mlp", **MEMORY), toy_envs.Recall)) < 0.3


def test_bandit():
    # The best arm pays 0.9, the next one 0.5.
    assert score(learn(toy_envs.Bandit, 20_000), toy_envs.Bandit, 512) > 0.8


def test_a_stochastic_policy():
    # Never choosing 1 gives 0, always -2; the best a fixed coin does is about 0.8.
    trained = learn(
        toy_envs.Mixture, 150_000, horizon=64, gamma=1.0, gae_lambda=1.0, ent_coef=0.001
    )
    assert score(trained, toy_envs.Mixture) > 0.6


def test_several_heads():
    # 8 steps, each worth up to 1; a guess is worth (1/3 + 1/4 + 1/5) / 3 = 0.26.
    trained = learn(toy_envs.Combination, 60_000, gamma=0.0)
    assert score(trained, toy_envs.Combination) > 7


@pytest.mark.parametrize("encoder", ["flat", "impala"])
def test_images(encoder):
    # 8 steps, a guess is worth 1/4 each.
    trained = learn(toy_envs.Dot, 40_000, encoder=encoder, gamma=0.0, num_envs=16)
    assert score(trained, toy_envs.Dot) > 7


def test_continuous_control():
    env = functools.partial(gymnasium.make, "Pendulum-v1")
    trained = learn(
        env, 300_000, horizon=64, gamma=0.95, gae_lambda=0.95, replay_ratio=8,
        minibatch_size=512, reward_clip=0, reward_scale=0.1, vf_clip_coef=10, ent_coef=0.0,
    )  # fmt: skip
    assert score(trained, env, 64) > -300


def test_agents_that_die():
    # An agent ends after each third step; the reward is its action, and dead rows bring nothing.
    class Paying(toy_agents.Scripted):
        def step(self, actions):
            observations, rewards, *rest = super().step(actions)
            return observations, {a: float(actions.get(a, 5) - 5) for a in rewards}, *rest

    lives = {"stays": [(0, 9)], "dies": [(0, 3)], "reborn": [(0, 2), (5, 9)]}

    def creator(buf=None, seed=0):
        env = Paying(lives, action_space=gymnasium.spaces.Discrete(3, start=5))
        return PettingZooPufferEnv(env, buf=buf, seed=seed)

    envs = make(creator, backend=Serial, num_envs=8)
    trained = learn(envs, 20_000, "mingru", reward_clip=0, reward_scale=0.5)
    results = evaluate_policy(trained.policy, make(creator, backend=Serial, num_envs=8))
    assert results["episode_return"].mean() > 1.9 * results["episode_length"].mean()


@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize(("terminates", "expected"), [(False, 10.0), (True, 4.0951)])
def test_values_at_a_time_limit_and_at_an_end(terminates, expected, network):
    env = functools.partial(toy_envs.Constant, terminates, shows_time=terminates)
    trained = learn(
        env, 60_000, network, gamma=0.9, gae_lambda=0.9, reward_clip=0, vf_clip_coef=100,
        num_envs=16,
    )  # fmt: skip
    values = trained.rollout.values[:, :-1][trained.rollout.starts].numpy()
    assert len(values) > 30
    np.testing.assert_allclose(values, expected, atol=0.5)
