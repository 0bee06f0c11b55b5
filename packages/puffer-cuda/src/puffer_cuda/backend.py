"""Which trainer a configuration gets: the native one where it can, else Torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from puffer_core import APIUsageError
from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native.support import (
    unsupported,
    unsupported_device,
    unsupported_objects,
    unsupported_on_gpu,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from torch import nn

    from puffer_cuda.logbook import Logger
    from puffer_cuda.native.trainer import NativePuffeRL
    from puffer_cuda.pufferl import PuffeRL

    Trainer: TypeAlias = PuffeRL | NativePuffeRL

LACKS = "the native backend cannot train this: {}"


def choose(
    train: TrainConfig,
    policy: PolicyConfig,
    vec: VecConfig,
    native_env: bool,
    alone: bool = True,
) -> tuple[str, str]:
    """The backend of a run, by its settings alone; imports no torch.

    Args:
        train: the [train] section; its `backend` is auto, native or torch.
        policy: the [policy] section.
        vec: the [vec] section.
        native_env: the environments are in C, stepped by the native vectorizer.
        alone: no past policies to play against.

    Returns:
        ("native", "") or ("torch", why it is not native).

    Raises:
        APIUsageError: `train.backend = native` for what it cannot train, or `vec.device = gpu` for
            what cannot step there.
    """
    name, reason = _choose(train, policy, vec, native_env, alone)
    if objection := unsupported_on_gpu(vec, name, train.device != "cpu"):
        raise APIUsageError(objection + ".")
    return name, reason


def _choose(
    train: TrainConfig, policy: PolicyConfig, vec: VecConfig, native_env: bool, alone: bool
) -> tuple[str, str]:
    if train.backend == "torch":
        return "torch", "train.backend = torch"
    reason = unsupported(train, policy, vec, native_env)
    if not alone:
        reason = "it trains without self-play"
    if reason and train.backend == "native":
        raise APIUsageError(LACKS.format(reason) + "; use train.backend = torch.")
    return ("torch", LACKS.format(reason)) if reason else ("native", "")


def make_trainer(
    chosen: str,
    train: TrainConfig,
    vecenv: Any,
    policy: nn.Module,
    logger: Logger | None = None,
    vec: VecConfig | None = None,
) -> tuple[Trainer, str]:
    """The trainer of the chosen backend; of Torch's where the objects or the machine ask for it.

    Args:
        chosen: what `choose` returned.
        train: the [train] section.
        vecenv: a vectorizer, not yet stepped.
        policy: as the trainers take it.
        logger: as the trainers take it.
        vec: the [vec] section, for the native trainer; None: its defaults.

    Returns:
        The trainer, and why it is Torch's if `chosen` said native; else an empty text.

    Raises:
        APIUsageError: `train.backend = native`, and the objects are not for it; or as the trainers.
    """
    from puffer_cuda.device import choose_device, gpu_of
    from puffer_cuda.native.library import NotBuiltError
    from puffer_cuda.native.trainer import NativePuffeRL
    from puffer_cuda.pufferl import PuffeRL

    if chosen == "torch":
        return PuffeRL(train, vecenv, policy, logger), ""
    vec = vec or VecConfig.model_validate({})
    on_gpu = gpu_of(choose_device(train.device)) is not None
    if objection := unsupported_on_gpu(vec, chosen, on_gpu):
        raise APIUsageError(objection + ".")
    reason = unsupported_objects(vecenv, policy) or unsupported_device(train, on_gpu)
    if not reason:
        try:
            return NativePuffeRL(train, vecenv, policy, logger, vec), ""
        except NotBuiltError as error:  # nvcc's own words
            reason = str(error)
    if train.backend == "native":
        raise APIUsageError(LACKS.format(reason) + "; use train.backend = torch.")
    return PuffeRL(train, vecenv, policy, logger), LACKS.format(reason)
