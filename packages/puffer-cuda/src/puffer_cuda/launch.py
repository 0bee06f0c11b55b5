"""What `torchrun` tells a process about itself, without importing torch."""

from __future__ import annotations

import os


def rank() -> int:
    """Number of this process among those that train together; 0 alone."""
    return int(os.environ.get("RANK", "0"))


def processes() -> int:
    """How many train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))
