"""Environments in C behind one Python class; `include/puffer_env.h` is the contract."""

from puffer_ocean.build import names
from puffer_ocean.env import OceanEnv
from puffer_ocean.library import load
from puffer_ocean.registry import config_path, env_creator

__all__ = ["OceanEnv", "config_path", "env_creator", "load", "names"]
