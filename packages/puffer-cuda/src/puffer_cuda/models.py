"""Policies under the names that programs written for PufferLib 3.0 use."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import torch
from torch import Tensor, nn
from torch.distributions import Normal

from puffer_cuda.adapter import unflatten
from puffer_cuda.cells import LSTM
from puffer_cuda.encoders import FlatEncoder, make_encoder
from puffer_cuda.networks import State, layer_init
from puffer_cuda.policy import LOG_STD_BOUNDS
from puffer_cuda.sampling import Logits


class Default(nn.Module):
    """An encoder and heads without memory, in the two halves that `LSTMWrapper` needs.

    Of a Box it is what 3.0's is, tensor by tensor: Linear and GELU, a linear head of gain 0.01, and
    a value head. Nested observations go through `NestedEncoder`.
    """

    def __init__(self, env: Any, hidden_size: int = 128) -> None:
        """Fit the spaces of `env`, an environment or a vectorizer."""
        super().__init__()
        self.hidden_size = hidden_size
        self.encoder = make_encoder(env, hidden_size)
        if isinstance(self.encoder, FlatEncoder):
            size = math.prod(env.single_observation_space.shape)
            self.encoder = nn.Sequential(layer_init(nn.Linear(size, hidden_size)), nn.GELU())
        space = env.single_action_space
        self.is_continuous = isinstance(space, gymnasium.spaces.Box)
        self.is_multidiscrete = isinstance(space, gymnasium.spaces.MultiDiscrete)
        if self.is_continuous:
            dims = math.prod(space.shape)
            self.decoder_mean = layer_init(nn.Linear(hidden_size, dims), 0.01)
            self.decoder_logstd = nn.Parameter(torch.zeros(1, dims))
        else:
            self.heads = [int(n) for n in getattr(space, "nvec", [getattr(space, "n", 0)])]
            self.decoder = layer_init(nn.Linear(hidden_size, sum(self.heads)), 0.01)
        self.value = layer_init(nn.Linear(hidden_size, 1), 1.0)

    def encode_observations(self, observations: Tensor, state: Any = None) -> Tensor:
        """`(batch, *obs)` to `(batch, hidden_size)`."""
        if isinstance(self.encoder, nn.Sequential):
            observations = observations.flatten(1).float()
        hidden: Tensor = self.encoder(observations)
        return hidden

    def decode_actions(self, hidden: Tensor) -> tuple[Logits, Tensor]:
        """Logits and values `(batch,)`."""
        values = self.value(hidden).squeeze(-1)
        if self.is_continuous:
            mean = self.decoder_mean(hidden)
            std = self.decoder_logstd.clamp(*LOG_STD_BOUNDS).exp().expand_as(mean)
            return Normal(mean, std, validate_args=False), values
        logits = self.decoder(hidden)
        return (torch.split(logits, self.heads, -1) if self.is_multidiscrete else logits), values

    def forward_eval(self, observations: Tensor, state: Any = None) -> tuple[Logits, Tensor]:
        """One step without memory."""
        return self.decode_actions(self.encode_observations(observations, state))

    def forward(self, observations: Tensor, state: Any = None) -> tuple[Logits, Tensor]:
        """The same as `forward_eval`."""
        return self.forward_eval(observations, state)


class LSTMWrapper(nn.Module):
    """An LSTM between the two halves of `policy`; recurrent as `puffer_cuda.policy.Policy` is.

    The wrapped policy keeps its weights as they are; only the LSTM is new.
    """

    def __init__(
        self, env: Any, policy: nn.Module, input_size: int = 128, hidden_size: int = 128
    ) -> None:
        """Wrap a policy.

        Args:
            env: not used; programs pass it.
            policy: has `encode_observations(observations, state=None)`, which gives
                `(batch, input_size)`, and `decode_actions(hidden)`, which takes
                `(batch, hidden_size)` and gives (logits, values).
            input_size: what the LSTM reads.
            hidden_size: what it gives.

        Raises:
            TypeError: the policy lacks one of the two.
        """
        super().__init__()
        for name in ("encode_observations", "decode_actions"):
            if not hasattr(policy, name):
                raise TypeError(f"{type(policy).__name__} has no {name}, which LSTMWrapper calls.")
        self.policy: Any = policy
        self.hidden_size = hidden_size
        self.lstm = LSTM(hidden_size, 1, input_size)

    def initial_state(self, batch: int, device: torch.device) -> State:
        """Zeros."""
        return self.lstm.initial_state(batch, device)

    def forward_eval(self, observations: Tensor, state: State) -> tuple[Logits, Tensor, State]:
        """One step of a batch of agents."""
        hidden = self.policy.encode_observations(observations)
        hidden, state = self.lstm.forward_eval(hidden, state)
        logits, values = self.policy.decode_actions(hidden)
        return logits, values.flatten(), state

    def forward(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Logits, Tensor]:
        """Segments `(segments, time, *obs)`; logits and values `(segments, time)`."""
        hidden = self.policy.encode_observations(observations.flatten(0, 1))
        hidden = self.lstm(hidden.unflatten(0, starts.shape), state, starts)
        logits, values = self.policy.decode_actions(hidden.flatten(0, 1))
        return unflatten(logits, starts.shape), values.view(starts.shape)
