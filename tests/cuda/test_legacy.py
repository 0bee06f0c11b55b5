"""Files and names of PufferLib 3.0. The modules here have the structure of its own."""

import pickle

import pytest
import torch
from gymnasium import spaces
from torch import nn

from puffer_core import APIUsageError
from puffer_cuda.config import TrainConfig
from puffer_cuda.legacy import compute_puff_advantage, load_pt, read_pt
from puffer_cuda.models import Default, LSTMWrapper
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import make


class Theirs(nn.Module):
    """Its default policy: Linear, GELU, a head, a value."""

    def __init__(self, inputs, hidden, actions):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.GELU())
        self.decoder = nn.Linear(hidden, actions)
        self.value = nn.Linear(hidden, 1)


class TheirWrapper(nn.Module):
    """Its LSTM wrapper: the same four tensors under two names."""

    def __init__(self, policy, hidden):
        super().__init__()
        self.policy = policy
        self.lstm = nn.LSTM(hidden, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(self.cell, name, getattr(self.lstm, f"{name}_l0"))


@pytest.fixture
def env():
    return make(env_creator("squared"), env_kwargs={"num_envs": 4})


def test_a_default_policy_with_an_lstm(env, tmp_path):
    torch.manual_seed(0)
    theirs = TheirWrapper(Theirs(121, 16, 5), 16)
    weights = {f"module.{name}": tensor for name, tensor in theirs.state_dict().items()}
    torch.save(weights, tmp_path / "model_000001.pt")
    ours = LSTMWrapper(env, Default(env, 16), 16, 16)
    load_pt(tmp_path / "model_000001.pt", ours)
    observations = torch.randint(0, 3, (7, 3, 121), dtype=torch.uint8)
    state = ours.initial_state(3, torch.device("cpu"))
    hidden = theirs.policy.encoder(observations.float())
    hidden, _ = theirs.lstm(hidden)
    for t in range(7):
        logits, values, state = ours.forward_eval(observations[t], state)
        torch.testing.assert_close(logits, theirs.policy.decoder(hidden[t]))
        torch.testing.assert_close(values, theirs.policy.value(hidden[t])[:, 0])


def test_a_programs_own_module(tmp_path):
    module, other = nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(module.state_dict(), tmp_path / "own.pt")
    load_pt(tmp_path / "own.pt", other)
    assert torch.equal(other.weight, module.weight)
    with pytest.raises(APIUsageError, match=r"weight has shape \(2, 3\), expected \(2, 4\)"):
        load_pt(tmp_path / "own.pt", nn.Linear(4, 2))


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran')",)


def test_nothing_but_tensors_is_read(tmp_path):
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Evil(), 2))
    torch.save({"a": Evil()}, tmp_path / "inner.pt")
    torch.save({"optimizer_state_dict": {"state": {}}, "epoch": 3}, tmp_path / "trainer_state.pt")
    torch.save(torch.zeros(3), tmp_path / "tensor.pt")
    (tmp_path / "text.pt").write_text("no weights")
    for name, message in (
        ("evil.pt", "cannot be read as a file of weights"),
        ("inner.pt", "cannot be read as a file of weights"),
        ("trainer_state.pt", "optimizer_state_dict is a dict.*model_.*pt"),
        ("tensor.pt", "holds no state dict, but a Tensor"),
        ("text.pt", "cannot be read as a file of weights"),
        ("missing.pt", "cannot be read as a file of weights"),
    ):
        with pytest.raises(APIUsageError, match=message):
            read_pt(tmp_path / name)


def test_its_advantages_on_a_row_computed_by_its_rules():
    # V=[.5,.2,-.1,.4,.3], r=[0,1,-1,.5,0], done=[0,0,0,1,0], ratio=[1.5,.5,1,2,1]; step by step:
    # A3 = 1.2 (0 + .9 .3 - .4) = -.156;           A2 = 1 (.5 - -.1) = .6 (done: no V, no A)
    # A1 = .5 (-1 - .09 - .2) + .9 .8 .5 .6;       A0 = 1.2 (1 + .18 - .5) + .9 .8 1 A1
    a1 = 0.5 * (-1 - 0.09 - 0.2) + 0.72 * 0.5 * 0.6
    expected = [1.2 * 0.68 + 0.72 * a1, a1, 0.6, -0.156, 0]
    rows = [[0.5, 0.2, -0.1, 0.4, 0.3], [0, 1, -1, 0.5, 0], [0, 0, 0, 1, 0], [1.5, 0.5, 1, 2, 1]]
    values, rewards, terminals, ratio = (torch.tensor([row], dtype=torch.float32) for row in rows)
    out = torch.full((1, 5), 9.0)
    got = compute_puff_advantage(values, rewards, terminals, ratio, out, 0.9, 0.8, 1.2, 1.0)
    assert got is out
    assert out[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_names_of_its_trainer(env):
    trained = PuffeRL(TrainConfig(horizon=4, device="cpu"), env, Default(env, 8))
    assert (trained.total_agents, trained.segments, trained.minibatch_size) == (4, 4, 16)
    assert trained.observations is trained.rollout.observations
    assert trained.logprobs is trained.rollout.log_probs
    assert trained.uncompiled_policy is trained.policy
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = trained.no_such_name
    trained.evaluate()
    logs = trained.train()
    assert trained.mean_and_log().keys() <= logs.keys()
    trained.print_dashboard()
    trained.close()


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2,))])
def test_the_default_policy_of_other_action_spaces(env, space):
    class Other:
        single_observation_space, emulated = env.single_observation_space, False
        driver_env, single_action_space = env.driver_env, space

    policy = Default(Other(), 8)
    logits, values = policy(torch.zeros(5, 121, dtype=torch.uint8))
    assert values.shape == (5,)
    if isinstance(space, spaces.Box):
        assert logits.loc.shape == logits.scale.shape == (5, 2)
        assert policy.decoder_logstd.shape == (1, 2)
    else:
        assert [head.shape for head in logits] == [(5, 2), (5, 3)]
