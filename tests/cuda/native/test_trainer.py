from types import SimpleNamespace

import numpy as np
import pytest
import torch
from native_trainers import make_native, make_vecenv, policy_for

from puffer_core import APIUsageError
from puffer_cuda import checkpoint
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.errors import DivergedError, NonFiniteError
from puffer_cuda.evaluation import evaluate_policy
from puffer_cuda.native import library
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import Serial, make


def epochs(trained, count):
    """Logs of `count` epochs less those that a clock decides."""
    logs = []
    for _ in range(count):
        trained.evaluate()
        entries = trained.train()
        clocks = ("SPS", "uptime", "performance/")
        logs.append({k: v for k, v in entries.items() if not k.startswith(clocks)})
    return logs


def everything(trained):
    arrays = {name: tensor.numpy() for name, tensor in trained.handle.tensors.items()}
    arrays |= trained.vecenv.get_state()
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("settings", [{}, {"prio_alpha": 0, "replay_ratio": 2}], ids=str)
@pytest.mark.parametrize("network", ["mlp", "mingru"])
def test_same_seed_same_bytes_whatever_the_threads(network, settings):
    # 600 environments are several slices of the rollout, 9600 steps several lanes of a minibatch.
    def run(seed, threads):
        env = {"size": 3, "num_envs": 600}
        trained = make_native(
            env=env, policy={"network": network}, threads=threads, seed=seed, **settings
        )
        epochs(trained, 3)
        return everything(trained)

    one = run(1, 1)
    assert one == run(1, 1) == run(1, 2) == run(1, 3)
    assert one["weights"] != run(2, 1)["weights"]


@pytest.mark.parametrize("env", [{}, {"size": 3}], ids=str)
@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize("horizon", [1, 16, 300])
def test_unchanged_weights_give_the_rollouts_probabilities(network, env, horizon):
    trained = make_native(
        env=env, policy={"network": network}, horizon=horizon, minibatch_size=24 * horizon
    )
    for _ in range(3):
        trained.evaluate()
        logs = trained.train()
        assert abs(logs["losses/approx_kl"]) < 1e-8
        assert abs(logs["losses/old_approx_kl"]) < 1e-6
        assert logs["losses/clipfrac"] == 0


def test_a_forgotten_reset_would_show():
    trained = make_native(env={"size": 3}, learning_rate=0.1)
    epochs(trained, 5)
    trained.evaluate()
    trained.rollout.starts[:] = False
    assert trained.train()["losses/approx_kl"] > 1e-6


@pytest.mark.parametrize("settings", [{"prio_alpha": 0}, {"optimizer": "adamw"}], ids=str)
@pytest.mark.parametrize("network", ["mlp", "mingru"])
def test_three_and_three_are_six(tmp_path, network, settings):
    case = {"env": {"size": 3}, "policy": {"network": network}, "minibatch_size": 64, **settings}
    whole = make_native(**case)
    expected = epochs(whole, 6)
    first = make_native(**case)
    assert epochs(first, 3) == expected[:3]
    folder = first.save_checkpoint(tmp_path)
    second = make_native(**{**case, "policy": {"network": network, "seed": 99}})
    epochs(second, 1)  # nothing of its own start must matter
    assert second.load_checkpoint(folder) == ""
    assert epochs(second, 3) == expected[3:]
    assert everything(second) == everything(whole)
    assert second.uptime > first.logs["uptime"]


def test_a_checkpoint_is_one_of_the_torch_policy(tmp_path):
    trained = make_native(env={"size": 3})
    epochs(trained, 2)
    folder = trained.save_checkpoint(tmp_path)
    policy = policy_for(make_vecenv(size=3), seed=1)
    checkpoint.load_weights(folder, policy)
    for name, parameter in policy.named_parameters():
        assert torch.equal(parameter, trained.handle.tensors[f"weights/{name}"])


def test_checkpoints_of_others_are_refused(tmp_path):
    trained = make_native()
    epochs(trained, 1)
    folder = trained.save_checkpoint(tmp_path)
    with pytest.raises(APIUsageError, match="weights of another policy"):
        make_native(policy={"hidden_size": 24}).load_checkpoint(folder)
    with pytest.raises(APIUsageError, match=r"another number|observations is"):
        make_native(env={"num_envs": 12}).load_checkpoint(folder)


