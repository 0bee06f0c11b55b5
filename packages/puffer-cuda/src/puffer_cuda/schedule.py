"""The learning rate over a run."""

import math


def cosine(start: float, floor_ratio: float, step: int, total: int) -> float:
    """`start` at step 0, `floor_ratio * start` at `total` and after, half a cosine between."""
    share = min(step / total, 1.0)
    return start * (floor_ratio + (1 - floor_ratio) * (1 + math.cos(math.pi * share)) / 2)


def linear(start: float, end: float, step: int, total: int) -> float:
    """`start` at step 0, `end` at `total` and after, a line between."""
    return start + (end - start) * min(step / total, 1.0)
