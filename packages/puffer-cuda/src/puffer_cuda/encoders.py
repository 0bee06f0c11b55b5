"""The first part of a policy: observations to hidden features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import gymnasium
import torch
from torch import Tensor, nn

from puffer_cuda.nativize import (
    NativeTensor,
    flattened_tensor_size,
    nativize_dtype,
    nativize_tensor,
)
from puffer_cuda.networks import layer_init

Emulated: TypeAlias = "Mapping[str, Any] | bool"
"""`env.emulated`: the dtypes of a wrapped environment's observations, or False."""


class FlatEncoder(nn.Module):
    """Observations of any shape and dtype as one float vector, Linear, ReLU."""

    def __init__(self, space: gymnasium.spaces.Box, hidden_size: int) -> None:
        super().__init__()
        self.dims = len(space.shape)
        self.linear = layer_init(nn.Linear(math.prod(space.shape), hidden_size))

    def forward(self, observations: Tensor) -> Tensor:
        """`(..., *obs)` to `(..., hidden)`."""
        flat = observations.flatten(-self.dims) if self.dims else observations[..., None]
        return torch.relu(self.linear(flat.float()))


class NestedEncoder(nn.Module):
    """Un-flattened Dict and Tuple observations, their leaves side by side as floats, Linear, ReLU.

    Without it, the bytes of a mixed structure would be taken for its values. Leaves of uint8, which
    images are, count in units of 255, so that they do not drown the others.
    """

    def __init__(self, emulated: Mapping[str, Any], hidden_size: int) -> None:
        super().__init__()
        self.dtype = nativize_dtype(emulated)
        self.linear = layer_init(nn.Linear(flattened_tensor_size(self.dtype), hidden_size))

    def forward(self, observations: Tensor) -> Tensor:
        """`(..., flat)` in the dtype of the buffer to `(..., hidden)`."""
        batch = observations.shape[:-1]
        leaves = _leaves(nativize_tensor(observations, self.dtype))
        values = [_float(leaf.reshape(*batch, -1)) for leaf in leaves]
        return torch.relu(self.linear(torch.cat(values, -1)))


def make_encoder(
    space: gymnasium.Space[Any], emulated: Emulated, hidden_size: int
) -> FlatEncoder | NestedEncoder:
    """The encoder that fits one agent's flat observation space and what it stands for."""
    if isinstance(emulated, Mapping) and emulated["emulated_observation_dtype"].names is not None:
        return NestedEncoder(emulated, hidden_size)
    assert isinstance(space, gymnasium.spaces.Box)
    return FlatEncoder(space, hidden_size)


def _float(leaf: Tensor) -> Tensor:
    return leaf.float() / 255 if leaf.dtype == torch.uint8 else leaf.float()


def _leaves(tree: NativeTensor) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
        return
    for child in tree.values():
        yield from _leaves(child)