def test_what_a_rollout_stores_of_truncations():
    # Cartpole falls after 8 steps at the earliest: at 5 steps every episode is cut.
    trained = make_native("cartpole", env={"max_steps": 5})
    trained.evaluate()
    r = trained.rollout
    expected = torch.arange(16) % 5 == 4
    assert torch.equal(r.truncations, expected.expand(24, 16))
    assert not r.terminals.any()
    assert torch.equal(r.starts, (torch.arange(16) % 5 == 0).expand(24, 16))
    assert (r.final_values[r.truncations] != 0).all()
    assert trained.global_step == 24 * 16
    logs = trained.train()
    assert logs["environment/n"] == 24 * 3
    assert logs["environment/episode_length"] == 5


def test_continuous_actions_store_the_raw_sample():
    trained = make_native("cartpole", env={"continuous": True})
    with torch.no_grad():
        trained.policy.decoder.log_std.fill_(1.0)  # e times the bound: many samples lie outside
    trained.evaluate()
    assert trained.rollout.actions.abs().max() > 1
    assert np.abs(trained.vecenv.driver_env.actions).max() <= 1
    assert abs(trained.train()["losses/approx_kl"]) < 1e-8


def test_actions_have_the_policys_distribution():
    trained = make_native(env={"num_envs": 1024}, policy={"network": "mlp"}, horizon=64)
    trained.evaluate()
    r = trained.rollout
    with torch.no_grad():
        logits, _ = trained.policy(r.observations, (), r.starts)
    expected = torch.softmax(logits, -1).mean((0, 1))
    counts = torch.bincount(r.actions.flatten().long(), minlength=5) / r.actions.numel()
    # 65,536 draws: five standard errors
    assert (counts - expected).abs().max() < 5 * 0.5 / 256


def test_reward_scale_and_clip():
    scaled = make_native("squared", env={"size": 3}, reward_scale=3.0, reward_clip=2.0)
    scaled.evaluate()
    assert set(scaled.rollout.rewards.unique().tolist()) == {-2.0, 0.0, 2.0}
    ended = (scaled.rollout.rewards != 0).sum()
    assert scaled.train()["losses/clipped_rewards"] == pytest.approx(float(ended) / (24 * 16))
    raw = make_native("squared", env={"size": 3}, reward_scale=3.0, reward_clip=0.0)
    raw.evaluate()
    assert set(raw.rollout.rewards.unique().tolist()) == {-3.0, 0.0, 3.0}


def test_a_reward_that_is_not_finite_names_the_agent():
    trained = make_native()
    ffi = library.declarations()
    env = trained.vecenv.driver_env
    functions, vec, buffers = env.native_parts()

    @ffi.callback("void (*)(void *, int32_t, int32_t)")
    def broken(_, first, last):
        functions.step(vec, first, last)
        buffers["rewards"][7] = np.nan

    address = library.address(broken)
    changed = SimpleNamespace(step=ffi.cast("void *", address))
    env.native_parts = lambda: (changed, vec, buffers)
    policy = trained.policy
    trained = NativePuffeRL(TrainConfig(horizon=16), trained.vecenv, policy)
    with pytest.raises(FloatingPointError, match=r"reward nan for agent 7 in step 0"):
        trained.evaluate()


@pytest.mark.parametrize("network", ["mlp", "mingru"])
@pytest.mark.parametrize("step", [0, 5, 16])  # 16: after the last action of the rollout
def test_an_observation_that_is_not_finite_names_the_place(network, step):
    trained = make_native("cartpole", policy={"network": network})
    ffi = library.declarations()
    env = trained.vecenv.driver_env
    functions, vec, buffers = env.native_parts()
    calls = [0] * 24  # of each environment

    @ffi.callback("void (*)(void *, int32_t, int32_t)")
    def broken(_, first, last):
        functions.step(vec, first, last)
        for i in range(first, last):
            calls[i] += 1
        if first <= 7 < last and calls[7] == step:
            buffers["observations"][7, 2] = np.inf

    address = library.address(broken)
    changed = SimpleNamespace(step=ffi.cast("void *", address))
    env.native_parts = lambda: (changed, vec, buffers)
    trained = NativePuffeRL(TrainConfig(horizon=16), trained.vecenv, trained.policy)
    if step == 0:
        buffers["observations"][7, 2] = np.inf
    words = rf"environment 7, agent 7, in step {step} of .*: observation\[2\] is inf"
    with pytest.raises(NonFiniteError, match=words):
        trained.evaluate()


