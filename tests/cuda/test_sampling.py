import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import Categorical, Normal

from puffer_cuda.sampling import sample_logits


def test_discrete_frequencies_and_figures():
    logits = torch.tensor([1.0, -2.0, 0.5, 0.0]).expand(40_000, 4)
    generator = torch.Generator().manual_seed(0)
    actions, log_probs, entropy = sample_logits(logits, generator=generator)
    peer = Categorical(logits=logits)
    expected = peer.probs[0].double().numpy() * len(actions)
    _, p = stats.chisquare(np.bincount(actions, minlength=4), expected / expected.sum() * 40_000)
    assert p > 1e-4
    torch.testing.assert_close(log_probs, peer.log_prob(actions))
    torch.testing.assert_close(entropy, peer.entropy())
    _, again, _ = sample_logits(logits, actions)
    assert torch.equal(again, log_probs)


def test_impossible_choices_are_never_drawn():
    logits = torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf]]).expand(5000, 4)
    actions, log_probs, entropy = sample_logits(logits, generator=torch.Generator().manual_seed(1))
    assert set(actions.tolist()) == {0, 2}
    torch.testing.assert_close(log_probs, torch.full((5000,), 0.5).log())
    torch.testing.assert_close(entropy, torch.full((5000,), 2.0).log())


def test_heads_are_summed():
    generator = torch.Generator().manual_seed(2)
    heads = tuple(torch.randn(3, 5, n, generator=generator) for n in (2, 3, 7))
    actions, log_probs, entropy = sample_logits(heads, generator=generator)
    assert actions.shape == (3, 5, 3)
    peers = [Categorical(logits=head) for head in heads]
    expected = sum(peer.log_prob(actions[..., i]) for i, peer in enumerate(peers))
    torch.testing.assert_close(log_probs, expected)
    torch.testing.assert_close(entropy, sum(peer.entropy() for peer in peers))
    torch.testing.assert_close(sample_logits(heads, actions)[1], log_probs)


def test_continuous_dimensions_are_summed():
    mean, std = torch.randn(6, 3), torch.rand(6, 3) + 0.1
    normal = Normal(mean, std)
    actions, log_probs, entropy = sample_logits(normal, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(log_probs, normal.log_prob(actions).sum(-1))
    torch.testing.assert_close(entropy, normal.entropy().sum(-1))
    many = Normal(torch.full((20_000, 1), 2.0), torch.full((20_000, 1), 0.5))
    drawn = sample_logits(many, generator=torch.Generator().manual_seed(4))[0]
    assert drawn.mean().item() == pytest.approx(2, abs=0.02)
    assert drawn.std().item() == pytest.approx(0.5, abs=0.02)
