"""A genetic search for the point that maximises a function of many points at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from puffer_protein.parameters import CATEGORICAL, Array
from puffer_protein.space import Space

GENERATIONS = 4
OFFSPRING = 500
SURVIVORS = 40
CROSSOVER = 0.25
JUMPS = 0.25  # share of mutations to anywhere
SMALLEST, LARGEST = 0.003, 0.4  # standard deviation of a mutation, in the unit cube


def search(
    space: Space,
    value: Callable[[Array], Array],
    parents: Array,
    strangers: Array,
    rng: np.random.Generator,
) -> Array:
    """Points of high value, the best first.

    Args:
        space: of the points.
        value: (n, d) snapped points -> (n,) values, not negative.
        parents: (k, d) points to start from, k at least 1.
        strangers: (m, d) points that compete with the first children.
        rng: random choices.
    """
    pool, best = np.empty((0, len(space))), np.empty(0)
    sources = parents
    for generation in range(GENERATIONS):
        children = breed(space, sources, OFFSPRING, rng)
        if generation == 0:
            children = np.concatenate([children, space.snap(strangers)])
        pool = np.concatenate([pool, children])
        best = np.concatenate([best, value(children)])
        order = np.argsort(-best, kind="stable")
        pool, best = pool[order], best[order]
        sources = pool[:SURVIVORS]
    return pool


def breed(space: Space, sources: Array, count: int, rng: np.random.Generator) -> Array:
    """(count, d) snapped children of (k, d) sources: crossover, then a sparse mutation."""
    d = len(space)
    children = sources[rng.integers(len(sources), size=count)]
    mates = sources[rng.integers(len(sources), size=count)]
    crossed = rng.random((count, 1)) < CROSSOVER
    children = np.where(crossed & (rng.random((count, d)) < 0.5), mates, children)
    # From one parameter to all of them, by a little or to anywhere.
    share = np.exp(rng.uniform(-np.log(d), 0.0, (count, 1)))
    mutated = rng.random((count, d)) < share
    mutated[np.arange(count), rng.integers(d, size=count)] = True
    spread = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), (count, 1)))
    moved = children + spread * rng.standard_normal((count, d))
    moved = np.abs(moved)  # reflect, or the bounds would draw half of them
    moved = np.where(moved > 1, 2 - moved, moved)
    jump = rng.random((count, 1)) < JUMPS
    moved = np.where(jump, rng.random((count, d)), moved)
    for index, parameter in enumerate(space.parameters.values()):
        if parameter.kind == CATEGORICAL:
            moved[:, index] = rng.random(count)
    return space.snap(np.clip(np.where(mutated, moved, children), 0.0, 1.0))
