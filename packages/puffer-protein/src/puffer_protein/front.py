"""The Pareto front of cost and score, and the volume that it dominates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from puffer_protein.parameters import Array


def pareto_front(scores: Array, costs: Array) -> npt.NDArray[np.intp]:
    """Indices of the points that no other one dominates, by rising cost.

    A point is dominated if another one costs no more and scores no less, one of the two strictly.
    Of equal points the first counts. Scores or costs that are not finite never count.

    Args:
        scores: (n,), more is better.
        costs: (n,), less is better.
    """
    order = np.lexsort((-scores, costs))
    order = order[np.isfinite(scores[order]) & np.isfinite(costs[order])]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(scores[order])])[:-1]
    return np.asarray(order[scores[order] > before])


def hypervolume(scores: Array, costs: Array, worst: float, low: float, high: float) -> float:
    """Area between the best score so far and `worst`, over the logarithm of cost in [low, high].

    Args:
        scores: (n,), more is better.
        costs: (n,), above 0; points above `high` count nothing, points below `low` as `low`.
        worst: the score that counts nothing.
        low: smallest cost of the range.
        high: largest cost of the range.
    """
    front = pareto_front(np.asarray(scores, np.float64), np.asarray(costs, np.float64))
    front = front[(costs[front] <= high) & (scores[front] > worst)]
    edges = np.log(np.append(np.maximum(costs[front], low), high))
    return float(((scores[front] - worst) * np.diff(edges)).sum())
