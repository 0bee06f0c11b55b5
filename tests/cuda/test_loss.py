import math

import pytest
import torch

from puffer_cuda.loss import Moments, moments, ppo_loss

SETTINGS = {"clip_coef": 0.2, "vf_coef": 2.0, "vf_clip_coef": 0.2, "ent_coef": 0.01}


def row(*values):
    return torch.tensor([values], dtype=torch.float64)


def test_on_paper():
    # Advantages 1 and -1 normalise to +-1/sqrt(2) (unbiased deviation sqrt(2)).
    log_ratios = row(math.log(1.5), math.log(0.5))
    loss = ppo_loss(
        log_ratios, row(0, 0), row(0.3, 0.5), row(1.0, 0.0), row(0.5, 0.5), row(1, -1),
        torch.ones(1, 1, dtype=torch.float64), torch.ones(1, 2, dtype=torch.bool), **SETTINGS,
    )  # fmt: skip
    a = 1 / math.sqrt(2)
    policy = (-a * 1.2 + a * 0.8) / 2  # 1.5 is clipped to 1.2; -A * 0.5 is below the clip at 0.8
    # R = 1.5 and -0.5; V = 1 clips to 0.7: max(0.25, 0.64); V = 0 clips to 0.3: max(0.25, 0.64)
    value = 0.5 * 0.64
    assert loss.figures["policy_loss"].item() == pytest.approx(policy, abs=1e-6)
    assert loss.figures["value_loss"].item() == pytest.approx(value)
    assert loss.figures["entropy"].item() == pytest.approx(0.4)
    assert loss.total.item() == pytest.approx(policy + 2 * value - 0.01 * 0.4, abs=1e-6)
    assert loss.figures["clipfrac"].item() == 1.0
    kl = (1.5 - 1 - math.log(1.5) + 0.5 - 1 - math.log(0.5)) / 2
    assert loss.figures["approx_kl"].item() == pytest.approx(kl)
    assert loss.ratios[0].tolist() == pytest.approx([1.5, 0.5])


def batch(seed, segments=4, time=6):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(segments, time, generator=generator, dtype=torch.float64) for _ in range(6)]


def test_masked_samples_change_nothing():
    mask = torch.rand(4, 6, generator=torch.Generator().manual_seed(3)) < 0.6
    weights = torch.rand(4, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    clean, noise = batch(1), batch(2)
    dirty = [torch.where(mask, x, 50 * y) for x, y in zip(clean, noise, strict=True)]
    results = []
    for inputs in (clean, dirty):
        leaves = [x.clone().requires_grad_() for x in inputs]
        loss = ppo_loss(*leaves, weights, mask, **SETTINGS)
        gradients = torch.autograd.grad(loss.total, [leaves[0], leaves[2], leaves[3]])
        results.append((loss, gradients))
    (first, first_gradients), (second, second_gradients) = results
    assert second.total.item() == pytest.approx(first.total.item(), rel=1e-12)
    for name, figure in first.figures.items():
        assert second.figures[name].item() == pytest.approx(figure.item(), rel=1e-12)
    for one, other in zip(first_gradients, second_gradients, strict=True):
        torch.testing.assert_close(one[mask], other[mask])
        assert not one[~mask].any()
        assert not other[~mask].any()


def test_masked_rows_may_hold_anything():
    # 1e6 in a log-probability is a ratio of infinity, which times 0 would be no number.
    mask = torch.rand(4, 6, generator=torch.Generator().manual_seed(5)) < 0.6
    results = []
    for shift in (0, 1e6, -1e6):
        inputs = [torch.where(mask, x, x + shift) for x in batch(6)]
        leaves = [x.requires_grad_() for x in inputs]
        loss = ppo_loss(*leaves, torch.ones(4, 1), mask, **SETTINGS)
        gradients = torch.autograd.grad(loss.total, [leaves[0], leaves[2], leaves[3]])
        results.append((loss.total, *gradients))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert torch.equal(one, two)


def test_moments_are_of_unmasked_samples():
    mask = torch.tensor([[True, True, True, False]])
    got = moments(row(1, 2, 3, 1000), mask)
    assert [x.item() for x in (got.count, got.mean, got.std)] == [3, 2, 1]


def test_parts_add_up_to_the_whole():
    inputs = batch(7, segments=6)
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(8)) < 0.7
    weights = torch.rand(6, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    whole = ppo_loss(*inputs, weights, mask, **SETTINGS)
    of_all = moments(inputs[5], mask)
    parts = [
        ppo_loss(*(x[rows] for x in inputs), weights[rows], mask[rows], **SETTINGS, whole=of_all)
        for rows in (slice(0, 1), slice(1, 4), slice(4, 6))
    ]
    assert sum(p.total for p in parts).item() == pytest.approx(whole.total.item(), rel=1e-12)
    for name, figure in whole.figures.items():
        got = sum(p.figures[name] for p in parts).item()
        assert got == pytest.approx(figure.item(), rel=1e-12), name


@pytest.mark.parametrize("advantage", [1.0, -1.0])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0, 1.1, 1.5])
def test_a_stale_policy_changes_the_loss_as_predicted(ratio, advantage):
    # One sample with the advantages' own mean 0 and deviation 1: -A ratio, bounded on the side
    # where the update would go further away: above 1.2 for A > 0, below 0.8 for A < 0.
    clean = Moments(*torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64))
    log_prob = row(math.log(ratio)).requires_grad_()
    loss = ppo_loss(
        log_prob, row(0), row(0), row(0), row(0), row(advantage),
        torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool),
        clip_coef=0.2, vf_coef=0, vf_clip_coef=0.2, ent_coef=0, whole=clean,
    )  # fmt: skip
    bounded = min(ratio, 1.2) if advantage > 0 else max(ratio, 0.8)
    assert loss.total.item() == pytest.approx(-advantage * bounded)
    (gradient,) = torch.autograd.grad(loss.total, log_prob)
    expected = -advantage * ratio if bounded == ratio else 0
    assert gradient.item() == pytest.approx(expected)


def test_one_or_no_sample_stays_finite():
    for mask in (torch.zeros(4, 6, dtype=torch.bool), torch.eye(4, 6, dtype=torch.bool)[:1] & True):
        inputs = batch(0, segments=mask.shape[0])
        loss = ppo_loss(*inputs, torch.ones(1, 1), mask.expand(inputs[0].shape), **SETTINGS)
        assert torch.isfinite(loss.total)
