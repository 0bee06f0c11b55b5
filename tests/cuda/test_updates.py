"""What the settings of an update do."""

import numpy as np
import pytest
import torch
from toy_envs import Masked

from puffer_core import APIUsageError
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_cuda.schedule import coefficients
from puffer_ocean import env_creator
from puffer_vector import Serial, make


def trainer(network="mlp", seed=3, vecenv=None, num_envs=32, logger=None, **settings):
    vecenv = vecenv or make(env_creator("squared"), env_kwargs={"num_envs": num_envs}, seed=seed)
    torch.manual_seed(seed)
    config = PolicyConfig(network=network, hidden_size=16, num_layers=1)
    settings = {"horizon": 16, "device": "cpu", "seed": seed, "prio_alpha": 0, **settings}
    policy = make_policy(config, vecenv)
    return PuffeRL(TrainConfig(**settings), vecenv, policy, logger)


def weights(trained):
    return torch.cat([parameter.detach().flatten() for parameter in trained.policy.parameters()])


def after(epochs, **settings):
    trained = trainer(**settings)
    for _ in range(epochs):
        trained.evaluate()
        logs = trained.train()
    return trained, logs


@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize("alpha", [0, 0.8])
def test_parts_of_a_minibatch_give_the_same_update(network, alpha):
    # AdamW with a large eps: a rounding error in a gradient stays one in the weights.
    settings = {"network": network, "prio_alpha": alpha, "minibatch_size": 256}
    settings |= {"optimizer": "adamw", "eps": 0.1}
    whole, whole_logs = after(2, **settings)
    for largest in (16, 100, 128):
        parts, logs = after(2, max_minibatch_size=largest, **settings)
        assert parts.plan.part_segments == largest // 16
        torch.testing.assert_close(weights(parts), weights(whole), rtol=0, atol=1e-6)
        for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "grad_norm"):
            expected = whole_logs[f"losses/{name}"]
            assert logs[f"losses/{name}"] == pytest.approx(expected, rel=1e-3, abs=1e-6), name


def test_parts_smaller_than_a_segment_are_refused():
    with pytest.raises(APIUsageError, match="max_minibatch_size must hold a segment"):
        trainer(max_minibatch_size=15)


def test_schedules_by_epoch():
    config = TrainConfig(
        learning_rate=0.1, warmup=0.25, ent_coef=0.2, anneal_ent=True, prio_beta0=0
    )
    values = [coefficients(config, epoch, 8) for epoch in range(8)]
    cosine = [(1 + np.cos(np.pi * k / 8)) / 2 for k in range(8)]
    warm = [0.5, *[1.0] * 7]  # a quarter of 8 epochs: half the rate, then all of it
    assert [v.learning_rate for v in values] == pytest.approx(
        [0.1 * w * c for w, c in zip(warm, cosine, strict=True)]
    )
    assert [v.ent_coef for v in values] == pytest.approx([0.2 * (0.1 + 0.9 * c) for c in cosine])
    assert [v.prio_beta for v in values] == pytest.approx([k / 8 for k in range(8)])
    steady = coefficients(TrainConfig(anneal_lr=False, ent_coef=0.2), 7, 8)
    assert (steady.learning_rate, steady.ent_coef) == (0.015, 0.2)


def test_an_epoch_ends_where_the_policy_has_moved_too_far():
    settings = {"minibatch_size": 64, "learning_rate": 0.3, "replay_ratio": 4}
    _, free = after(1, **settings)
    assert free["losses/updates"] == 32
    _, stopped = after(1, target_kl=1e-3, **settings)
    assert 1 < stopped["losses/updates"] < 32
    _, never = after(1, target_kl=1e9, **settings)
    assert never["losses/policy_loss"] == free["losses/policy_loss"]


@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm"])
def test_bfloat16_learns_from_nearly_the_same_numbers(network):
    _, logs = after(1, network=network)
    rough, rough_logs = after(1, network=network, precision="bfloat16")
    assert all(parameter.dtype == torch.float32 for parameter in rough.policy.parameters())
    assert rough_logs["losses/policy_loss"] != logs["losses/policy_loss"]
    # Acting and learning take different ways to the same number: 8 bits of mantissa apart at most.
    assert abs(rough_logs["losses/approx_kl"]) < 1e-4
    assert rough_logs["losses/entropy"] == pytest.approx(logs["losses/entropy"], rel=0.05)


@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize("backend", [None, Serial])
def test_actions_stay_within_their_masks(network, backend):
    vec = {} if backend is None else {"backend": Serial, "num_envs": 2}
    trained = trainer(network, vecenv=make(Masked, **vec), horizon=16, learning_rate=0.1)
    for _ in range(3):
        trained.evaluate()  # the environment asserts that no other choice is taken
        rollout = trained.rollout
        assert rollout.allowed.shape == (rollout.segments, 16, 5)
        which = rollout.actions + torch.tensor([0, 3])
        assert rollout.allowed.gather(2, which).all()
        # One or two choices in the first head, one in the second: at most log 2 where it is two.
        free = (rollout.allowed[..., :3].sum(-1) == 2).float().mean().item()
        logs = trained.train()
        assert 0 < logs["losses/entropy"] <= np.log(2) * free + 1e-6
        assert abs(logs["losses/approx_kl"]) < 1e-9
        assert logs["losses/clipfrac"] == 0


def test_without_masks_none_are_stored():
    trained = trainer()
    trained.evaluate()
    assert trained.rollout.allowed is None


def test_reward_normalisation_and_its_statistics_in_checkpoints(tmp_path):
    trained, _ = after(2, normalize_rewards=True, reward_clip=0)
    scaler = trained.rollout.rewards_of
    assert scaler.count == trained.global_step
    assert scaler.deviation != 1
    folder = trained.save_checkpoint(tmp_path)
    again = trainer(normalize_rewards=True, reward_clip=0, seed=99)
    again.load_checkpoint(folder)
    for one in (trained, again):
        one.evaluate()
        one.train()
    assert torch.equal(weights(again), weights(trained))
    assert again.rollout.rewards_of.deviation == scaler.deviation


def test_a_logger_gets_every_epoch_and_its_failure_is_loud_but_no_end(caplog):
    class Fragile:
        def __init__(self):
            self.steps = []

        def log(self, logs, step):
            assert logs["agent_steps"] == step
            self.steps.append(step)
            if len(self.steps) == 2:
                raise ConnectionError("the service is away")

    logger = Fragile()
    after(3, logger=logger)
    assert logger.steps == [512, 1024, 1536]
    assert "the service is away" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm"])
def test_compiled_policies_learn_the_same(network):
    plain, logs = after(2, network=network, optimizer="adamw", eps=0.1)
    compiled, compiled_logs = after(
        2, network=network, optimizer="adamw", eps=0.1, compile="default"
    )
    torch.testing.assert_close(weights(compiled), weights(plain), rtol=0, atol=1e-4)
    assert compiled_logs["losses/entropy"] == pytest.approx(logs["losses/entropy"], rel=1e-3)
