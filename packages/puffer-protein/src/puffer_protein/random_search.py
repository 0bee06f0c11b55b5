"""Random search: the rival that every method must beat."""

from __future__ import annotations

import numpy as np

from puffer_protein.parameters import Array
from puffer_protein.tuner import Tuner


class Random(Tuner):
    """Independent uniform points."""

    def _choose(self, rng: np.random.Generator) -> Array:
        return self._fresh(rng)
