"""LSTM and GRU: recurrent networks that go through a segment step by step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from puffer_cuda.networks import State


class Cells(nn.Module):
    """`num_layers` cells on top of each other; subclasses say what a step of them is.

    Input weights are orthogonal with gain 1, as are recurrent ones; biases are 0.
    """

    def __init__(self, cells: list[nn.LSTMCell] | list[nn.GRUCell], hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = len(cells)
        self.cells = nn.ModuleList(cells)
        for parameter in self.parameters():
            if parameter.dim() >= 2:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def initial_state(self, batch: int, device: torch.device) -> State:
        """Zeros: what an episode begins with."""
        raise NotImplementedError

    def forward_eval(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step, `x` is `(batch, hidden)`; state tensors are `(batch, layers, hidden)`."""
        raise NotImplementedError

    def forward(self, x: Tensor, state: State, starts: Tensor) -> Tensor:
        """A segment `(segments, time, hidden)`; `starts` `(segments, time)` clears the state."""
        outputs = []
        for t in range(x.shape[1]):
            begins = starts[:, t, None, None]
            state = tuple(tensor.masked_fill(begins, 0) for tensor in state)
            y, state = self.forward_eval(x[:, t], state)
            outputs.append(y)
        return torch.stack(outputs, 1)


class LSTM(Cells):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); the state is (h, c)."""

    def __init__(self, hidden_size: int, num_layers: int, input_size: int | None = None) -> None:
        sizes = [input_size or hidden_size] + [hidden_size] * (num_layers - 1)
        super().__init__([nn.LSTMCell(size, hidden_size) for size in sizes], hidden_size)

    def initial_state(self, batch: int, device: torch.device) -> State:
        """Zeros: (h, c)."""
        shape = (batch, self.num_layers, self.hidden_size)
        return torch.zeros(shape, device=device), torch.zeros(shape, device=device)

    def forward_eval(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step."""
        hidden, memory = [], []
        for index, cell in enumerate(self.cells):
            x, c = cell(x, (state[0][:, index], state[1][:, index]))
            hidden.append(x)
            memory.append(c)
        return x, (torch.stack(hidden, 1), torch.stack(memory, 1))


class GRU(Cells):
    """Gated recurrent unit (Cho et al. 2014); the state is one tensor."""

    def __init__(self, hidden_size: int, num_layers: int) -> None:
        cells = [nn.GRUCell(hidden_size, hidden_size) for _ in range(num_layers)]
        super().__init__(cells, hidden_size)

    def initial_state(self, batch: int, device: torch.device) -> State:
        """Zeros."""
        return (torch.zeros(batch, self.num_layers, self.hidden_size, device=device),)

    def forward_eval(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step."""
        hidden = []
        for index, cell in enumerate(self.cells):
            x = cell(x, state[0][:, index])
            hidden.append(x)
        return x, (torch.stack(hidden, 1),)
