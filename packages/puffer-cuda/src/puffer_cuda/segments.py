"""Which segments a minibatch takes, and how much each weighs."""

from __future__ import annotations

import torch
from torch import Tensor


def priorities(advantages: Tensor, alpha: float) -> Tensor:
    """Probability of each segment, proportional to (sum over time of |A|)^alpha.

    A small floor, one thousandth of the mean, keeps every segment reachable and the weights that
    correct for it bounded. Non-finite rows count as 0.

    Args:
        advantages: `(segments, time)`.
        alpha: 0 makes all alike.

    Returns:
        `(segments,)`, sums to 1.
    """
    scores = advantages.abs().sum(1).nan_to_num(0, 0, 0) ** alpha
    floored = scores + 1e-3 * scores.mean() + torch.finfo(scores.dtype).tiny
    return floored / floored.sum()


def importance_weights(probabilities: Tensor, chosen: Tensor, beta: float) -> Tensor:
    """(segments x p)^-beta of the chosen segments, at most 1: divided by the largest.

    Prioritized sampling's correction (Schaul et al. 2016).
    """
    weights = (len(probabilities) * probabilities[chosen]) ** -beta
    return weights / weights.max()


def shuffled_passes(
    segments: int, size: int, minibatches: int, generator: torch.Generator, device: torch.device
) -> list[Tensor]:
    """Indices of `minibatches` minibatches of `size`, cut from shuffled passes over all segments.

    No segment comes up a second time before every other came up once.
    """
    passes = -(-minibatches * size // segments)
    order = torch.cat(
        [torch.randperm(segments, generator=generator, device=device) for _ in range(passes)]
    )
    return list(torch.split(order[: minibatches * size], size))
