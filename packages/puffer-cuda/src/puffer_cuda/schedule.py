"""What changes over a run: learning rate, entropy coefficient, priority correction."""

import math
from typing import NamedTuple

from puffer_cuda.config import TrainConfig


class Coefficients(NamedTuple):
    """The values of one epoch."""

    learning_rate: float
    ent_coef: float
    prio_beta: float


def coefficients(config: TrainConfig, epoch: int, epochs: int) -> Coefficients:
    """The values of an epoch, counted from 0; all epochs have equally many steps."""
    c = config
    rate = (
        cosine(c.learning_rate, c.min_lr_ratio, epoch, epochs) if c.anneal_lr else c.learning_rate
    )
    if c.warmup:
        rate *= min((epoch + 1) / (c.warmup * epochs), 1.0)  # the first epoch counts, too
    entropy = cosine(c.ent_coef, c.min_ent_ratio, epoch, epochs) if c.anneal_ent else c.ent_coef
    return Coefficients(rate, entropy, linear(c.prio_beta0, 1.0, epoch, epochs))


def cosine(start: float, floor_ratio: float, step: int, total: int) -> float:
    """`start` at step 0, `floor_ratio * start` at `total` and after, half a cosine between."""
    share = min(step / total, 1.0)
    return start * (floor_ratio + (1 - floor_ratio) * (1 + math.cos(math.pi * share)) / 2)


def linear(start: float, end: float, step: int, total: int) -> float:
    """`start` at step 0, `end` at `total` and after, a line between."""
    return start + (end - start) * min(step / total, 1.0)
