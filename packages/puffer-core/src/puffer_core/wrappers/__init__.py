"""Wrappers under the names that programs written for PufferLib use.

Vectorizers count episodes and emulation clips actions by themselves: with them neither
`EpisodeStats` nor `ClipAction` is needed. `ClipAction` is Gymnasium's own, which announces
unbounded actions since Gymnasium 1.0, and those of the environment before. Gymnasium's
`ResizeObservation` takes a size and needs OpenCV; the one here takes every n-th pixel.

Multi-agent wrappers follow PettingZoo's parallel interface and do not import it.
"""

from gymnasium.wrappers import ClipAction

from puffer_core.wrappers.multi_agent import (
    MeanOverAgents,
    MultiagentEpisodeStats,
    PettingZooTruncatedWrapper,
    PettingZooWrapper,
)
from puffer_core.wrappers.old_gym import GymToGymnasium
from puffer_core.wrappers.single_agent import EpisodeStats, ResizeObservation

__all__ = [
    "ClipAction",
    "EpisodeStats",
    "GymToGymnasium",
    "MeanOverAgents",
    "MultiagentEpisodeStats",
    "PettingZooTruncatedWrapper",
    "PettingZooWrapper",
    "ResizeObservation",
]
