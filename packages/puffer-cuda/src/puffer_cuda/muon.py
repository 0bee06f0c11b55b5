"""Muon: momentum whose matrices are orthogonalised before they are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor
from torch.nn.functional import hardshrink

# Coefficients (a, b, c) of the five Newton-Schulz steps X <- a X + (b G + c G^2) X, G = X X^T.
COEFFICIENTS = (
    (4.0848, -6.8946, 2.9270),
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)


def orthogonalize(matrix: Tensor) -> Tensor:
    """The nearly orthogonal factor of `matrix` (..., rows, columns): singular values near 1."""
    wide = matrix.shape[-2] <= matrix.shape[-1]
    x = matrix if wide else matrix.mT
    norm: Tensor = torch.linalg.norm(x, dim=(-2, -1), keepdim=True)
    # A dead unit's row decays towards 0. Its products would be denormal numbers, over which a CPU
    # takes a hundred times as long; next to a norm of 1 these entries are 0 in float32.
    x = hardshrink(x / norm.clamp(min=1e-7), 1e-12)
    for a, b, c in COEFFICIENTS:
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x if wide else x.mT


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for matrices, AdamW for the rest.

    Matrix W with gradient g:  m <- mu m + g,  u = g + mu m (Nesterov),
    W <- (1 - lr wd) W - lr sqrt(max(1, rows / columns)) orthogonalize(u).
    Parameters of fewer than two dimensions take AdamW steps with `adamw_ratio` times the rate: one
    such step changes an entry by about its rate, a Muon step of a matrix of side n by rate/sqrt(n).
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        adamw_ratio: float = 0.1,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-12,
    ) -> None:
        """Take over `parameters`; gradients are expected to be clipped already."""
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "adamw_ratio": adamw_ratio,
            "betas": betas,
            "eps": eps,
        }
        super().__init__(parameters, defaults)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Apply one update to every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.dim() >= 2:
                    self._muon(parameter, group)
                else:
                    self._adamw(parameter, group)
        return loss

    def _muon(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        momentum = state["momentum"].mul_(group["momentum"]).add_(parameter.grad)
        momentum.copy_(hardshrink(momentum, 1e-30))  # as in orthogonalize
        update = parameter.grad.add(momentum, alpha=group["momentum"]).flatten(1)
        scale = max(1.0, update.shape[0] / update.shape[1]) ** 0.5
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        step = orthogonalize(update).view_as(parameter)
        parameter.add_(step, alpha=-group["lr"] * scale)

    def _adamw(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.int64)
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        state["step"] += 1
        step, (beta1, beta2) = int(state["step"]), group["betas"]
        state["mean"].lerp_(parameter.grad, 1 - beta1)
        state["square"].lerp_(parameter.grad.square(), 1 - beta2)
        scale = (state["square"] / (1 - beta2**step)).sqrt_().add_(group["eps"])
        rate = group["lr"] * group["adamw_ratio"]
        parameter.addcdiv_(state["mean"], scale, value=-rate / (1 - beta1**step))
