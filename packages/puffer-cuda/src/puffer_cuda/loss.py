"""The PPO loss of a minibatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Loss:
    """The scalar to minimise, the new ratios, and figures to log (all scalars, detached)."""

    total: Tensor
    ratios: Tensor
    figures: dict[str, Tensor]


@dataclass(frozen=True)
class Moments:
    """Of the advantages of a whole minibatch: number of unmasked samples, mean, deviation."""

    count: Tensor
    mean: Tensor
    std: Tensor


def moments(
    advantages: Tensor, mask: Tensor, total: Callable[[Tensor], Tensor] = lambda x: x
) -> Moments:
    """Moments of the unmasked advantages; the deviation is the unbiased one, 0 of one sample.

    Args:
        advantages: any shape.
        mask: bool, same shape.
        total: sums a tensor over all processes that share the minibatch.
    """
    count, sum_ = total(torch.stack((mask.sum().to(advantages.dtype), _sum(advantages, mask))))
    mean = sum_ / count.clamp(min=1)
    squares = total(_sum((advantages - mean).square(), mask))
    return Moments(count, mean, (squares / (count - 1).clamp(min=1)).sqrt())


def _sum(x: Tensor, mask: Tensor) -> Tensor:
    """Sum over unmasked samples; masked ones may hold anything, infinities included."""
    return x.masked_fill(~mask, 0).sum()


def ppo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    entropy: Tensor,
    values: Tensor,
    old_values: Tensor,
    advantages: Tensor,
    weights: Tensor,
    mask: Tensor,
    clip_coef: float,
    vf_coef: float,
    vf_clip_coef: float,
    ent_coef: float,
    whole: Moments | None = None,
) -> Loss:
    """Clipped surrogate + vf_coef x clipped value loss - ent_coef x entropy.

    With ratio = exp(log_prob - old_log_prob), A normalised over unmasked samples and R = A + V_old
    (A raw):

        L_policy = max(-w A ratio, -w A clip(ratio, 1 - clip, 1 + clip))
        L_value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, vf_clip) - R)^2)

    averaged over unmasked samples (Schulman et al. 2017). A minibatch may come in parts, whose
    losses (and figures) add up to that of the whole.

    Args:
        log_probs: of the stored actions now, summed over heads, `(segments, time)`.
        old_log_probs: at the time of acting.
        entropy: of the policy now, summed over heads.
        values: now.
        old_values: at the time of acting.
        advantages: raw.
        weights: of the segments, `(segments, 1)`; corrects sampling by priority.
        mask: bool, false for rows whose agent did not act.
        clip_coef: clip of the ratio.
        vf_coef: weight of the value loss.
        vf_clip_coef: clip of the value's change.
        ent_coef: weight of the entropy.
        whole: moments of the minibatch that these samples are a part of; None: they are all of it.
    """
    whole = whole or moments(advantages, mask)
    count = whole.count.clamp(min=1)
    # A gradient through a masked sample would be 0 times what it holds, which may be infinite.
    log_ratios = (log_probs - old_log_probs).masked_fill(~mask, 0)
    ratios = log_ratios.exp()
    scaled = weights * (advantages - whole.mean) / (whole.std + 1e-8)
    surrogate = torch.max(-scaled * ratios, -scaled * ratios.clamp(1 - clip_coef, 1 + clip_coef))
    returns = advantages + old_values
    clipped_values = old_values + (values - old_values).clamp(-vf_clip_coef, vf_clip_coef)
    value_error = torch.max((values - returns).square(), (clipped_values - returns).square())

    def mean(x: Tensor) -> Tensor:
        return _sum(x, mask) / count

    policy_loss = mean(surrogate)
    value_loss = 0.5 * mean(value_error)
    mean_entropy = mean(entropy)
    total = policy_loss + vf_coef * value_loss - ent_coef * mean_entropy
    with torch.no_grad():
        figures = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": mean_entropy.detach(),
            "old_approx_kl": mean(-log_ratios),
            "approx_kl": mean(ratios - 1 - log_ratios),
            "clipfrac": mean(((ratios - 1).abs() > clip_coef).to(ratios.dtype)),
        }
    return Loss(total, ratios.detach(), figures)
