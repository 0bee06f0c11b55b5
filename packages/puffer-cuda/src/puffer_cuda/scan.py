"""The linear recurrence s_t = a_t s_{t-1} + b_t over a whole segment, with its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
    """All s_t of s_t = a_t s_{t-1} + b_t.

    a_t = 0 forgets everything before t; that is how an episode begins inside a segment.

    Args:
        a: factors `(segments, time, ...)`.
        b: terms, same shape.
        initial: s_{-1}, `(segments, ...)`.

    Returns:
        The states, same shape as `b`; differentiable in all three arguments.
    """
    states: Tensor = _LinearScan.apply(a, b, initial)
    return states


def sequential_scan(a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
    """`linear_scan` as a loop over time: the least work, best on a CPU."""
    states = torch.empty_like(b)
    state = initial
    for t in range(b.shape[1]):
        state = torch.addcmul(b[:, t], a[:, t], state, out=states[:, t])
    return states


def parallel_scan(a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
    """`linear_scan` by doubling: log2(time) steps over all of time (Hillis and Steele 1986).

    After k steps (a_t, b_t) composes the last 2^k maps s -> a s + b that end at t.
    """
    b = torch.cat((torch.addcmul(b[:, :1], a[:, :1], initial[:, None]), b[:, 1:]), 1)
    reach = 1
    while reach < b.shape[1]:
        b = torch.cat((b[:, :reach], torch.addcmul(b[:, reach:], a[:, reach:], b[:, :-reach])), 1)
        a = torch.cat((a[:, :reach], a[:, reach:] * a[:, :-reach]), 1)
        reach *= 2
    return b


def sequential_scan_back(a: Tensor, b: Tensor) -> Tensor:
    """All g_t of g_t = b_t + a_{t+1} g_{t+1}, backwards from g_{T-1} = b_{T-1}."""
    result = torch.empty_like(b)
    last = b.shape[1] - 1
    following = result[:, last].copy_(b[:, last])
    for t in range(last - 1, -1, -1):
        following = torch.addcmul(b[:, t], a[:, t + 1], following, out=result[:, t])
    return result


def parallel_scan_back(a: Tensor, b: Tensor) -> Tensor:
    """`sequential_scan_back` by doubling: the same recurrence on time turned round."""
    following = torch.cat((a[:, 1:], torch.zeros_like(a[:, :1])), 1)
    return parallel_scan(following.flip(1), b.flip(1), torch.zeros_like(b[:, 0])).flip(1)


class _LinearScan(torch.autograd.Function):
    """The gradient is the same recurrence, backwards in time: G_t = g_t + a_{t+1} G_{t+1}."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
        states = parallel_scan(a, b, initial) if b.is_cuda else sequential_scan(a, b, initial)
        ctx.save_for_backward(a, states, initial)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, states, initial = ctx.saved_tensors
        back = parallel_scan_back if states.is_cuda else sequential_scan_back
        total = back(a, gradients[0])
        factors = torch.empty_like(total)
        torch.mul(total[:, 0], initial, out=factors[:, 0])
        torch.mul(total[:, 1:], states[:, :-1], out=factors[:, 1:])
        return factors, total, a[:, 0] * total[:, 0]
