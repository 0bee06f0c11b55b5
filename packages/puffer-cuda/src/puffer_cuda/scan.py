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


def _scan(a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
    return parallel_scan(a, b, initial) if b.is_cuda else sequential_scan(a, b, initial)


class _LinearScan(torch.autograd.Function):
    """The gradient is the same recurrence, backwards in time: G_t = g_t + a_{t+1} G_{t+1}."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, initial: Tensor) -> Tensor:
        states = _scan(a, b, initial)
        ctx.save_for_backward(a, states, initial)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, states, initial = ctx.saved_tensors
        following = torch.cat((a[:, 1:], torch.zeros_like(a[:, :1])), 1)
        total = _scan(following.flip(1), gradients[0].flip(1), torch.zeros_like(initial)).flip(1)
        before = torch.cat((initial[:, None], states[:, :-1]), 1)
        return total * before, total, a[:, 0] * total[:, 0]
