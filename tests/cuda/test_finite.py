"""Numbers that are not finite: where they came from, and what a run does with them."""

import functools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from puffer_core import GymnasiumPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.errors import DivergedError, NonFiniteError
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_vector import Serial, make

FLAT = spaces.Box(-np.inf, np.inf, (3,), np.float32)
NESTED = spaces.Dict(joints=spaces.Box(-np.inf, np.inf, (2, 2), np.float32), on=spaces.Discrete(2))


class Faulty(gymnasium.Env):
    """The third environment built is faulty in its fifth step; episodes are 7 steps long."""

    action_space = spaces.Discrete(2)

    def __init__(self, space, fault, counter):
        self.observation_space, self.fault, self.index = space, fault, next(counter)

    def observe(self):
        bad = self.fault if self.fault != "reward" and self.index == 2 and self.time == 5 else None
        value = np.nan if bad == "nan" else -np.inf if bad == "inf" else 0.5
        if isinstance(self.observation_space, spaces.Dict):
            joints = np.full((2, 2), 0.5, np.float32)
            joints[1, 0] = value
            return {"joints": joints, "on": 1}
        return np.array([0, 0, value], np.float32)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self.observe(), {}

    def step(self, action):
        self.time += 1
        bad = self.fault == "reward" and self.index == 2 and self.time == 5
        reward = np.nan if bad else 1.0
        return self.observe(), reward, False, self.time == 7, {}


def trainer(space, fault, network="mingru", **settings):
    counter = iter(range(-1, 99))  # the first one is built to learn about its spaces
    creator = functools.partial(Faulty, space, fault, counter)
    vecenv = make(
        functools.partial(GymnasiumPufferEnv, env_creator=creator), backend=Serial, num_envs=4
    )
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(network=network, hidden_size=8), vecenv)
    return PuffeRL(TrainConfig(device="cpu", horizon=8, prio_alpha=0, **settings), vecenv, policy)


@pytest.mark.parametrize(
    ("space", "fault", "message"),
    [
        (FLAT, "nan", r"observation\[2\] is nan"),
        (FLAT, "inf", r"observation\[2\] is -inf"),
        (NESTED, "nan", r"observation\.joints\[1\]\[0\] is nan"),
        (FLAT, "reward", "reward is nan"),
    ],
)
def test_a_run_stops_and_says_where(space, fault, message):
    trained = trainer(space, fault)
    with pytest.raises(NonFiniteError, match=rf"environment 2, agent 2, after 20 steps: {message}"):
        trained.evaluate()


@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize(("space", "fault"), [(FLAT, "nan"), (NESTED, "inf"), (FLAT, "reward")])
def test_or_goes_on_without_such_samples(space, fault, network, caplog):
    trained = trainer(space, fault, network, on_non_finite="mask")
    for epoch in range(3):
        trained.evaluate()
        masks = trained.rollout.masks
        # Step 5 of an episode of 7: its reward is that of transition 4, its observation that of 5.
        steps = np.arange(8 * epoch, 8 * epoch + 8) % 7
        assert masks[2].tolist() == (steps != (4 if fault == "reward" else 5)).tolist()
        assert masks[[0, 1, 3]].all()
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-9
        losses = [value for name, value in logs.items() if name.startswith("losses/")]
        assert np.isfinite(losses).all()
        for parameter in trained.policy.parameters():
            assert torch.isfinite(parameter).all()
    # Steps 5, 12 and 19 of 24, as many rewards as observations.
    assert logs["losses/non_finite"] == 3
    assert logs["losses/skipped_updates"] == 0
    assert "environment 2" in caplog.text
    assert len(caplog.records) == 1


def test_weights_that_diverged_are_not_blamed_on_the_environment():
    trained = trainer(FLAT, "none")
    with torch.no_grad():
        trained.policy.decoder.critic.bias.fill_(torch.nan)
    with pytest.raises(DivergedError, match="weights have diverged"):
        trained.evaluate()