def test_weights_that_diverged_are_told_apart():
    trained = make_native()
    with torch.no_grad():
        next(trained.policy.parameters()).fill_(torch.inf)
    with pytest.raises(DivergedError, match="weights have diverged"):
        trained.evaluate()


def test_updates_that_are_not_finite_are_skipped_counted_and_end_the_run():
    trained = make_native(max_skipped_updates=3, minibatch_size=24 * 16)

    def poisoned():
        trained.evaluate()
        trained.rollout.values[:, 0] = torch.nan
        return trained.train()

    before = everything(trained)["weights"]
    assert poisoned()["losses/skipped_updates"] == 1
    assert everything(trained)["weights"] == before
    epochs(trained, 1)  # a good one in between
    before = everything(trained)["weights"]
    poisoned()
    poisoned()
    with pytest.raises(DivergedError, match="3 updates in a row"):
        poisoned()
    assert everything(trained)["weights"] == before


@pytest.mark.parametrize(
    "settings",
    [
        *({"beta1": 0.5}, {"beta2": 0.5}, {"eps": 1.0}, {"weight_decay": 0.5}),
        *({"adamw_ratio": 0.9}, {"max_grad_norm": 0.1}, {"gamma": 0.5}, {"gae_lambda": 0.5}),
        *({"clip_coef": 0.01}, {"vf_coef": 0.5}, {"vf_clip_coef": 0.001}, {"ent_coef": 0.5}),
        *({"rho_clip": 0.9}, {"c_clip": 0.9}, {"prio_alpha": 0.1}, {"prio_beta0": 0.9}),
        *({"learning_rate": 0.001}, {"reward_clip": 0.5}, {"replay_ratio": 2}),
    ],
    ids=str,
)
def test_every_setting_acts(settings):
    def after_two_epochs(**more):
        case = {"env": {"size": 3}, "eps": 1e-8, "minibatch_size": 64, "horizon": 8, **more}
        trained = make_native(**case)
        epochs(trained, 2)
        return everything(trained)["weights"]

    assert after_two_epochs(**settings) != after_two_epochs()


def test_steps_pass_32_bits():
    trained = make_native()
    trained.handle.counters.steps = 2**31 - 5
    assert epochs(trained, 1)[0]["agent_steps"] == 2**31 - 5 + 24 * 16


def test_what_it_cannot_train_is_said():
    vecenv = make_vecenv()
    config = TrainConfig(horizon=16)
    with pytest.raises(APIUsageError, match="does not know LSTM"):
        NativePuffeRL(config, vecenv, make_policy(PolicyConfig(network="lstm"), vecenv))
    with pytest.raises(APIUsageError, match=r"policies of puffer_cuda\.policy, not Linear"):
        NativePuffeRL(config, vecenv, torch.nn.Linear(3, 3))
    serial = make(env_creator("squared"), backend=Serial, num_envs=2)
    with pytest.raises(APIUsageError, match="native"):
        NativePuffeRL(config, serial, policy_for(serial))


def test_a_closed_environment_is_an_error_not_a_crash():
    trained = make_native()
    epochs(trained, 1)
    weights = trained.policy.encoder.linear.weight
    trained.close()
    with pytest.raises(APIUsageError, match="closed"):
        trained.evaluate()
    del trained
    assert torch.isfinite(weights).all()  # the policy keeps its memory alive


def test_it_learns_squared():
    trained = make_native(
        env={"num_envs": 256, "size": 5},
        policy={"network": "mlp", "hidden_size": 64, "num_layers": 1},
        learning_rate=0.03,
        ent_coef=0.05,
        prio_alpha=0,
        horizon=64,
        total_timesteps=1_000_000,
    )
    while trained.epoch < trained.total_epochs:
        trained.evaluate()
        trained.train()
    episodes = evaluate_policy(trained.policy, make_vecenv(num_envs=128, size=5), seed=1)
    assert episodes["perf"].mean() > 0.95
