"""`Policy(encoder, network, decoder)`: from observations to action logits and a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import torch
from torch import Tensor, nn
from torch.distributions import Normal

from puffer_cuda.cells import GRU, LSTM
from puffer_cuda.config import PolicyConfig
from puffer_cuda.encoders import make_encoder
from puffer_cuda.networks import MLP, MinGRU, State, layer_init
from puffer_cuda.sampling import Logits

NETWORKS: dict[str, Callable[[int, int], nn.Module]] = {
    "mlp": MLP,
    "mingru": MinGRU,
    "lstm": LSTM,
    "gru": GRU,
}
LOG_STD_BOUNDS = (-5.0, 2.0)


class Decoder(nn.Module):
    """Heads of a policy and of its value function.

    Discrete: logits `(..., n)`. MultiDiscrete: a tuple of such. Box: a Normal
    `(..., dims)` with a linear mean and a free log standard deviation within LOG_STD_BOUNDS.
    """

    def __init__(self, space: gymnasium.Space[Any], hidden_size: int) -> None:
        super().__init__()
        self.log_std: nn.Parameter | None = None
        if isinstance(space, gymnasium.spaces.Discrete):
            self.heads = [int(space.n)]
        elif isinstance(space, gymnasium.spaces.MultiDiscrete):
            self.heads = [int(n) for n in space.nvec.reshape(-1)]
        elif isinstance(space, gymnasium.spaces.Box):
            self.heads = [math.prod(space.shape)]
            self.log_std = nn.Parameter(torch.zeros(self.heads[0]))
        else:
            raise TypeError(
                f"actions must be Discrete, MultiDiscrete or Box, got {type(space).__name__}."
            )
        self.discrete = isinstance(space, gymnasium.spaces.Discrete)
        self.actor = layer_init(nn.Linear(hidden_size, sum(self.heads)), 0.01)
        self.critic = layer_init(nn.Linear(hidden_size, 1), 1.0)

    def forward(self, hidden: Tensor) -> tuple[Logits, Tensor]:
        """`(..., hidden)` to logits and values `(...)`."""
        return self.logits(hidden), self.value(hidden)

    def logits(self, hidden: Tensor) -> Logits:
        """`(..., hidden)` to logits."""
        output: Tensor = self.actor(hidden)
        if self.log_std is not None:
            std = self.log_std.clamp(*LOG_STD_BOUNDS).exp()
            return Normal(output, std.expand_as(output), validate_args=False)
        return output if self.discrete else torch.split(output, self.heads, -1)

    def value(self, hidden: Tensor) -> Tensor:
        """`(..., hidden)` to values `(...)`."""
        value: Tensor = self.critic(hidden)
        return value.squeeze(-1)


class Policy(nn.Module):
    """An encoder, a network with or without state, and a decoder.

    The state is a tuple of tensors with the batch first; `()` for networks without one.
    """

    def __init__(self, encoder: nn.Module, network: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.network: Any = network
        self.decoder: Any = decoder

    def initial_state(self, batch: int, device: torch.device) -> State:
        """The state of `batch` agents at the beginning of their episodes."""
        state: State = self.network.initial_state(batch, device)
        return state

    def forward_eval(self, observations: Tensor, state: State) -> tuple[Logits, Tensor, State]:
        """One step of a batch of agents.

        Args:
            observations: `(batch, *obs)` in the environment's dtype.
            state: of these agents; rows whose episode begins are already cleared.

        Returns:
            logits, values `(batch,)`, the state after the step.
        """
        hidden = self.encoder(observations)
        hidden, state = self.network.forward_eval(hidden, state)
        logits, values = self.decoder(hidden)
        return logits, values, state

    def forward(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Logits, Tensor]:
        """Whole segments, for learning.

        Args:
            observations: `(segments, time, *obs)`.
            state: before the first step, `(segments, ...)` each.
            starts: `(segments, time)` bool, true where an episode begins.

        Returns:
            logits and values `(segments, time)`.
        """
        hidden = self.network(self.encoder(observations), state, starts)
        logits, values = self.decoder(hidden)
        return logits, values


class SeparateCritic(Policy):
    """A policy whose value function has an encoder and a network of its own.

    The state is that of the network, then that of the critic's network.
    """

    def __init__(
        self,
        encoder: nn.Module,
        network: nn.Module,
        decoder: Decoder,
        critic_encoder: nn.Module,
        critic_network: nn.Module,
    ) -> None:
        super().__init__(encoder, network, decoder)
        self.critic_encoder = critic_encoder
        self.critic_network: Any = critic_network

    def initial_state(self, batch: int, device: torch.device) -> State:
        """The state of `batch` agents at the beginning of their episodes."""
        own = super().initial_state(batch, device)
        return (*own, *self.critic_network.initial_state(batch, device))

    def forward_eval(self, observations: Tensor, state: State) -> tuple[Logits, Tensor, State]:
        """One step of a batch of agents, as `Policy.forward_eval`."""
        half = len(state) // 2
        hidden, own = self.network.forward_eval(self.encoder(observations), state[:half])
        features, of_critic = self.critic_network.forward_eval(
            self.critic_encoder(observations), state[half:]
        )
        return self.decoder.logits(hidden), self.decoder.value(features), (*own, *of_critic)

    def forward(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Logits, Tensor]:
        """Whole segments, as `Policy.forward`."""
        half = len(state) // 2
        hidden = self.network(self.encoder(observations), state[:half], starts)
        features = self.critic_network(self.critic_encoder(observations), state[half:], starts)
        return self.decoder.logits(hidden), self.decoder.value(features)


def make_policy(config: PolicyConfig, env: Any) -> Policy:
    """The policy that `config` describes.

    Args:
        config: network and sizes.
        env: a vectorizer or environment; its `single_observation_space` and `single_action_space`
            are one agent's, and `emulated` says whether observations are to be un-flattened.
    """

    def parts() -> tuple[nn.Module, nn.Module]:
        encoder = make_encoder(env, config.hidden_size, config.encoder, config.activation)
        network, sizes = NETWORKS[config.network], (config.hidden_size, config.num_layers)
        return encoder, MLP(*sizes, config.activation) if network is MLP else network(*sizes)

    actor = (*parts(), Decoder(env.single_action_space, config.hidden_size))
    return SeparateCritic(*actor, *parts()) if config.critic == "separate" else Policy(*actor)
