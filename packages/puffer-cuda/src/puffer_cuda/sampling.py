"""Draw actions from a policy's output, and the log-probability and entropy of given ones."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Normal

LOG_2_PI = math.log(2 * math.pi)

Logits = Tensor | tuple[Tensor, ...] | Normal
"""Discrete: `(..., n)`; multi-discrete: a tuple of such; continuous: a Normal `(..., dims)`."""


def sample_logits(
    logits: Logits, action: Tensor | None = None, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Action, log-probability and entropy, both summed over heads or dimensions.

    Args:
        logits: what the policy returned for a batch `(...)`.
        action: the actions to judge; None draws them.
        generator: random numbers for drawing; None is torch's global one.

    Returns:
        action `(...)` int64 (discrete), `(..., heads)` int64 or `(..., dims)` float32,
        log-probability `(...)`, entropy `(...)`.
    """
    if isinstance(logits, Normal):
        return _continuous(logits, action, generator)
    if isinstance(logits, Tensor):
        return _discrete(logits, action, generator)
    actions = action.unbind(-1) if action is not None else (None,) * len(logits)
    heads = [_discrete(x, a, generator) for x, a in zip(logits, actions, strict=True)]
    drawn, log_probs, entropies = (torch.stack(parts, -1) for parts in zip(*heads, strict=True))
    return drawn, log_probs.sum(-1), entropies.sum(-1)


def _discrete(
    logits: Tensor, action: Tensor | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    log_probs = torch.log_softmax(logits.float(), -1)
    probs = log_probs.exp()
    if action is None:  # inverse of the cumulative distribution; never past the last choice
        cumulative = probs.cumsum(-1)[..., :-1]
        uniform = torch.rand(logits.shape[:-1], generator=generator, device=logits.device)
        action = (uniform[..., None] >= cumulative).sum(-1)
    log_prob = log_probs.gather(-1, action.long()[..., None]).squeeze(-1)
    entropy = -(probs * log_probs.clamp(min=torch.finfo(log_probs.dtype).min)).sum(-1)
    return action, log_prob, entropy


def _continuous(
    normal: Normal, action: Tensor | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    mean, std = normal.loc, normal.scale
    if action is None:
        noise = torch.randn(mean.shape, generator=generator, device=mean.device)
        action = mean + std * noise
    log_prob = -0.5 * ((action - mean) / std).square() - std.log() - 0.5 * LOG_2_PI
    entropy = 0.5 + 0.5 * LOG_2_PI + std.log()
    return action, log_prob.sum(-1), entropy.sum(-1)
