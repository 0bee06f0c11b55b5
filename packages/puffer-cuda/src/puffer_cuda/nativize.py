"""From flat observations to the tensors of a structured space, as views without a copy.

`nativize_dtype` reads a layout once; `nativize_tensor` applies it to every batch. Offsets are
those of the numpy dtype, so padding and nesting cannot shift them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from puffer_core import APIUsageError

# dtype, shape, first element and number of elements; the last two count flat elements.
Field: TypeAlias = "tuple[torch.dtype, tuple[int, ...], int, int]"
NativeDType: TypeAlias = "Field | dict[str, NativeDType]"
NativeTensor: TypeAlias = "Tensor | dict[str, NativeTensor]"

numpy_to_torch_dtype_dict: dict[np.dtype[Any], torch.dtype] = {
    np.dtype(name): getattr(torch, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}


def nativize_dtype(emulated: Mapping[str, Any]) -> NativeDType:
    """Describe the fields of flat observations for `nativize_tensor`.

    Args:
        emulated: `env.emulated` of a wrapped environment or of its vectorizer:
            `observation_dtype`, the dtype of the flat observations, and
            `emulated_observation_dtype`, that of the layout.

    Returns:
        For a structure a dict by field name (keys of a Dict space; f0, f1, ... of a Tuple), else
        one field: `(torch dtype, shape, start, count)`. Start and count are in elements of the
        flat observation. A scalar has the shape `(1,)`, but a lone Box of shape `()` keeps it.

    Raises:
        APIUsageError: No wrapped environment's description, or a dtype that torch lacks.
    """
    try:
        flat = np.dtype(emulated["observation_dtype"])
        layout = np.dtype(emulated["emulated_observation_dtype"])
    except (TypeError, KeyError):
        raise APIUsageError(
            f"nativize_dtype: expected env.emulated of a wrapped environment, got {emulated!r:.80}."
        ) from None
    if layout.names is None:
        return _field(layout, layout.shape, 0, flat.itemsize, "observation")
    return _fields(layout, 0, flat.itemsize, "observation")


def _fields(dtype: np.dtype[Any], offset: int, unit: int, path: str) -> NativeDType:
    if dtype.fields is None:
        return _field(dtype, dtype.shape or (1,), offset, unit, path)
    return {
        name: _fields(field[0], offset + field[1], unit, f"{path}.{name}")
        for name, field in ((name, dtype.fields[name]) for name in dtype.names or ())
    }


def _field(
    dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, unit: int, path: str
) -> NativeDType:
    if dtype.base not in numpy_to_torch_dtype_dict:
        raise APIUsageError(f"{path}: torch has no dtype for numpy's {dtype.base}.")
    return numpy_to_torch_dtype_dict[dtype.base], shape, offset // unit, dtype.itemsize // unit


def nativize_tensor(observation: Tensor, native_dtype: NativeDType) -> NativeTensor:
    """View flat observations as the tensors of their space.

    Args:
        observation: `(*batch, *flat)`, in the dtype of the buffer: a cast to float would destroy
            the bytes. The last axis must be contiguous.
        native_dtype: The result of `nativize_dtype`.

    Returns:
        The tree of `native_dtype` with tensors `(*batch, *shape)`, views of `observation`.

    Raises:
        APIUsageError: Another dtype or size than described.
    """
    if isinstance(native_dtype, dict):
        return {name: nativize_tensor(observation, field) for name, field in native_dtype.items()}
    dtype, shape, start, count = native_dtype
    lone = observation.ndim >= len(shape) and observation.shape[-len(shape) or None :] == shape
    if start == 0 and observation.dtype == dtype and (lone or not shape):
        return observation  # a Box by itself is what it is
    values = observation[..., start : start + count] if observation.ndim else observation
    nbytes = values.shape[-1] * values.element_size() if shape and values.ndim else 0
    if nbytes != math.prod(shape) * dtype.itemsize or observation.dtype not in (dtype, torch.uint8):
        raise APIUsageError(
            f"nativize_tensor: expected flat observations as the buffer has them, with {dtype} "
            f"{shape} at element {start}, got {observation.dtype} of shape "
            f"{tuple(observation.shape)}."
        )
    typed: Tensor = values.view(dtype)
    return typed.reshape(*typed.shape[:-1], *shape)


def flattened_tensor_size(native_dtype: NativeDType) -> int:
    """Return the number of elements of all tensors of an observation together."""
    if isinstance(native_dtype, dict):
        return sum(flattened_tensor_size(field) for field in native_dtype.values())
    return math.prod(native_dtype[1])
