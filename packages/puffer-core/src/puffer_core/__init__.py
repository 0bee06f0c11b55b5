"""Flat, preallocated environments: PufferEnv, spaces, emulation."""

from puffer_core.emulation import GymnasiumPufferEnv
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError

__all__ = ["APIUsageError", "GymnasiumPufferEnv", "PufferEnv"]
