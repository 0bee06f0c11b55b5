"""Ending a trial early: when even a good course of the rest would leave it below the front.

What the rest of a run brings is learnt from the curves of finished trials: from the same share of
their length, 95 % of them gained no more than g(share). A trial is stopped if

    score now + g(share)  <  the best score at no more than its expected final cost.

The rule looks at cost: a short trial is compared with cheap ones, so that the cheap end of the
front is as safe as the expensive one. Scores are to be maximised.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puffer_protein.study import Trial

EARLIEST = 0.3  # share of the length before which no trial is stopped
QUANTILE = 0.95
MIN_TRIALS = 20  # finished ones with curves, to learn from


class EarlyStop:
    """The rule, learnt from finished trials."""

    def __init__(self, trials: Sequence[Trial], sign: float = 1.0) -> None:
        """Learn.

        Args:
            trials: of a study; those that ended on their own and have a curve count.
            sign: -1 if scores are to be minimised.
        """
        done = [t for t in trials if t.state == "done" and t.score is not None and t.cost]
        self._sign = sign
        self._scores = np.array([sign * (t.score or 0.0) for t in done])
        self._costs = np.array([t.cost or 0.0 for t in done])
        curves = [(t, np.array(t.curve, np.float64)) for t in done if len(t.curve) > 1]
        # Every curve over its own share of time, ending in the final score.
        self._curves = [
            (c[:, 0] / c[-1, 0], sign * c[:, 1], sign * (t.score or 0.0)) for t, c in curves
        ]

    def gain(self, share: float) -> float:
        """What 95 % of the trials still gained at most from this share on; infinite if unknown."""
        if len(self._curves) < MIN_TRIALS:
            return np.inf
        gains = [final - np.interp(share, shares, scores) for shares, scores, final in self._curves]
        return float(np.quantile(gains, QUANTILE))

    def hopeless(self, share: float, score: float, cost: float) -> bool:
        """Whether a running trial should end.

        Args:
            share: of its planned length, in (0, 1].
            score: now, in the user's direction.
            cost: so far.
        """
        if share < EARLIEST:
            return False
        affordable = self._scores[self._costs <= cost / share]
        if not len(affordable):
            return False
        return bool(self._sign * score + self.gain(share) < affordable.max())
