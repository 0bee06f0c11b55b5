"""Agents that come and go, in the rollout."""

import numpy as np
import torch
import toy_agents

from puffer_core import PettingZooPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_vector import make

# Actions of agent 1: steps 1 to 2 of its first life, 5 to 8 of its second.
LIVES = {"stays": [(0, 8)], "reborn": [(0, 2), (4, 8)]}


def test_an_episode_begins_where_an_agent_is_born():
    def creator(buf=None, seed=0):
        return PettingZooPufferEnv(toy_agents.Scripted(LIVES), buf=buf, seed=seed)

    vecenv = make(creator, num_envs=1, backend="Serial")
    config = PolicyConfig(network="mingru", hidden_size=8, num_layers=1)
    torch.manual_seed(0)
    policy = make_policy(config, vecenv)
    settings = {"horizon": 16, "device": "cpu", "prio_alpha": 0}
    trained = PuffeRL(TrainConfig(**settings), vecenv, policy)
    trained.evaluate()
    rollout = trained.rollout
    now = np.arange(16) % 8 + 1  # the step of its episode that each transition is
    masks = np.stack([now > 0, (now <= 2) | (now > 4)])
    assert (rollout.masks.numpy() == masks).all()
    assert trained.global_step == masks.sum()
    starts = rollout.starts.numpy()
    assert starts[0].tolist() == (now == 1).tolist()
    assert starts[1][masks[1]].tolist() == ((now == 1) | (now == 5))[masks[1]].tolist()
    logs = trained.train()
    assert abs(logs["losses/approx_kl"]) < 1e-9
    assert logs["losses/clipfrac"] == 0
