import numpy as np
import torch

from puffer_cuda.config import PolicyConfig
from puffer_cuda.evaluation import evaluate_policy
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import make


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
