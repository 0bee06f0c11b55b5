"""With the settings of textbook PPO an epoch is that of Stable-Baselines3, in float64."""

import functools

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from puffer_core import GymnasiumPufferEnv
from puffer_cuda.advantage import advantages
from puffer_cuda.config import TrainConfig
from puffer_cuda.pufferl import PuffeRL
from puffer_vector import Serial, make

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common import policies
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import Logger

AGENTS, HORIZON, UPDATES, GAMMA, LAMBDA = 4, 32, 5, 0.98, 0.8
SHORT = {"id": "CartPole-v1", "max_episode_steps": 15}  # many episodes are cut, others end


class Record(BaseCallback):
    """Ends of episodes, and the value of the last observation of those that were cut."""

    def __init__(self):
        super().__init__()
        self.terminals, self.truncations, self.final_values = [], [], []

    def _on_step(self):
        infos = self.locals["infos"]
        cut = np.array([info.get("TimeLimit.truncated", False) for info in infos])
        values = np.zeros(AGENTS)
        for i in np.flatnonzero(cut):
            last = torch.from_numpy(infos[i]["terminal_observation"])[None]
            values[i] = self.model.policy.predict_values(last).item()
        self.truncations.append(cut)
        self.terminals.append(self.locals["dones"] & ~cut)
        self.final_values.append(values)
        return True


class Theirs(nn.Module):
    """Their policy in our form."""

    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, observations):
        actor, critic = self.policy.mlp_extractor(observations.to(self.dtype()))
        return self.policy.action_net(actor), self.policy.value_net(critic)

    def dtype(self):
        return self.policy.value_net.weight.dtype


def rollout_of_theirs(monkeypatch):
    """Their trainer with one rollout in float64, and that rollout as tensors of ours."""
    model = PPO(
        "MlpPolicy", make_vec_env(lambda: gymnasium.make(**SHORT), AGENTS), n_steps=HORIZON,
        batch_size=AGENTS * HORIZON, n_epochs=UPDATES, gamma=GAMMA, gae_lambda=LAMBDA,
        learning_rate=0.01, ent_coef=0.01, seed=1, device="cpu",
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    record, buffer = Record(), model.rollout_buffer
    _, callback = model._setup_learn(AGENTS * HORIZON, record)
    model.collect_rollouts(model.env, callback, buffer, HORIZON)
    last = model.policy.predict_values(torch.from_numpy(model._last_obs)).detach().double()
    ours = {
        "observations": torch.from_numpy(buffer.observations).double(),
        "actions": torch.from_numpy(buffer.actions[..., 0]).long(),
        "log_probs": torch.from_numpy(buffer.log_probs).double(),
        "rewards": torch.ones(HORIZON, AGENTS, dtype=torch.float64),
        "terminals": torch.from_numpy(np.stack(record.terminals)),
        "truncations": torch.from_numpy(np.stack(record.truncations)),
        "final_values": torch.from_numpy(np.stack(record.final_values)),
    }
    values = torch.from_numpy(buffer.values).double()
    ours["values"] = torch.cat((values, last.T))
    ours = {name: tensor.transpose(0, 1).contiguous() for name, tensor in ours.items()}
    for name, array in vars(buffer).items():
        if isinstance(array, np.ndarray) and array.dtype == np.float32:
            setattr(buffer, name, array.astype(np.float64))
    # The same in float64: they add gamma times the final value to the reward of a cut episode.
    buffer.rewards[:] = 1 + GAMMA * np.stack(record.final_values)
    buffer.compute_returns_and_advantage(last, model._last_episode_starts)
    monkeypatch.setattr(policies, "preprocess_obs", lambda observations, *_, **__: observations)
    model.policy.double()
    return model, ours


def test_advantages(monkeypatch):
    model, ours = rollout_of_theirs(monkeypatch)
    assert ours["truncations"].any()
    assert ours["terminals"].any()
    got = advantages(
        ours["rewards"], ours["terminals"], ours["truncations"], ours["values"],
        ours["final_values"], torch.ones_like(ours["rewards"]), GAMMA, LAMBDA,
    )  # fmt: skip
    np.testing.assert_allclose(got, model.rollout_buffer.advantages.T, rtol=0, atol=1e-12)


def test_losses_and_weights_after_an_epoch(monkeypatch):
    model, tensors = rollout_of_theirs(monkeypatch)
    policy = Theirs(model.policy)
    start = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    model.train()
    expected = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    policy.load_state_dict(start)

    creator = functools.partial(GymnasiumPufferEnv, env_creator=gymnasium.make, env_kwargs=SHORT)
    trained = PuffeRL(
        TrainConfig(
            device="cpu", horizon=HORIZON, replay_ratio=UPDATES, gamma=GAMMA, gae_lambda=LAMBDA,
            vtrace=False, prio_alpha=0, optimizer="adamw", learning_rate=0.01, anneal_lr=False,
            beta1=0.9, eps=1e-5, max_grad_norm=0.5, vf_coef=1, vf_clip_coef=1e9, ent_coef=0.01,
        ),
        make(creator, backend=Serial, num_envs=AGENTS),
        policy,
    )  # fmt: skip
    for name, tensor in tensors.items():
        setattr(trained.rollout, name, tensor)
    trained.rollout.masks.fill_(True)
    losses = trained.train()

    logged = model.logger.name_to_value
    for name, value in (
        ("policy_loss", logged["train/policy_gradient_loss"]),
        ("value_loss", logged["train/value_loss"] / 2),  # theirs has no 1/2, and vf_coef 0.5
        ("entropy", -logged["train/entropy_loss"]),
        ("clipfrac", logged["train/clip_fraction"]),
    ):
        assert losses[f"losses/{name}"] == pytest.approx(value, rel=1e-6), name
    assert losses["losses/clipfrac"] > 0.1  # the ratios have left 1
    for name, tensor in policy.state_dict().items():
        np.testing.assert_allclose(tensor, expected[name], rtol=0, atol=1e-10, err_msg=name)
        assert (tensor - start[name]).abs().max() > 0.01 or tensor.abs().max() == 0
