"""One calling convention for every policy: ours with state, and any torch module without."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from puffer_cuda.networks import State
from puffer_cuda.sampling import Logits


class PolicyAdapter:
    """Calls `policy` one way, whatever it offers.

    A policy with `initial_state` is recurrent and is called as `puffer_cuda.policy.Policy` says.
    Any other module maps a batch of observations to (logits, value): `forward_eval(obs, state)`
    for acting, or `forward(obs, state)` where it has no `forward_eval`.
    """

    def __init__(self, policy: nn.Module) -> None:
        self.policy = policy
        self.recurrent = hasattr(policy, "initial_state")
        self._eval: Any = getattr(policy, "forward_eval", policy)

    def initial_state(self, batch: int, device: torch.device) -> State:
        """The state at the beginning of an episode; `()` without one."""
        if not self.recurrent:
            return ()
        state: State = self.policy.initial_state(batch, device)  # type: ignore[operator]
        return state

    def act(self, observations: Tensor, state: State) -> tuple[Logits, Tensor, State]:
        """One step of a batch: logits, values `(batch,)`, new state."""
        if self.recurrent:
            logits, values, state = self._eval(observations, state)
        else:
            logits, values = self._eval(observations, None)
        return logits, values.flatten(), state

    def learn(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Logits, Tensor]:
        """Segments `(segments, time, *obs)`: logits and values `(segments, time)`."""
        if self.recurrent:
            logits, values = self.policy(observations, state, starts)
            return logits, values
        shape = starts.shape
        logits, values = self.policy(observations.flatten(0, 1), None)
        return unflatten(logits, shape), values.view(shape)


def unflatten(logits: Logits, shape: torch.Size) -> Logits:
    """Logits of `(segments * time, ...)` as `(segments, time, ...)`."""
    if isinstance(logits, Tensor):
        return logits.view(*shape, -1)
    if isinstance(logits, Normal):
        mean, std = logits.loc.view(*shape, -1), logits.scale.view(*shape, -1)
        return Normal(mean, std, validate_args=False)
    return tuple(head.view(*shape, -1) for head in logits)
