"""The native trainer against the Torch trainer: the same rollout, the same update."""

import copy

import pytest
import torch
from native_trainers import make_native, make_vecenv

from puffer_cuda.config import TrainConfig
from puffer_cuda.pufferl import PuffeRL
from puffer_cuda.sampling import sample_logits

# How far a float32 sum in another order may be off: relative to the largest entry.
BOUND = 2e-5

FAST = {"name": "squared", "env": {"size": 3}}
CUT = {"name": "cartpole", "env": {"max_steps": 10}}  # truncated at 10 steps
WIDE = {"name": "breakout", "env": {}}
CONTINUOUS = {"name": "cartpole", "env": {"continuous": True, "max_steps": 30}}


def twins(case, policy=None, **settings):
    """A native and a Torch trainer with the same weights, and the native one's rollout in both."""
    settings = {"prio_alpha": 0, "eps": 1e-8, **settings}
    trained = make_native(case["name"], case["env"], policy, **settings)
    reference = PuffeRL(
        TrainConfig(**{"horizon": 16, "seed": 5, "device": "cpu", **settings}),
        make_vecenv(case["name"], **case["env"]),
        copy.deepcopy(trained.policy),
    )
    return trained, reference


def share_rollout(trained, reference):
    trained.evaluate()
    ours, theirs = trained.rollout, reference.rollout
    for name in (
        *("observations", "log_probs", "values", "rewards", "final_values", "terminals"),
        *("truncations", "masks", "starts"),
    ):
        getattr(theirs, name).copy_(getattr(ours, name))
    theirs.actions.copy_(ours.actions.view_as(theirs.actions))
    for tensor in theirs.initial_state:
        tensor.copy_(ours.initial_state)


def close(ours, theirs, bound=BOUND):
    scale = float(theirs.abs().max()) + 1e-12
    assert float((ours - theirs).abs().max()) <= bound * scale


MLP = {"network": "mlp", "num_layers": 2}
MINGRU = {"network": "mingru", "num_layers": 2}
NO_LAYERS = {"network": "mingru", "num_layers": 0}
COMBINATIONS = [
    (FAST, MLP), (FAST, MINGRU), (CUT, MINGRU), (WIDE, MINGRU), (CONTINUOUS, MLP),
    (CONTINUOUS, MINGRU), (FAST, NO_LAYERS),
]  # fmt: skip


@pytest.mark.parametrize(("case", "policy"), COMBINATIONS, ids=str)
def test_rollout_is_what_the_torch_policy_computes(case, policy):
    trained, _ = twins(case, policy)
    for _ in range(2):  # the second starts from carried states
        trained.evaluate()
        r = trained.rollout
        state = (r.initial_state,) if trained.handle.tensors["state"].numel() else ()
        if policy["network"] == "mlp":
            state = ()
        elif not state:
            state = (torch.zeros(24, 0, 20),)
        with torch.no_grad():
            logits, values = trained.policy(r.observations, state, r.starts)
        actions = r.actions if case is CONTINUOUS else r.actions.squeeze(-1).long()
        _, log_probs, _ = sample_logits(logits, actions)
        close(r.values[:, :-1], values)
        close(r.log_probs, log_probs)
        assert r.starts.any() or case is WIDE


@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
@pytest.mark.parametrize(("case", "policy"), COMBINATIONS, ids=str)
def test_losses_gradients_and_weights_after_one_and_ten_updates(case, policy, optimizer):
    whole = {"minibatch_size": 24 * 16, "optimizer": optimizer, "learning_rate": 0.003}
    trained, reference = twins(case, policy, replay_ratio=1, **whole)
    trained.evaluate()  # so that states are carried
    for update in range(10):
        share_rollout(trained, reference)
        ours = trained.train()
        theirs = reference.train()
        for name, value in theirs.items():
            if name.startswith("losses/") and "clipped_rewards" not in name:
                bound = 5e-4 * (update + 1)
                assert ours[name] == pytest.approx(value, rel=bound, abs=2e-6), name
        names = dict(trained.policy.named_parameters())
        for name, parameter in reference.policy.named_parameters():
            if update == 0:
                gradient = trained.handle.tensors[f"gradients/{name}"]
                norm = float(ours["losses/grad_norm"])
                scale = min(1.0, trained.config.max_grad_norm / (norm + 1e-6))
                close(gradient * scale, parameter.grad, 1e-4)
            # errors grow from update to update; measured factor below 3 each
            close(names[name].data, parameter.data, 1e-4 * (update + 1))


def test_several_passes_use_the_new_ratios():
    # Five passes over one batch: values of the ratio beyond the clip, and of the value's.
    whole = {"minibatch_size": 24 * 16, "learning_rate": 0.02, "replay_ratio": 5}
    settings = {**whole, "rho_clip": 1.05, "c_clip": 1.02, "vf_clip_coef": 0.01, "ent_coef": 0.1}
    trained, reference = twins(WIDE, **settings)
    for _ in range(3):
        share_rollout(trained, reference)
        ours, theirs = trained.train(), reference.train()
        assert theirs["losses/clipfrac"] > 0.05
        for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance"):
            got, expected = ours[f"losses/{name}"], theirs[f"losses/{name}"]
            assert got == pytest.approx(expected, rel=2e-2, abs=1e-4), name


def test_given_segments_with_weights():
    # What prioritized sampling does with a draw, compared with the formulas of the Torch trainer.
    from puffer_cuda.advantage import advantages
    from puffer_cuda.loss import ppo_loss

    trained, reference = twins(FAST, minibatch_size=5 * 16)
    share_rollout(trained, reference)
    r, c = reference.rollout, reference.config
    chosen = torch.tensor([7, 2, 2, 23, 0])
    weights = torch.tensor([1.0, 0.5, 0.5, 0.25, 0.125])
    estimate = advantages(
        r.rewards, r.terminals, r.truncations, r.values, r.final_values,
        torch.ones_like(r.rewards), c.gamma, c.gae_lambda,
    )  # fmt: skip
    state = tuple(tensor[chosen] for tensor in r.initial_state)
    logits, values = reference.policy(r.observations[chosen], state, r.starts[chosen])
    _, log_probs, entropy = sample_logits(logits, r.actions[chosen])
    loss = ppo_loss(
        log_probs, r.log_probs[chosen], entropy, values, r.values[chosen, :-1], estimate[chosen],
        weights[:, None], r.masks[chosen], c.clip_coef, c.vf_coef, c.vf_clip_coef, c.ent_coef,
    )  # fmt: skip
    loss.total.backward()
    trained.handle.tensors["rollout/ratios"].fill_(1)
    trained.handle.to_device()
    figures = trained.handle.learn(chosen, weights, learning_rate=0.0, ent_coef=c.ent_coef)
    trained.handle.to_host()
    assert figures["policy_loss"] == pytest.approx(float(loss.figures["policy_loss"]), abs=1e-6)
    for name, parameter in reference.policy.named_parameters():
        close(trained.handle.tensors[f"gradients/{name}"], parameter.grad, 1e-4)
