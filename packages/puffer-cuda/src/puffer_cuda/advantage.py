"""Generalised advantage estimation with clipped importance ratios."""

from __future__ import annotations

import torch
from torch import Tensor

from puffer_cuda.scan import sequential_scan_back


@torch.no_grad()
def advantages(
    rewards: Tensor,
    terminals: Tensor,
    truncations: Tensor,
    values: Tensor,
    final_values: Tensor,
    ratios: Tensor,
    gamma: float,
    gae_lambda: float,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> Tensor:
    """A_t of every transition of N segments of H transitions.

    With r_t and the ends belonging to action t:

        delta_t = rho_t (r_t + gamma V'_t - V_t)
        A_t     = delta_t + gamma lambda c_t n_t A_{t+1},        A_H = 0

    V'_t is 0 if terminal (also if both), V(final observation) if truncated, else V_{t+1}; n_t is 0
    on either end, else 1; rho_t, c_t are the ratios clipped from above. GAE (Schulman et al. 2016)
    with the clips of V-trace (Espeholt et al. 2018); GAE itself where all ratios are 1.

    Args:
        rewards: `(N, H)` float32.
        terminals: `(N, H)` bool, the process ended.
        truncations: `(N, H)` bool, the episode was cut from outside.
        values: `(N, H + 1)`; the last column is the value after the last action.
        final_values: `(N, H)`, V of the final observation where truncated; ignored elsewhere.
        ratios: `(N, H)` new over old probability of the action.
        gamma: discount.
        gae_lambda: decay.
        rho_clip: upper clip of the ratio on delta.
        c_clip: upper clip of the ratio on the trace.

    Returns:
        `(N, H)`.
    """
    next_values = torch.where(truncations, final_values, values[:, 1:]).masked_fill(terminals, 0)
    delta = ratios.clamp(max=rho_clip) * (rewards + gamma * next_values - values[:, :-1])
    trace = gamma * gae_lambda * ratios.clamp(max=c_clip)
    trace = trace.masked_fill(terminals | truncations, 0)
    # The recursion multiplies by the factor of the same row, the scan by that of the next one.
    factors = torch.cat((trace[:, :1], trace[:, :-1]), 1)
    # Time first, so that each step of the recursion reads contiguous memory.
    factors, delta = (x.t().contiguous()[None] for x in (factors, delta))
    return sequential_scan_back(factors, delta)[0].t()
