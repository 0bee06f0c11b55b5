import math

import pytest
import torch

from puffer_cuda.loss import normalize, ppo_loss

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


def test_normalisation_over_unmasked_samples():
    mask = torch.tensor([[True, True, True, False]])
    got = normalize(row(1, 2, 3, 1000), mask)
    assert got[0, :3].tolist() == pytest.approx([-1, 0, 1], abs=1e-6)


def test_one_or_no_sample_stays_finite():
    for mask in (torch.zeros(4, 6, dtype=torch.bool), torch.eye(4, 6, dtype=torch.bool)[:1] & True):
        inputs = batch(0, segments=mask.shape[0])
        loss = ppo_loss(*inputs, torch.ones(1, 1), mask.expand(inputs[0].shape), **SETTINGS)
        assert torch.isfinite(loss.total)
