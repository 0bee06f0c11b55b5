"""How much a trial is expected to improve the front: closed-form expected hypervolume improvement.

The front is a staircase over log cost. A point that costs c with a score ~ N(μ, σ²) improves every
segment at costs above c by E[max(0, score - level)] = σ (z Φ(z) + φ(z)), z = (μ - level) / σ, and
the expected gain of volume is the sum over segments of their width above c times that.
"""

from __future__ import annotations

import numpy as np

from puffer_protein.parameters import Array


class Staircase:
    """The best known score as a function of log cost.

    Attributes:
        edges: (k + 1,) ends of the segments in log cost, rising.
        levels: (k,) the score of each segment.
    """

    def __init__(self, scores: Array, costs: Array, worst: float, low: float, high: float) -> None:
        """A staircase over [low, high].

        Args:
            scores: (k,) of a front, rising.
            costs: (k,) log costs of the front, rising.
            worst: the level below the cheapest point.
            low: smallest log cost.
            high: largest log cost.
        """
        self.edges = np.clip(np.concatenate([[low], costs, [high]]), low, high)
        self.levels = np.concatenate([[worst], np.maximum(scores, worst)])

    def gain(self, mean: Array, sd: Array, cost: Array) -> Array:
        """Expected gain of volume (n,) of points with (n,) scores N(mean, sd²) and log costs."""
        start = np.maximum(self.edges[:-1], cost[:, None])
        width = np.maximum(self.edges[1:] - start, 0.0)
        return np.asarray((width * expected_improvement(mean, sd, self.levels)).sum(1))


def expected_improvement(mean: Array, sd: Array, levels: Array) -> Array:
    """(n, k) of E[max(0, N(mean_i, sd_i²) - level_j)]."""
    from scipy.special import ndtr

    z = (mean[:, None] - levels) / sd[:, None]
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(np.maximum(sd[:, None] * (z * ndtr(z) + density), 0.0))
