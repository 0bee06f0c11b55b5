"""Flat, preallocated environments: PufferEnv, spaces, emulation, a checker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from puffer_core.emulation import GymnasiumPufferEnv
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError, InvalidAgentError
from puffer_core.pettingzoo import PettingZooPufferEnv

if TYPE_CHECKING:
    from puffer_core.check import check_env as check_env

__all__ = [
    "APIUsageError",
    "GymnasiumPufferEnv",
    "InvalidAgentError",
    "PettingZooPufferEnv",
    "PufferEnv",
    "check_env",
]


def __getattr__(name: str) -> Any:
    """Import the checker on first use: running environments does without it."""
    if name == "check_env":
        from puffer_core.check import check_env

        return check_env
    raise AttributeError(f"module 'puffer_core' has no attribute {name!r}")
