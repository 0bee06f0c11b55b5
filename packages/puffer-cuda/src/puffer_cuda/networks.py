"""The networks between encoder and decoder: MLP, and MinGRU with highway connections."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from puffer_cuda.scan import linear_scan

State = tuple[Tensor, ...]
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


def layer_init(layer: nn.Linear, std: float = math.sqrt(2), bias_const: float = 0.0) -> nn.Linear:
    """Orthogonal weights of gain `std`, constant bias; returns the layer."""
    nn.init.orthogonal_(layer.weight, std)
    if layer.bias is not None:
        nn.init.constant_(layer.bias, bias_const)
    return layer


class MLP(nn.Module):
    """`num_layers` times Linear and an activation; has no state."""

    def __init__(self, hidden_size: int, num_layers: int, activation: str = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.layers = nn.ModuleList(
            layer_init(nn.Linear(hidden_size, hidden_size)) for _ in range(num_layers)
        )

    def initial_state(self, batch: int, device: torch.device) -> State:
        """No tensors."""
        return ()

    def forward_eval(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step, `x` is `(batch, hidden)`."""
        for layer in self.layers:
            x = ACTIVATIONS[self.activation](layer(x))
        return x, state

    def forward(self, x: Tensor, state: State, starts: Tensor) -> Tensor:
        """A segment, `x` is `(segments, time, hidden)`."""
        return self.forward_eval(x, state)[0]


class MinGRULayer(nn.Module):
    """A MinGRU cell (Feng et al. 2024) whose output gate doubles as a highway connection.

        (u, g, p) = W x,   z = sigmoid(g),   h = u + 1/2 if u >= 0 else sigmoid(u)
        s_t = (1 - z) s_{t-1} + z h,   y = sigmoid(p) s_t + (1 - sigmoid(p)) x

    Gates depend on x alone, so that a segment is one matrix product and one linear scan.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = layer_init(nn.Linear(hidden_size, 3 * hidden_size, bias=False), 1.0)

    def gates(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """x, candidate h, update gate z, highway gate sigmoid(p); each of the shape of x.

        In the precision of the weights, also where autocast makes the matrix product coarser.
        """
        dtype = self.linear.weight.dtype
        candidate, gate, highway = self.linear(x).to(dtype).chunk(3, -1)
        candidate = torch.where(candidate >= 0, candidate + 0.5, torch.sigmoid(candidate))
        return x.to(dtype), candidate, torch.sigmoid(gate), torch.sigmoid(highway)

    def forward_eval(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step: `x` and `state` are `(batch, hidden)`; returns (y, new state)."""
        x, candidate, gate, highway = self.gates(x)
        state = (1 - gate) * state + gate * candidate
        return torch.lerp(x, state, highway), state

    def forward(self, x: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """A segment: x `(segments, time, hidden)`, state `(segments, hidden)`."""
        x, candidate, gate, highway = self.gates(x)
        keep = (1 - gate) * ~starts[..., None]
        return torch.lerp(x, linear_scan(keep, gate * candidate, state), highway)


class MinGRU(nn.Module):
    """`num_layers` MinGRU layers; the state is one tensor `(batch, layers, hidden)`."""

    def __init__(self, hidden_size: int, num_layers: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.layers = nn.ModuleList(MinGRULayer(hidden_size) for _ in range(num_layers))

    def initial_state(self, batch: int, device: torch.device) -> State:
        """Zeros: what an episode begins with."""
        return (torch.zeros(batch, self.num_layers, self.hidden_size, device=device),)

    def forward_eval(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step; the caller has cleared the state of rows whose episode begins."""
        states = []
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, MinGRULayer)
            x, new = layer.forward_eval(x, state[0][:, index])
            states.append(new)
        return x, (torch.stack(states, 1),)

    def forward(self, x: Tensor, state: State, starts: Tensor) -> Tensor:
        """A segment.

        Args:
            x: `(segments, time, hidden)`.
            state: before the first step.
            starts: `(segments, time)` bool, true where x holds the first observation of an episode.
        """
        for index, layer in enumerate(self.layers):
            x = layer(x, state[0][:, index], starts)
        return x
