"""One calling convention for every policy: ours with state, and the forms that users write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from puffer_cuda.networks import State
from puffer_cuda.sampling import Logits, at_least_float32

STATE_KEYS = ("lstm_h", "lstm_c")


class PolicyAdapter:
    """Calls `policy` one way, whatever it offers.

    | form | acting | learning |
    |---|---|---|
    | `puffer_cuda.policy.Policy` | `forward_eval(obs, state)` -> 3 values | `forward(obs, state, starts)` |
    | 4.0: `initial_state`, no `starts` | the same | step by step |
    | 3.0 with memory: `state` is a dict | fills `lstm_h`, `lstm_c`; -> 2 values | step by step |
    | any other module | `forward_eval` or `forward`; -> 2 values | the same, all steps at once |

    Step by step means that a segment is acted again with gradients, its state cleared where an
    episode begins: slower, but exactly what the rollout did, whatever the module is made of.
    """  # noqa: E501

    def __init__(
        self,
        policy: nn.Module,
        observations: Tensor | None = None,
        precision: torch.dtype = torch.float32,
        compile_mode: str = "off",
    ) -> None:
        """Find out the form.

        Args:
            policy: the module.
            observations: a few `(batch, *obs)` on its device, to see whether a module of the 3.0
                form keeps a state; None: it keeps none.
            precision: of its matrix products: float32, or bfloat16 by autocast.
            compile_mode: "off", or a mode of `torch.compile`.
        """
        self.policy = policy
        self.precision = precision
        forward_eval: Any = getattr(policy, "forward_eval", policy.forward)
        self.has_initial_state = hasattr(policy, "initial_state")
        self.takes_starts = "starts" in inspect.signature(policy.forward).parameters
        self._takes_state = len(inspect.signature(forward_eval).parameters) > 1
        self._learn = _compiled(policy.forward, compile_mode)
        self._act = _compiled(forward_eval, compile_mode)
        self._state_shapes: list[torch.Size] = []  # of one agent, in the 3.0 form
        if observations is not None and not self.has_initial_state and self._takes_state:
            state: dict[str, Any] = dict.fromkeys(STATE_KEYS)
            with torch.no_grad():
                forward_eval(observations, state)
            if isinstance(state["lstm_h"], Tensor):
                self._state_shapes = [state[key].shape[1:] for key in STATE_KEYS]

    def initial_state(self, batch: int, device: torch.device) -> State:
        """The state at the beginning of an episode; `()` without one."""
        if self.has_initial_state:
            state: State = self.policy.initial_state(batch, device)  # type: ignore[operator]
            return state
        return tuple(torch.zeros(batch, *shape, device=device) for shape in self._state_shapes)

    def act(self, observations: Tensor, state: State) -> tuple[Logits, Tensor, State]:
        """One step of a batch: logits, values `(batch,)` float32, new state."""
        with self._autocast(observations.device):
            logits, values, state = self._step(self._act, observations, state)
        return logits, at_least_float32(values).flatten(), state

    def learn(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Logits, Tensor]:
        """Segments `(segments, time, *obs)`: logits and values `(segments, time)`."""
        with self._autocast(observations.device):
            if self.takes_starts:
                logits, values = self._learn(observations, state, starts)
            elif state:
                logits, values = self._step_by_step(observations, state, starts)
            else:
                call = self._act if self.has_initial_state else self._learn
                logits, values, _ = self._step(call, observations.flatten(0, 1), state)
                logits = unflatten(logits, starts.shape)
        return logits, at_least_float32(values).view(starts.shape)

    def _step(
        self, call: Callable[..., Any], observations: Tensor, state: State
    ) -> tuple[Logits, Tensor, State]:
        if self.has_initial_state:
            logits, values, state = call(observations, state)
            return logits, values, state
        if not self._takes_state:
            logits, values = call(observations)
            return logits, values, ()
        given: dict[str, Any] = dict(zip(STATE_KEYS, state or (None, None), strict=True))
        logits, values = call(observations, given)
        return logits, values, tuple(given[key] for key in STATE_KEYS) if state else ()

    def _step_by_step(
        self, observations: Tensor, state: State, starts: Tensor
    ) -> tuple[Logits, Tensor]:
        steps: list[Logits] = []
        values = []
        for t in range(starts.shape[1]):
            state = cleared(state, starts[:, t])
            logits, value, state = self._step(self._act, observations[:, t], state)
            steps.append(logits)
            values.append(value.flatten())
        return _stack(steps), torch.stack(values, 1)

    def _autocast(self, device: torch.device) -> torch.autocast:
        enabled = self.precision != torch.float32
        return torch.autocast(device.type, torch.bfloat16, enabled=enabled)


def cleared(state: State, begins: Tensor) -> State:
    """The state with zeros in the rows where an episode begins; `begins` is `(batch,)` bool."""
    return tuple(
        tensor.masked_fill(begins.view(-1, *(1,) * (tensor.dim() - 1)), 0) for tensor in state
    )


def unflatten(logits: Logits, shape: torch.Size) -> Logits:
    """Logits of `(segments * time, ...)` as `(segments, time, ...)`."""
    return _map(lambda tensor: tensor.view(*shape, -1), [logits])


def _stack(steps: list[Logits]) -> Logits:
    return _map(lambda *tensors: torch.stack(tensors, 1), steps)


def _map(function: Callable[..., Tensor], logits: list[Logits]) -> Logits:
    """Apply a function to the tensors of logits that are all of one kind."""
    first = logits[0]
    if isinstance(first, Tensor):
        return function(*logits)
    if isinstance(first, Normal):
        mean = function(*(one.loc for one in logits))  # type: ignore[union-attr]
        std = function(*(one.scale for one in logits))  # type: ignore[union-attr]
        return Normal(mean, std, validate_args=False)
    return tuple(function(*heads) for heads in zip(*logits, strict=True))


def _compiled(function: Any, mode: str) -> Any:
    return function if mode == "off" else torch.compile(function, mode=mode)
