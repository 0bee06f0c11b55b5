"""Wrappers that make a PufferEnv of other environments."""

from puffer_core.emulation import GymnasiumPufferEnv

__all__ = ["GymnasiumPufferEnv"]
