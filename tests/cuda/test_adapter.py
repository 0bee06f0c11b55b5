"""The forms of users' policies: all act and learn alike, and keep their weights."""

import pytest
import torch
from torch import nn
from torch.distributions import Normal

from puffer_cuda.adapter import PolicyAdapter, unflatten
from puffer_cuda.config import TrainConfig
from puffer_cuda.models import Default, LSTMWrapper
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import make

HIDDEN = 16


class Base(nn.Module):
    def __init__(self, env):
        super().__init__()
        self.net = nn.Linear(env.single_observation_space.shape[0], HIDDEN)
        self.action_head = nn.Linear(HIDDEN, env.single_action_space.n)
        self.value_head = nn.Linear(HIDDEN, 1)

    def encode(self, observations):
        return torch.relu(self.net(observations.float()))

    def decode(self, hidden):
        return self.action_head(hidden), self.value_head(hidden)


class OnlyForward(Base):
    def forward(self, observations):
        return self.decode(self.encode(observations))


class Old(Base):
    """3.0 without memory: both methods, a state that is not used."""

    def forward_eval(self, observations, state=None):
        return self.decode(self.encode(observations))

    def forward(self, observations, state=None):
        return self.forward_eval(observations, state)


class OldMemory(Base):
    """3.0 with memory: the state is a dict of its own two tensors, which it changes."""

    def __init__(self, env):
        super().__init__(env)
        self.cell = nn.LSTMCell(HIDDEN, HIDDEN)

    def forward_eval(self, observations, state):
        h, c = state["lstm_h"], state["lstm_c"]
        h, c = self.cell(self.encode(observations), None if h is None else (h, c))
        state["hidden"], state["lstm_h"], state["lstm_c"] = h, h, c
        return self.decode(h)

    def forward(self, observations, state):
        raise AssertionError("knows nothing of episode starts")


class New(Base):
    """4.0: three return values, a tuple as state, segments without starts."""

    def __init__(self, env):
        super().__init__(env)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)

    def initial_state(self, batch, device):
        return (torch.zeros(batch, HIDDEN, device=device),)

    def forward_eval(self, observations, state):
        h = self.cell(self.encode(observations), state[0])
        return *self.decode(h), (h,)

    def forward(self, observations, state=None):
        raise AssertionError("knows nothing of episode starts")


class NewWithoutMemory(Base):
    def initial_state(self, batch, device):
        return ()

    def forward_eval(self, observations, state):
        return *self.decode(self.encode(observations)), state

    def forward(self, observations, state=None):
        logits, values, _ = self.forward_eval(observations, ())
        return logits, values


@pytest.mark.parametrize("form", [OnlyForward, Old, OldMemory, New, NewWithoutMemory])
def test_every_form_trains(form):
    vecenv = make(env_creator("squared"), env_kwargs={"num_envs": 16, "size": 3})
    torch.manual_seed(0)
    policy = form(vecenv)
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    settings = {"device": "cpu", "horizon": 16, "prio_alpha": 0, "learning_rate": 0.05}
    trained = PuffeRL(TrainConfig(**settings), vecenv, policy)
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert len(trained.rollout.state) == {OldMemory: 2, New: 1}.get(form, 0)
    for _ in range(3):
        trained.evaluate()
        assert trained.rollout.starts[:, 1:].any()
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-9
        assert logs["losses/clipfrac"] == 0
    for name, tensor in policy.state_dict().items():
        assert not torch.equal(tensor, before[name]), name


@pytest.mark.parametrize("form", [OldMemory, New])
def test_a_forgotten_reset_would_show(form):
    vecenv = make(env_creator("squared"), env_kwargs={"num_envs": 16, "size": 3})
    torch.manual_seed(0)
    settings = {"device": "cpu", "horizon": 16, "prio_alpha": 0, "learning_rate": 0.1}
    trained = PuffeRL(TrainConfig(**settings), vecenv, form(vecenv))
    for _ in range(4):
        trained.evaluate()
        trained.train()
    trained.evaluate()
    trained.rollout.starts[:] = False
    assert trained.train()["losses/approx_kl"] > 1e-6


def test_wrapping_keeps_every_bit():
    env = make(env_creator("squared"))
    inner = Default(env, 32)
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.normal_()
    before = {name: tensor.clone() for name, tensor in inner.state_dict().items()}
    wrapper = LSTMWrapper(env, inner, 32, 32)
    PolicyAdapter(wrapper)
    for name, tensor in inner.state_dict().items():
        assert torch.equal(tensor, before[name]), name
        assert torch.equal(wrapper.state_dict()[f"policy.{name}"], before[name]), name


def test_logits_of_every_kind_take_the_shape_of_segments():
    flat, shape = torch.arange(12.0).view(6, 2), torch.Size((2, 3))
    assert unflatten(flat, shape).shape == (2, 3, 2)
    normal = unflatten(Normal(flat, flat + 1), shape)
    assert normal.loc.equal(flat.view(2, 3, 2))
    assert normal.scale.equal(flat.view(2, 3, 2) + 1)
    heads = unflatten((flat, flat[:, :1]), shape)
    assert [head.shape for head in heads] == [(2, 3, 2), (2, 3, 1)]


def test_bfloat16_in_matrix_products_alone():
    env = make(env_creator("squared"))
    policy = Default(env, 32)
    adapter = PolicyAdapter(policy, precision=torch.bfloat16)
    observations = torch.randint(0, 3, (5, 121), dtype=torch.uint8)
    logits, values, _ = adapter.act(observations, ())
    exact, exact_values, _ = PolicyAdapter(policy).act(observations, ())
    assert values.dtype == torch.float32
    assert not torch.equal(values, exact_values)
    torch.testing.assert_close(values, exact_values, rtol=0.05, atol=0.05)
    torch.testing.assert_close(logits.float(), exact, rtol=0.05, atol=0.05)
