import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import Categorical, Normal

from puffer_cuda.sampling import best_action, sample_logits


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


def test_two_identical_heads_count_twice():
    head = torch.tensor([[0.3, -1.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    choice = torch.tensor([2, 0])
    _, log_prob, entropy = sample_logits(head, choice)
    _, both, entropies = sample_logits((head, head), torch.stack((choice, choice), -1))
    assert torch.equal(both, 2 * log_prob)
    assert torch.equal(entropies, 2 * entropy)
    mean = torch.zeros(2, 1)
    one = sample_logits(Normal(mean, mean + 0.5), mean + 0.7)
    two = sample_logits(Normal(mean.expand(2, 2), mean + 0.5), (mean + 0.7).expand(2, 2))
    torch.testing.assert_close(two[1:], (2 * one[1], 2 * one[2]))


def test_allowed_choices_on_paper():
    # Probabilities 1, 2 and 4 sevenths; without the second one, 1 and 4 fifths.
    logits = torch.tensor([1.0, 2.0, 4.0]).log().expand(20_000, 3).requires_grad_()
    allowed = torch.tensor([True, False, True]).expand(20_000, 3)
    generator = torch.Generator().manual_seed(5)
    actions, log_probs, entropy = sample_logits(logits, generator=generator, allowed=allowed)
    assert set(actions.tolist()) == {0, 2}
    assert (actions == 2).float().mean().item() == pytest.approx(0.8, abs=0.01)
    expected = torch.where(actions == 2, 0.8, 0.2).log()
    torch.testing.assert_close(log_probs.detach(), expected)
    torch.testing.assert_close(entropy[0].item(), -(0.8 * np.log(0.8) + 0.2 * np.log(0.2)))
    (gradient,) = torch.autograd.grad(log_probs[:4].sum() + entropy[:4].sum(), logits)
    assert torch.isfinite(gradient).all()
    assert (gradient[:, 1] == 0).all()
    assert best_action(logits, allowed)[0] == 2
    assert best_action(logits, ~allowed)[0] == 1


def test_allowed_choices_of_several_heads():
    generator = torch.Generator().manual_seed(6)
    heads = tuple(torch.randn(500, n, generator=generator) for n in (2, 4))
    allowed = torch.rand(500, 6, generator=generator) < 0.5
    allowed[:, 1] = allowed[:, 5] = True
    actions, log_probs, entropy = sample_logits(heads, generator=generator, allowed=allowed)
    assert allowed.gather(1, actions + torch.tensor([0, 2])).all()
    peers = [
        Categorical(logits=head.masked_fill(~part, -1e30))
        for head, part in zip(heads, allowed.split([2, 4], 1), strict=True)
    ]
    torch.testing.assert_close(
        log_probs, sum(p.log_prob(actions[:, i]) for i, p in enumerate(peers))
    )
    torch.testing.assert_close(entropy, sum(peer.entropy() for peer in peers))
    assert allowed.gather(1, best_action(heads, allowed) + torch.tensor([0, 2])).all()


def test_a_head_without_any_allowed_choice_is_free():
    logits = torch.randn(3, 4)
    nothing = torch.zeros(3, 4, dtype=torch.bool)
    actions = torch.tensor([0, 1, 3])
    free = sample_logits(logits, actions)
    torch.testing.assert_close(sample_logits(logits, actions, allowed=nothing), free)


def test_the_best_action():
    logits = torch.tensor([[0.0, 3.0, 1.0], [2.0, 0.0, 0.0]])
    assert best_action(logits).tolist() == [1, 0]
    assert best_action((logits, -logits)).tolist() == [[1, 0], [0, 1]]
    assert best_action(Normal(logits, 1.0)).tolist() == logits.tolist()
