"""One seed per environment, by its global index."""

from __future__ import annotations

import operator

from puffer_core.errors import APIUsageError


def expand_seeds(seed: object, num_envs: int) -> list[int]:
    """Return the seed of every environment.

    Args:
        seed: A non-negative integer, which gives environment i the seed `seed + i`, or a list
            of `num_envs` such integers.
        num_envs: Number of environments.

    Raises:
        APIUsageError: Another kind of value, a negative one, or a list of another length.
    """
    try:
        if isinstance(seed, (list, tuple)):
            seeds = [operator.index(value) for value in seed]
        else:
            first = operator.index(seed)  # type: ignore[arg-type]
            seeds = list(range(first, first + num_envs))
    except TypeError:
        seeds = []
    if len(seeds) != num_envs or min(seeds) < 0:
        raise APIUsageError(
            f"seed must be a non-negative int or a list of num_envs = {num_envs} of them, got "
            f"{seed!r:.80}."
        )
    return seeds
