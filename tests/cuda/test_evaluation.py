import numpy as np
import torch
import toy_agents
from torch import nn
from toy_envs import Masked

from puffer_core import PettingZooPufferEnv
from puffer_cuda.config import PolicyConfig
from puffer_cuda.evaluation import evaluate_policy
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import Serial, make


def vecenv(name="squared", agents=64, **arguments):
    return make(env_creator(name), env_kwargs={"num_envs": agents, **arguments})


def test_one_episode_of_every_agent():
    # Under a random walk short episodes end first; each agent counts once all the same.
    results = evaluate_policy(None, vecenv(size=3), seed=1)
    assert {len(column) for column in results.values()} == {64}
    assert set(results) == {"episode_return", "episode_length", "score", "perf"}
    assert set(np.unique(results["episode_return"])) <= {-1.0, 1.0}
    assert np.array_equal(results["perf"], results["score"] > 0)


def test_the_seed_decides():
    first, again, other = (evaluate_policy(None, vecenv(), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["episode_length"], again["episode_length"])
    assert not np.array_equal(first["episode_length"], other["episode_length"])


def test_a_bound_on_steps():
    results = evaluate_policy(None, vecenv("cartpole", 32), seed=0, max_steps=15)
    assert 0 < len(results["episode_length"]) < 32
    assert results["episode_length"].max() <= 15


def test_a_policy_that_knows_the_way():
    # A recurrent policy, whose state is cleared at the ends: it acts as in training.
    env = vecenv("cartpole", 8)
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(), env)
    seen = []
    results = evaluate_policy(
        policy, env, seed=0, progress=lambda done, of: seen.append((done, of))
    )
    assert len(results["episode_return"]) == 8
    assert np.array_equal(results["episode_return"], results["episode_length"])
    assert seen[-1] == (8, 8)


def test_several_episodes_of_every_agent_in_equal_shares():
    # 5 agents for 12 episodes: three each, whoever is quick.
    seen = []
    results = evaluate_policy(
        None, vecenv("squared", 5, size=3), seed=1, episodes=12, progress=lambda *n: seen.append(n)
    )
    assert len(results["episode_return"]) == 15
    assert seen[-1] == (15, 15)


def test_nobody_waits_for_an_agent_that_is_never_born():
    lives = {"here": [(0, 4)], "late": [(2, 4)], "never": [(9, 12)]}

    def creator(buf=None, seed=0):
        return PettingZooPufferEnv(toy_agents.Scripted(lives), buf=buf, seed=seed)

    env = make(creator, num_envs=1, backend="Serial")
    results = evaluate_policy(None, env, max_steps=50)
    assert results["episode_length"].tolist() == [4, 2]
    results = evaluate_policy(None, env, max_steps=50, episodes=6)
    assert sorted(results["episode_length"]) == [2, 2, 4, 4]


class Undecided(nn.Module):
    """Slightly prefers one choice."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.0, 0.1]))

    def forward(self, observations, state=None):
        return self.logits.expand(len(observations), 2), observations[:, 0]


def test_greedy_or_drawn():
    def returns(greedy, seed):
        env = vecenv("cartpole", 16)
        return evaluate_policy(Undecided(), env, seed=seed, greedy=greedy)["episode_return"]

    # Always pushing to one side ends every episode within 12 steps, as a drawn policy's do not.
    assert returns(True, 1).max() <= 12 < returns(False, 1).max()
    assert np.array_equal(returns(True, 1), returns(True, 1))


def test_masks_are_respected():
    env = make(Masked, backend=Serial, num_envs=2)
    for greedy in (False, True):
        policy = make_policy(PolicyConfig(network="mlp", hidden_size=8), env)
        assert len(evaluate_policy(policy, env, greedy=greedy)["episode_return"]) == 8


def test_a_bound_on_time():
    endless = make(lambda buf=None, seed=0: Masked(buf, seed, length=10**9), backend=Serial)
    assert evaluate_policy(None, vecenv("cartpole", 4), max_seconds=60)["episode_return"].size == 4
    policy = make_policy(PolicyConfig(network="mlp", hidden_size=8), endless)
    assert evaluate_policy(policy, endless, max_seconds=0.1) == {}
