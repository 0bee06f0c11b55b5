"""Numbers from environments that are not finite: say where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from puffer_cuda.encoders import is_nested
from puffer_cuda.nativize import NativeTensor, nativize_dtype, nativize_tensor


def bad_rows(observations: Tensor, emulated: Any) -> Tensor:
    """`(batch,)` bool: observations that hold a number which is not finite."""
    bad = torch.zeros(len(observations), dtype=torch.bool, device=observations.device)
    for _, leaf in _leaves(observations, emulated):
        if leaf.is_floating_point():
            bad |= ~torch.isfinite(leaf).flatten(1).all(1)
    return bad


def describe(observations: Tensor, row: int, emulated: Any) -> str:
    """The first such number in a row as `observation.position[2] is nan`."""
    for path, leaf in _leaves(observations[row : row + 1], emulated):
        values = leaf[0].double().cpu().numpy()
        for index in np.argwhere(~np.isfinite(values)):
            where = "".join(f"[{i}]" for i in index)
            return f"observation{path}{where} is {values[tuple(index)]}"
    raise ValueError(f"row {row} is finite")


def _leaves(observations: Tensor, emulated: Any) -> Iterator[tuple[str, Tensor]]:
    """(path, values) of every leaf."""
    if is_nested(emulated):
        yield from _walk("", nativize_tensor(observations, nativize_dtype(emulated)))
    else:
        yield "", observations[:, None] if observations.dim() == 1 else observations


def _walk(path: str, tree: NativeTensor) -> Iterator[tuple[str, Tensor]]:
    if isinstance(tree, Tensor):
        yield path, tree
        return
    for name, child in tree.items():
        yield from _walk(f"{path}.{name}", child)
