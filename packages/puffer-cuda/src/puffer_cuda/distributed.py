"""Several processes that train one policy, as `torchrun` starts them.

Every process steps its own environments. Losses are divided by the number of samples of all
processes and gradients are summed, so that the update is that of one process with all the data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, distributed, nn

from puffer_cuda.launch import processes


class World:
    """The processes of this run; one alone unless torch.distributed is initialised.

    Attributes:
        rank: of this process; 0 writes files and logs.
        size: number of processes.
    """

    def __init__(self) -> None:
        together = distributed.is_available() and distributed.is_initialized()
        self.rank = distributed.get_rank() if together else 0
        self.size = distributed.get_world_size() if together else 1

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum over all processes."""
        if self.size == 1:
            return tensor
        tensor = tensor.clone()
        distributed.all_reduce(tensor)
        return tensor

    def sum_int(self, value: int) -> int:
        """Sum of whole numbers, exact to 64 bits."""
        if self.size == 1:
            return value
        device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
        return int(self.sum(torch.tensor(value, dtype=torch.int64, device=device)))

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Sum every gradient over all processes, in one message."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def same_weights(self, module: nn.Module) -> None:
        """Give every process the weights and buffers of rank 0."""
        if self.size > 1:
            for tensor in module.state_dict().values():
                distributed.broadcast(tensor, 0)

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, on every one of them."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, value)
        return values

    def share(self, value: Any) -> Any:
        """The value of rank 0, on every process."""
        return self.gather(value)[0]


def connect() -> World:
    """Join the processes that `torchrun` started, if it did; NCCL with GPUs, else gloo."""
    if processes() > 1 and not distributed.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return World()


def disconnect() -> None:
    """Leave the others; nothing happens if there are none."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
