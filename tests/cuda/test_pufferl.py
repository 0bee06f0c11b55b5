import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from puffer_core import PufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.models import Default, LSTMWrapper
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import DivergedError, PuffeRL
from puffer_ocean import env_creator
from puffer_vector import Multiprocessing, Serial, make


def trainer(name="squared", network="mlp", policy=None, seed=3, vec=None, env=None, **settings):
    vecenv = make(
        env_creator(name), env_kwargs={"num_envs": 32, **(env or {})}, seed=seed, **(vec or {})
    )
    torch.manual_seed(seed)
    policy = policy or make_policy(
        PolicyConfig(network=network, hidden_size=32, num_layers=2), vecenv
    )
    settings = {"horizon": 16, "device": "cpu", "seed": seed, "prio_alpha": 0, **settings}
    return PuffeRL(TrainConfig(**settings), vecenv, policy)


def weights(trained):
    return torch.cat([parameter.detach().flatten() for parameter in trained.policy.parameters()])


@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm", "gru"])
@pytest.mark.parametrize("env", [{}, {"size": 3}])
def test_unchanged_weights_give_the_rollouts_probabilities(network, env):
    # One minibatch is the whole batch, so all figures are those of the first minibatch. Episodes of
    # a 3 x 3 grid end every few steps; the second epoch starts from carried states.
    trained = trainer(network=network, env=env)
    for _ in range(3):
        trained.evaluate()
        assert trained.rollout.starts.any()
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-9
        assert abs(logs["losses/old_approx_kl"]) < 1e-6
        assert logs["losses/clipfrac"] == 0


@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm"])
def test_a_separate_critic_shares_nothing_with_the_actor(network):
    env = make(env_creator("squared"), env_kwargs={"size": 3})
    config = PolicyConfig(
        network=network, hidden_size=32, num_layers=1, critic="separate", activation="tanh"
    )
    policy = make_policy(config, env)
    observations = torch.rand(4, 6, *env.single_observation_space.shape)
    state = policy.initial_state(4, torch.device("cpu"))
    logits, values = policy(observations, state, torch.zeros(4, 6, dtype=torch.bool))
    of_actor, of_critic = (
        {
            name
            for name, parameter in policy.named_parameters()
            if torch.autograd.grad(out.sum(), parameter, retain_graph=True, allow_unused=True)[0]
            is not None
        }
        for out in (logits, values)
    )
    assert not of_actor & of_critic
    assert of_actor | of_critic == {name for name, _ in policy.named_parameters()}
    trained = trainer(policy=policy, env={"size": 3})
    for _ in range(3):  # the states of both halves are kept and cleared
        trained.evaluate()
        r = trained.rollout
        with torch.no_grad():
            _, again = policy(r.observations, r.initial_state, r.starts)
        torch.testing.assert_close(again, r.values[:, :-1], rtol=0, atol=1e-5)
        assert abs(trained.train()["losses/approx_kl"]) < 1e-9


@pytest.mark.parametrize("horizon", [1, 64])
@pytest.mark.parametrize("network", ["mingru", "lstm", "gru"])
def test_any_horizon(network, horizon):
    trained = trainer(network=network, env={"size": 3, "num_envs": 8}, horizon=horizon)
    for _ in range(3):
        trained.evaluate()
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-9
        assert logs["losses/clipfrac"] == 0


@pytest.mark.parametrize("network", ["mingru", "lstm", "gru"])
def test_a_forgotten_reset_would_show(network):
    # The control of the tests above: without episode starts the states differ, and so does the KL.
    trained = trainer(network=network, env={"size": 3}, learning_rate=0.1)
    for _ in range(5):
        trained.evaluate()
        trained.train()
    trained.evaluate()
    trained.rollout.starts[:] = False
    assert trained.train()["losses/approx_kl"] > 1e-6


class Clock(PufferEnv):
    """Two agents whose observation and reward tell the step; ends at known steps."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = gymnasium.spaces.Box(-1e6, 1e6, (1,), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)

    def reset(self, seed=None):
        self.time = 0
        self.observations[:] = [[0], [1000]]
        return self.observations, []

    def step(self, actions):
        self.time += 1
        end = {5: "terminal", 9: "truncated", 12: "both"}.get(self.time)
        self.rewards[:] = self.time / 1000
        self.terminals[:] = end in ("terminal", "both")
        self.truncations[:] = end in ("truncated", "both")
        self.masks[:] = [True, self.time % 4 != 0]
        self.observations[:] = [[self.time], [1000 + self.time]]
        if end:
            self.final_observations[:] = self.observations + 0.5
        return self.observations, self.rewards, self.terminals, self.truncations, []


class Reader(nn.Module):
    """Its value is the observation."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, observations, state=None):
        value = observations * self.scale
        return torch.cat((value * 0, value * 0), -1), value


