"""Classes of spaces for `isinstance`, and the joint space of several agents."""

from puffer_core.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Tuple,
    joint_space,
)

__all__ = ["Box", "Dict", "Discrete", "MultiBinary", "MultiDiscrete", "Tuple", "joint_space"]
