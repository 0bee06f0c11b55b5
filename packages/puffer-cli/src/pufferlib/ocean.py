"""Environments in C; lives in puffer_ocean."""

from puffer_ocean import OceanEnv, env_creator

__all__ = ["OceanEnv", "env_creator"]
