"""From the vectorizer's arrays to the policy's device."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor


class Staging:
    """Brings batches to the device.

    On the CPU a tensor is a view of the array. For a GPU the array is copied into page-locked
    memory first, one buffer a batch, so that the transfer runs while the CPU goes on.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._pinned: dict[int, Tensor] = {}

    def __call__(self, array: npt.NDArray[Any], index: int) -> Tensor:
        """The array on the device.

        Args:
            array: any shape.
            index: of the batch; its buffer must not be in use by an earlier call, that is, the
                policy has acted on what that one brought.
        """
        tensor = torch.from_numpy(array)
        if self.device.type != "cuda":
            return tensor.to(self.device)
        if index not in self._pinned:
            self._pinned[index] = torch.empty_like(tensor, pin_memory=True)
        return self._pinned[index].copy_(tensor).to(self.device, non_blocking=True)
