"""Flat, preallocated environments: PufferEnv, spaces, emulation."""

from puffer_core.emulation import GymnasiumPufferEnv
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError, InvalidAgentError
from puffer_core.pettingzoo import PettingZooPufferEnv

__all__ = [
    "APIUsageError",
    "GymnasiumPufferEnv",
    "InvalidAgentError",
    "PettingZooPufferEnv",
    "PufferEnv",
]
