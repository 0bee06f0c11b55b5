"""Small native trainers, and what they are compared with."""

import torch

from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import make


def make_vecenv(name="squared", num_envs=24, **env):
    return make(env_creator(name), env_kwargs={"num_envs": num_envs, **env}, seed=3)


def policy_for(vecenv, network="mingru", hidden_size=20, num_layers=2, seed=3):
    torch.manual_seed(seed)
    config = PolicyConfig(network=network, hidden_size=hidden_size, num_layers=num_layers)
    policy = make_policy(config, vecenv)
    with torch.no_grad():  # off the special point of equal logits and biases of 0
        for parameter in policy.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return policy


def make_native(name="squared", env=None, policy=None, threads=2, **settings):
    vecenv = make_vecenv(name, **(env or {}))
    policy = policy_for(vecenv, **(policy or {}))
    settings = {"horizon": 16, "seed": 5, "threads": threads, **settings}
    return NativePuffeRL(TrainConfig(**settings), vecenv, policy)
