"""Trainers that are measured: made as `puffer train` makes them, and never ending."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from puffer_cli.config import Config
from puffer_cli.vectorize import make_vecenv, plan_vec
from puffer_cuda import backend

if TYPE_CHECKING:
    from puffer_cuda.backend import Trainer

ENDLESS = 2**50  # agent steps


def backends(config: Config) -> list[str]:
    """The backends that can train this here, "native" before "torch"; one if train.backend says.

    Raises:
        APIUsageError: `train.backend = native` for what it cannot train.
    """
    in_c = plan_vec(config).backend == "PufferEnv"
    chosen, _ = backend.choose(config.train, config.policy, config.vec, in_c)
    if chosen == "native" and config.train.backend == "auto":
        return ["native", "torch"]
    return [chosen]


@contextmanager
def trainer_of(config: Config, chosen: str) -> Iterator[Trainer]:
    """A trainer of that backend, closed at the end."""
    import torch

    from puffer_cuda.policy import make_policy

    settings = config.train.model_copy(update={"backend": chosen, "total_timesteps": ENDLESS})
    torch.manual_seed(settings.seed)
    vecenv = make_vecenv(config)
    try:
        policy = make_policy(config.policy, vecenv)
        trainer, _ = backend.make_trainer(chosen, settings, vecenv, policy, vec=config.vec)
        yield trainer
    finally:
        vecenv.close()
