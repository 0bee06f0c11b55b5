"""Helpers for policies in torch; lives in puffer_cuda."""

from typing import Any

from puffer_cuda.nativize import (
    NativeDType,
    flattened_tensor_size,
    nativize_dtype,
    nativize_tensor,
    numpy_to_torch_dtype_dict,
)
from puffer_cuda.networks import layer_init
from puffer_cuda.sampling import sample_logits
from pufferlib._gone import missing

__all__ = [
    "NativeDType",
    "flattened_tensor_size",
    "layer_init",
    "nativize_dtype",
    "nativize_tensor",
    "numpy_to_torch_dtype_dict",
    "sample_logits",
]


def __getattr__(name: str) -> Any:
    missing(__name__, name)
