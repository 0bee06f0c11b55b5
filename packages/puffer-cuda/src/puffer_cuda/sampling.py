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
    logits: Logits,
    action: Tensor | None = None,
    generator: torch.Generator | None = None,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Action, log-probability and entropy, both summed over heads or dimensions.

    Args:
        logits: what the policy returned for a batch `(...)`.
        action: the actions to judge; None draws them.
        generator: random numbers for drawing; None is torch's global one.
        allowed: bool `(..., choices of all heads)`, False where a choice cannot be made now; see
            `mask_logits`.

    Returns:
        action `(...)` int64 (discrete), `(..., heads)` int64 or `(..., dims)` float32,
        log-probability `(...)`, entropy `(...)`.
    """
    if isinstance(logits, Normal):
        return _continuous(logits, action, generator)
    if allowed is not None:
        logits = mask_logits(logits, allowed)
    if isinstance(logits, Tensor):
        return _discrete(logits, action, generator)
    actions = action.unbind(-1) if action is not None else (None,) * len(logits)
    heads = [_discrete(x, a, generator) for x, a in zip(logits, actions, strict=True)]
    drawn, log_probs, entropies = (torch.stack(parts, -1) for parts in zip(*heads, strict=True))
    return drawn, log_probs.sum(-1), entropies.sum(-1)


def best_action(logits: Logits, allowed: Tensor | None = None) -> Tensor:
    """The most likely action, in the form that `sample_logits` draws; the mean of a Normal."""
    if isinstance(logits, Normal):
        return logits.loc
    if allowed is not None:
        logits = mask_logits(logits, allowed)
    if isinstance(logits, Tensor):
        return logits.argmax(-1)
    return torch.stack([head.argmax(-1) for head in logits], -1)


def mask_logits(
    logits: Tensor | tuple[Tensor, ...], allowed: Tensor
) -> Tensor | tuple[Tensor, ...]:
    """Logits with minus infinity where a choice is not allowed: its probability is exactly 0.

    A head without any allowed choice, as the rows of dead agents have it, stays as it is.

    Args:
        logits: `(..., n)` or a tuple of such.
        allowed: bool `(..., sum of n)`, the heads side by side.
    """
    if isinstance(logits, Tensor):
        return logits.masked_fill(~allowed & allowed.any(-1, keepdim=True), -torch.inf)
    parts = torch.split(allowed, [head.shape[-1] for head in logits], -1)
    return tuple(
        head.masked_fill(~part & part.any(-1, keepdim=True), -torch.inf)
        for head, part in zip(logits, parts, strict=True)
    )


def at_least_float32(x: Tensor) -> Tensor:
    """Half precisions as float32, the others as they are."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _discrete(
    logits: Tensor, action: Tensor | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    log_probs = torch.log_softmax(at_least_float32(logits), -1)
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
