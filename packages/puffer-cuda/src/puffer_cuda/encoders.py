"""The first part of a policy: observations to hidden features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import gymnasium
import torch
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda.images import SMALLEST_NATURE, Impala, Nature, image_shape
from puffer_cuda.nativize import NativeTensor, nativize_dtype, nativize_tensor
from puffer_cuda.networks import ACTIVATIONS, layer_init

Emulated: TypeAlias = "Mapping[str, Any] | bool"
"""`env.emulated`: the dtypes of a wrapped environment's observations, or False."""

ONE_HOT_LIMIT = 1024  # choices; a Discrete with more enters as a number


class FlatEncoder(nn.Module):
    """Observations of any shape and dtype as one float vector, Linear, activation."""

    def __init__(
        self, space: gymnasium.spaces.Box, hidden_size: int, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.activation = activation
        self.dims = len(space.shape)
        self.linear = layer_init(nn.Linear(math.prod(space.shape), hidden_size))

    def forward(self, observations: Tensor) -> Tensor:
        """`(..., *obs)` to `(..., hidden)`."""
        flat = observations.flatten(-self.dims) if self.dims else observations[..., None]
        return ACTIVATIONS[self.activation](self.linear(flat.float()))


class NestedEncoder(nn.Module):
    """Un-flattened observations, their leaves side by side as floats, Linear, activation.

    Without it, the bytes of a mixed structure would be taken for its values. A choice (Discrete,
    MultiDiscrete) is a one-hot vector; leaves of uint8, which images are, count in units of 255,
    so that they do not drown the others.
    """

    def __init__(
        self,
        emulated: Mapping[str, Any],
        spaces: list[gymnasium.Space[Any]],
        hidden_size: int,
        activation: str = "relu",
    ) -> None:
        """Read the layout.

        Args:
            emulated: `env.emulated`.
            spaces: of the leaves, in the order of the layout.
            hidden_size: features to give.
            activation: relu or tanh.
        """
        super().__init__()
        self.activation = activation
        self.dtype = nativize_dtype(emulated)
        self.starts: list[Tensor | None] = []  # of one-hot leaves: their smallest values
        self.choices: list[list[int]] = []  # their numbers of choices
        size = 0
        for space in spaces:
            starts, choices = _choices(space)
            one_hot = bool(choices) and max(choices) <= ONE_HOT_LIMIT
            self.starts.append(torch.tensor(starts) if one_hot else None)
            self.choices.append(choices if one_hot else [])
            size += sum(choices) if one_hot else math.prod(space.shape or ())
        self.linear = layer_init(nn.Linear(size, hidden_size))
        # Buffers are flat, whatever the shape of a choice, but for a Box by itself.
        lone = not isinstance(self.dtype, dict) and isinstance(spaces[0], gymnasium.spaces.Box)
        self.dims = max(len(spaces[0].shape or ()), 1) if lone else 1

    def forward(self, observations: Tensor) -> Tensor:
        """`(..., flat)` in the dtype of the buffer to `(..., hidden)`."""
        batch = observations.shape[: -self.dims]
        leaves = list(_leaves(nativize_tensor(observations, self.dtype)))
        values = []
        for leaf, starts, choices in zip(leaves, self.starts, self.choices, strict=True):
            flat = leaf.reshape(*batch, -1)
            values.append(_float(flat) if starts is None else _one_hot(flat, starts, choices))
        return ACTIVATIONS[self.activation](self.linear(torch.cat(values, -1)))


def make_encoder(
    env: Any, hidden_size: int, name: str = "auto", activation: str = "relu"
) -> nn.Module:
    """The encoder of that name for the observations of `env`, an environment or a vectorizer.

    "auto": nested for what is no Box; nature for byte images of at least 36 x 36; flat for the
    rest. `activation` is that of flat and nested ones; those of images have ReLU.

    Raises:
        APIUsageError: an encoder that does not fit the observations.
    """
    space, emulated = env.single_observation_space, env.emulated
    layout = getattr(env.driver_env, "layout", None)
    spaces = [node.space for _, node in layout.leaves()] if layout is not None else [space]
    nested = not isinstance(layout.space if layout is not None else space, gymnasium.spaces.Box)
    image = image_shape(space)
    if name == "auto":
        large = image is not None and min(image[1:]) >= SMALLEST_NATURE
        name = "nested" if nested else "nature" if large else "flat"
    if name == "nested":
        if not isinstance(emulated, Mapping):
            raise APIUsageError(f"policy.encoder = nested un-flattens Dict and Tuple, got {space}.")
        return NestedEncoder(emulated, spaces, hidden_size, activation)
    if name == "flat":
        if nested:
            raise APIUsageError(
                "policy.encoder = flat would read the bytes of a nested observation as its "
                "values; use auto or nested."
            )
        return FlatEncoder(space, hidden_size, activation)
    if nested or image is None:
        raise APIUsageError(
            f"policy.encoder = {name} reads images, uint8 of shape (height, width), (channels, "
            f"height, width) or (height, width, channels); got {space}."
        )
    encoder = Nature if name == "nature" else Impala
    return encoder(space.shape, hidden_size)


def is_nested(emulated: Emulated) -> bool:
    """Whether flat observations stand for a Dict or Tuple."""
    if not isinstance(emulated, Mapping):
        return False
    return emulated["emulated_observation_dtype"].names is not None


def _choices(space: gymnasium.Space[Any]) -> tuple[list[int], list[int]]:
    """(smallest value, number of choices) of each choice in a leaf; empty for other leaves."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return [int(space.start)], [int(space.n)]
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        choices = [int(n) for n in space.nvec.reshape(-1)]
        starts = getattr(space, "start", None)  # Gymnasium 0.29 has none
        first = [0] * len(choices) if starts is None else [int(s) for s in starts.reshape(-1)]
        return first, choices
    return [], []


def _one_hot(values: Tensor, starts: Tensor, choices: list[int]) -> Tensor:
    """`(..., k)` values as `(..., sum of choices)`."""
    indices = values.long() - starts.to(values.device)
    columns = [
        nn.functional.one_hot(index.clamp(0, n - 1), n)  # a dead agent's zeros may be no choice
        for index, n in zip(indices.unbind(-1), choices, strict=True)
    ]
    return torch.cat(columns, -1).float()


def _float(leaf: Tensor) -> Tensor:
    return leaf.float() / 255 if leaf.dtype == torch.uint8 else leaf.float()


def _leaves(tree: NativeTensor) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
        return
    for child in tree.values():
        yield from _leaves(child)
