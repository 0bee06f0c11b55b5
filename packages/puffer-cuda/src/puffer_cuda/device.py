"""Where tensors live, and how many threads torch may use."""

from __future__ import annotations

import torch

from puffer_core import APIUsageError
from puffer_vector.plan import available_cpus

CPU = torch.device("cpu")


def choose_device(name: str) -> torch.device:
    """The device for `name`; "auto" is this process's GPU, or the CPU where there is none.

    Raises:
        APIUsageError: no such device here.
    """
    if name == "auto":
        # The current one: distributed.py gives every process its own.
        available = torch.cuda.is_available()
        return torch.device("cuda", torch.cuda.current_device()) if available else CPU
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise APIUsageError(f"device {name!r} is not auto, cpu, cuda or cuda:N.") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise APIUsageError(
            f"device {name!r} was asked for; torch sees {torch.cuda.device_count()} CUDA devices."
        )
    return device


def gpu_of(device: torch.device) -> int | None:
    """The number of a CUDA device; without one this process's. None for the CPU."""
    if device.type != "cuda":
        return None
    return torch.cuda.current_device() if device.index is None else device.index


def limit_threads(threads: int) -> None:
    """Let torch use `threads` CPU threads; 0 means as many as this process may use."""
    torch.set_num_threads(threads or available_cpus())
