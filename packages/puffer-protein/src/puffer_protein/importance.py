"""Which parameters matter: slices of the score model, and the variance that each explains.

The slice of a parameter is its partial dependence (Friedman 2001): the mean prediction over the
settings tried, with this parameter moved through its range. The importance is the variance along
the slice; shares of their sum compare parameters. Interactions are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_protein.parameters import CATEGORICAL
from puffer_protein.protein import Protein

STEPS = 21
BACKGROUND = 100  # newest settings to average over


@dataclass(frozen=True)
class Slice:
    """A parameter and what is expected of it.

    Attributes:
        name: of the parameter.
        importance: share in [0, 1] of all parameters' variance along their slices.
        values: native values along its range.
        scores: expected scores there, in the user's direction.
    """

    name: str
    importance: float
    values: list[Any]
    scores: list[float]


def slices(tuner: Protein) -> list[Slice]:
    """A slice of every parameter, the most important one first; none before two results."""
    done = [o for o in tuner.outcomes if not o.failed]
    if len(done) < 2:
        return []
    models = tuner.models()
    space = tuner.space
    background = np.array([o.point for o in done[-BACKGROUND:]])
    found = []
    for index, parameter in enumerate(space.parameters.values()):
        if parameter.kind == CATEGORICAL:
            grid = (np.arange(len(parameter.choices)) + 0.5) / len(parameter.choices)
        else:
            grid = np.unique(parameter.snap(np.linspace(0.0, 1.0, STEPS)))
        points = np.repeat(background, len(grid), axis=0)
        points[:, index] = np.tile(grid, len(background))
        means = models.predict_mean(space.snap(points)).reshape(len(background), -1).mean(0)
        found.append((index, [parameter.native(float(u)) for u in grid], means))
    total = sum(float(means.var()) for _, _, means in found) or 1.0
    result = [
        Slice(
            space.names[index],
            float(means.var()) / total,
            values,
            [float(v) for v in tuner.sign * models.scale.inverse(means)],
        )
        for index, values, means in found
    ]
    return sorted(result, key=lambda s: -s.importance)
