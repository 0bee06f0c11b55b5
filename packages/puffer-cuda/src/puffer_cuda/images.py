"""Encoders of byte images: Nature CNN and IMPALA ResNet."""

from __future__ import annotations

import math
from collections.abc import Sequence

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from puffer_core import APIUsageError
from puffer_cuda.networks import layer_init

SMALLEST_NATURE = 36  # its three convolutions leave one pixel of 36


def image_shape(space: gymnasium.spaces.Box) -> tuple[int, int, int] | None:
    """(channels, height, width) of a space of byte images; None if it is none."""
    if np.dtype(space.dtype) != np.uint8 or len(space.shape) not in (2, 3):
        return None
    return _channels_first(space.shape)


def _channels_first(shape: Sequence[int]) -> tuple[int, int, int]:
    """The shorter of the first and the last axis are the channels; the last if they are equal."""
    if len(shape) == 2:
        return 1, shape[0], shape[1]
    if shape[0] < shape[2]:
        return shape[0], shape[1], shape[2]
    return shape[2], shape[0], shape[1]


class ImageEncoder(nn.Module):
    """Bytes scaled to [0, 1], `trunk` of convolutions, ReLU, Linear, ReLU."""

    def __init__(self, shape: Sequence[int], trunk: nn.Module, hidden_size: int) -> None:
        super().__init__()
        self.shape = tuple(shape)
        self.trunk = trunk
        with torch.no_grad():
            size = trunk(torch.zeros(1, *_channels_first(shape))).numel()
        self.linear = layer_init(nn.Linear(size, hidden_size))

    def forward(self, observations: Tensor) -> Tensor:
        """`(..., *image)` uint8 to `(..., hidden)`."""
        batch = observations.shape[: -len(self.shape)]
        images = observations.reshape(-1, *self.shape).float() / 255
        if len(self.shape) == 2:
            images = images[:, None]
        elif self.shape[0] >= self.shape[2]:
            images = images.movedim(-1, 1)
        hidden = torch.relu(self.linear(torch.relu(self.trunk(images)).flatten(1)))
        return hidden.view(*batch, -1)


class Nature(ImageEncoder):
    """Three convolutions (Mnih et al. 2015); images of at least 36 x 36."""

    def __init__(self, shape: Sequence[int], hidden_size: int) -> None:
        channels, height, width = _channels_first(shape)
        if min(height, width) < SMALLEST_NATURE:
            raise APIUsageError(
                f"policy.encoder = nature needs images of at least {SMALLEST_NATURE} x "
                f"{SMALLEST_NATURE}, got {height} x {width}: use impala."
            )
        trunk = nn.Sequential(
            _conv(channels, 32, 8, 4),
            nn.ReLU(),
            _conv(32, 64, 4, 2),
            nn.ReLU(),
            _conv(64, 64, 3, 1),
        )
        super().__init__(shape, trunk, hidden_size)


class Impala(ImageEncoder):
    """Three stages of a convolution, a pool and two residual blocks (Espeholt et al. 2018)."""

    def __init__(
        self, shape: Sequence[int], hidden_size: int, widths: Sequence[int] = (16, 32, 32)
    ) -> None:
        channels = _channels_first(shape)[0]
        stages: list[nn.Module] = []
        for width in widths:
            stages += [
                _conv(channels, width, 3, 1, 1),
                nn.MaxPool2d(3, 2, 1),
                Residual(width),
                Residual(width),
            ]
            channels = width
        super().__init__(shape, nn.Sequential(*stages), hidden_size)


class Residual(nn.Module):
    """x + two convolutions of it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _conv(channels, channels, 3, 1, 1)
        self.second = _conv(channels, channels, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape."""
        y: Tensor = x + self.second(torch.relu(self.first(torch.relu(x))))
        return y


def _conv(inputs: int, outputs: int, size: int, stride: int, padding: int = 0) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, size, stride, padding)
    nn.init.orthogonal_(layer.weight, math.sqrt(2))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