def test_what_a_rollout_stores():
    policy = Reader()
    trained = PuffeRL(
        TrainConfig(horizon=8, device="cpu", learning_rate=1e-12), make(Clock), policy
    )
    for epoch in range(2):
        trained.evaluate()
        r, first = trained.rollout, 8 * epoch
        steps = torch.arange(first, first + 8, dtype=torch.float32)
        assert r.observations[0, :, 0].tolist() == steps.tolist()
        assert r.observations[1, :, 0].tolist() == (steps + 1000).tolist()
        # the reward and the ends of action t are those of the step that it caused
        torch.testing.assert_close(r.rewards[0], (steps + 1) / 1000)
        assert r.terminals[0].tolist() == [int(t) + 1 in (5, 12) for t in steps]
        assert r.truncations[0].tolist() == [int(t) + 1 == 9 for t in steps]
        assert r.starts[0].tolist() == [int(t) in (0, 5, 9, 12) for t in steps]
        assert r.masks[1].tolist() == [(int(t) + 1) % 4 != 0 for t in steps]
        # H + 1 values: the last is that of the observation after the last action
        assert r.values[1].tolist() == [1000 + first + t for t in range(9)]
        cut = r.truncations[1]
        assert r.final_values[1][cut].tolist() == [1009.5] * int(cut.sum())
        assert trained.global_step == 16 * (epoch + 1) - 2 * (epoch + 1)  # masked steps are none
        trained.train()


@pytest.mark.parametrize("network", ["mlp", "mingru"])
def test_same_seed_same_bytes(network):
    def run(seed, threads):
        trained = trainer(
            network=network, seed=seed, env={"num_threads": threads}, prio_alpha=0.5,
            minibatch_size=128,
        )  # fmt: skip
        for _ in range(3):
            trained.evaluate()
            trained.train()
        return weights(trained).numpy().tobytes()

    assert run(1, 1) == run(1, 1) == run(1, 2)
    assert run(1, 1) != run(2, 1)


def test_blocks_in_flight_fill_the_same_kind_of_rollout():
    trained = trainer(
        network="mingru",
        env={"size": 3, "num_envs": 8},
        vec={"backend": Multiprocessing, "num_envs": 4, "num_workers": 2, "batch_size": 2},
    )
    try:
        for _ in range(2):
            trained.evaluate()
            assert trained.global_step == 4 * 8 * 16 * (trained.epoch + 1)
            assert abs(trained.train()["losses/approx_kl"]) < 1e-9
    finally:
        trained.close()


class Custom(nn.Module):
    """What users write: two return values, no state, only `forward`."""

    def __init__(self, env):
        super().__init__()
        self.net = nn.Linear(env.single_observation_space.shape[0], 16)
        self.action_head = nn.Linear(16, env.single_action_space.n)
        self.value_head = nn.Linear(16, 1)

    def forward(self, observations, state=None):
        hidden = torch.relu(self.net(observations.float()))
        return self.action_head(hidden), self.value_head(hidden)


def test_a_users_module_trains():
    driver = make(env_creator("squared"))
    trained = trainer(policy=Custom(driver))
    before = weights(trained)
    trained.evaluate()
    logs = trained.train()
    assert abs(logs["losses/approx_kl"]) < 1e-9
    assert not torch.equal(weights(trained), before)


def test_an_lstm_between_the_halves_of_a_users_policy():
    class Halves(Custom):
        def encode_observations(self, observations, state=None):
            return torch.relu(self.net(observations.float()))

        def decode_actions(self, hidden):
            return self.action_head(hidden), self.value_head(hidden)

    inner = Halves(make(env_creator("squared"), env_kwargs={"size": 3}))
    before = {name: tensor.clone() for name, tensor in inner.state_dict().items()}
    policy = LSTMWrapper(None, inner, input_size=16, hidden_size=16)
    for name, tensor in inner.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    trained = trainer(policy=policy, env={"size": 3})
    for _ in range(2):
        trained.evaluate()
        assert abs(trained.train()["losses/approx_kl"]) < 1e-9
    with pytest.raises(TypeError, match="Custom has no encode_observations"):
        LSTMWrapper(None, Custom(make(env_creator("squared"))))


