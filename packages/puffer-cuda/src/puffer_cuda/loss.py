"""The PPO loss of a minibatch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Loss:
    """The scalar to minimise, the new ratios, and figures to log (all scalars, detached)."""

    total: Tensor
    ratios: Tensor
    figures: dict[str, Tensor]


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of `x` where `mask` is true; 0 where nothing is."""
    return (x * mask).sum() / mask.sum().clamp(min=1)


def normalize(advantages: Tensor, mask: Tensor) -> Tensor:
    """Advantages minus their mean over their standard deviation, over unmasked samples."""
    centred = advantages - masked_mean(advantages, mask)
    variance = (centred.square() * mask).sum() / (mask.sum() - 1).clamp(min=1)
    return centred / (variance.sqrt() + 1e-8)


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
) -> Loss:
    """Clipped surrogate + vf_coef x clipped value loss - ent_coef x entropy.

    With ratio = exp(log_prob - old_log_prob), A normalised over unmasked samples and R = A + V_old
    (A raw):

        L_policy = max(-w A ratio, -w A clip(ratio, 1 - clip, 1 + clip))
        L_value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, vf_clip) - R)^2)

    averaged over unmasked samples (Schulman et al. 2017).

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
    """
    log_ratios = log_probs - old_log_probs
    ratios = log_ratios.exp()
    scaled = weights * normalize(advantages, mask)
    surrogate = torch.max(-scaled * ratios, -scaled * ratios.clamp(1 - clip_coef, 1 + clip_coef))
    returns = advantages + old_values
    clipped_values = old_values + (values - old_values).clamp(-vf_clip_coef, vf_clip_coef)
    value_error = torch.max((values - returns).square(), (clipped_values - returns).square())

    policy_loss = masked_mean(surrogate, mask)
    value_loss = 0.5 * masked_mean(value_error, mask)
    mean_entropy = masked_mean(entropy, mask)
    total = policy_loss + vf_coef * value_loss - ent_coef * mean_entropy
    with torch.no_grad():
        figures = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": mean_entropy.detach(),
            "old_approx_kl": masked_mean(-log_ratios, mask),
            "approx_kl": masked_mean(ratios - 1 - log_ratios, mask),
            "clipfrac": masked_mean(((ratios - 1).abs() > clip_coef).float(), mask),
        }
    return Loss(total, ratios.detach(), figures)
