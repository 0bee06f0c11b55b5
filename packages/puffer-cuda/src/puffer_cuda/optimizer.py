"""The optimizer that [train] describes."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from puffer_cuda.config import TrainConfig
from puffer_cuda.muon import Muon

LAZY = ("add_param_group", "state_dict", "load_state_dict")


def make_optimizer(
    config: TrainConfig, parameters: Iterable[nn.Parameter]
) -> torch.optim.Optimizer:
    """Muon or AdamW over `parameters`."""
    _leave_dynamo_out()
    c = config
    if c.optimizer == "adamw":
        betas = (c.beta1, c.beta2)
        return torch.optim.AdamW(
            parameters, c.learning_rate, betas, c.eps, c.weight_decay, fused=True
        )
    betas = (0.9, c.beta2)  # of the vectors' AdamW steps; beta1 is the matrices' momentum
    return Muon(parameters, c.learning_rate, c.beta1, c.weight_decay, c.adamw_ratio, betas, c.eps)


def _leave_dynamo_out() -> None:
    """Keep an optimizer's first method call from importing torch._dynamo.

    Torch wraps these methods to say that its compiler must not look into them; what says so is the
    compiler, whose import takes longer than that of torch itself. No optimizer is compiled here.
    """
    for name in LAZY:
        method = getattr(getattr(torch.optim.Optimizer, name), "__wrapped__", None)
        if method is not None and not hasattr(method, "__dynamo_disable"):
            method.__dynamo_disable = method