def test_the_default_policy_with_and_without_memory():
    env = make(env_creator("squared"))
    for policy in (Default(env, 32), LSTMWrapper(env, Default(env, 32), 32, 32)):
        trained = trainer(policy=policy)
        trained.evaluate()
        assert abs(trained.train()["losses/approx_kl"]) < 1e-9


def test_continuous_actions_store_the_raw_sample():
    trained = trainer("cartpole", env={"continuous": True}, network="mingru")
    with torch.no_grad():
        trained.policy.decoder.log_std.fill_(1.0)  # e times the bound: many samples lie outside
    trained.evaluate()
    assert trained.rollout.actions.abs().max() > 1
    assert np.abs(trained.vecenv.driver_env.actions).max() <= 1
    logs = trained.train()
    assert abs(logs["losses/approx_kl"]) < 1e-9


def test_reward_scale_and_clip():
    class Big(Clock):
        def step(self, actions):
            result = super().step(actions)
            self.rewards[:] = [5, 0.5]
            return result

    trained = PuffeRL(TrainConfig(horizon=8, device="cpu"), make(Big), Reader())
    trained.evaluate()
    assert trained.rollout.rewards[:, 0].tolist() == [1.0, 0.5]
    assert trained.train()["losses/clipped_rewards"] == pytest.approx(8 / 14)
    raw = PuffeRL(TrainConfig(horizon=8, device="cpu", reward_clip=0), make(Big), Reader())
    raw.evaluate()
    assert raw.rollout.rewards[:, 0].tolist() == [5.0, 0.5]
    config = TrainConfig(horizon=8, device="cpu", reward_scale=0.1)
    scaled = PuffeRL(config, make(Big), Reader())
    scaled.evaluate()
    assert scaled.rollout.rewards[:, 0].tolist() == pytest.approx([0.5, 0.05])
    assert scaled.train()["losses/clipped_rewards"] == 0


def test_a_reward_that_is_not_finite_names_environment_agent_and_step():
    class Broken(Clock):
        def step(self, actions):
            result = super().step(actions)
            if self.time == 3:
                self.rewards[1] = np.nan
            return result

    trained = PuffeRL(TrainConfig(horizon=8, device="cpu"), make(Broken), Reader())
    with pytest.raises(
        FloatingPointError, match="environment 0, agent 1, after 6 steps: reward is nan"
    ):
        trained.evaluate()


def test_updates_that_are_not_finite_are_skipped_counted_and_end_the_run():
    trained = trainer(max_skipped_updates=3)
    before = weights(trained)

    def poisoned(epoch):
        trained.evaluate()
        trained.rollout.values[0, 0] = torch.nan
        return trained.train()

    assert poisoned(0)["losses/skipped_updates"] == 1
    assert torch.equal(weights(trained), before)
    trained.evaluate()
    trained.train()  # a good one in between
    assert not torch.equal(weights(trained), before)
    before = weights(trained)
    poisoned(1)
    poisoned(2)
    with pytest.raises(DivergedError, match="3 updates in a row"):
        poisoned(3)
    assert torch.equal(weights(trained), before)


@pytest.mark.parametrize(
    "settings",
    [{"beta1": 0.5}, {"beta2": 0.5}, {"eps": 1.0}, {"weight_decay": 0.5}, {"adamw_ratio": 0.9}],
)
@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
def test_every_setting_of_the_optimizer_has_an_effect(optimizer, settings):
    if optimizer == "adamw" and "adamw_ratio" in settings:
        pytest.skip("of muon alone")

    def after_two_epochs(**more):
        trained = trainer(optimizer=optimizer, **{"eps": 1e-8, **more})
        for _ in range(2):
            trained.evaluate()
            trained.train()
        return weights(trained)

    assert not torch.equal(after_two_epochs(**settings), after_two_epochs())


def test_learning_rate_falls_to_its_floor():
    trained = trainer(total_timesteps=32 * 16 * 4, learning_rate=0.1, min_lr_ratio=0.1)
    rates = []
    while trained.epoch < trained.total_epochs:
        trained.evaluate()
        rates.append(trained.train()["learning_rate"])
    share = [(1 + np.cos(np.pi * k / 4)) / 2 for k in range(4)]
    assert rates == pytest.approx([0.1 * (0.1 + 0.9 * s) for s in share])


def test_serial_batches_of_several_environments():
    trained = trainer(vec={"backend": Serial, "num_envs": 3}, env={"num_envs": 4})
    trained.evaluate()
    assert trained.global_step == 3 * 4 * 16
    logs = trained.train()
    assert logs["environment/n"] > 0
    assert logs["environment/episode_length"] <= 34
