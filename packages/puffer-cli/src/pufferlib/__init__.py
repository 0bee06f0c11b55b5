"""The names that programs written for PufferLib import."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from puffer_core import APIUsageError as APIUsageError
    from puffer_core import PufferEnv as PufferEnv

_CORE = ("APIUsageError", "PufferEnv")


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import pufferlib` costs next to nothing."""
    if name in _CORE:
        return getattr(importlib.import_module("puffer_core"), name)
    raise AttributeError(f"module 'pufferlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_CORE])
