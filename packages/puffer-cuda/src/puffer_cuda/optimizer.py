"""The optimizer that [train] describes."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from puffer_cuda.config import TrainConfig
from puffer_cuda.muon import Muon


def make_optimizer(
    config: TrainConfig, parameters: Iterable[nn.Parameter]
) -> torch.optim.Optimizer:
    """Muon or AdamW over `parameters`."""
    c = config
    if c.optimizer == "adamw":
        betas = (c.beta1, c.beta2)
        return torch.optim.AdamW(
            parameters, c.learning_rate, betas, c.eps, c.weight_decay, fused=True
        )
    betas = (0.9, c.beta2)  # of the vectors' AdamW steps; beta1 is the matrices' momentum
    return Muon(parameters, c.learning_rate, c.beta1, c.weight_decay, c.adamw_ratio, betas, c.eps)
