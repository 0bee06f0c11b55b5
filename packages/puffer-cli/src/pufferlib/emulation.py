"""Wrappers that make a PufferEnv of other environments, and what un-flattens their values."""

from typing import Any

from puffer_core.emulated import (
    dtype_from_space,
    emulate_action_space,
    emulate_observation_space,
)
from puffer_core.emulation import GymnasiumPufferEnv
from puffer_core.flatten import emulate, nativize
from puffer_core.pettingzoo import PettingZooPufferEnv
from pufferlib._gone import missing

__all__ = [
    "GymnasiumPufferEnv",
    "PettingZooPufferEnv",
    "dtype_from_space",
    "emulate",
    "emulate_action_space",
    "emulate_observation_space",
    "nativize",
]


def __getattr__(name: str) -> Any:
    missing(__name__, name)
