"""The names that programs written for PufferLib import."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from puffer_core import APIUsageError as APIUsageError
    from puffer_core import InvalidAgentError as InvalidAgentError
    from puffer_core import PufferEnv as PufferEnv
    from puffer_core.wrappers import ClipAction as ClipAction
    from puffer_core.wrappers import EpisodeStats as EpisodeStats
    from puffer_core.wrappers import GymToGymnasium as GymToGymnasium
    from puffer_core.wrappers import MeanOverAgents as MeanOverAgents
    from puffer_core.wrappers import MultiagentEpisodeStats as MultiagentEpisodeStats
    from puffer_core.wrappers import PettingZooTruncatedWrapper as PettingZooTruncatedWrapper
    from puffer_core.wrappers import PettingZooWrapper as PettingZooWrapper
    from puffer_core.wrappers import ResizeObservation as ResizeObservation

WRAPPERS = (
    "ClipAction",
    "EpisodeStats",
    "GymToGymnasium",
    "MeanOverAgents",
    "MultiagentEpisodeStats",
    "PettingZooTruncatedWrapper",
    "PettingZooWrapper",
    "ResizeObservation",
)


def __getattr__(name: str) -> Any:
    """Import names and submodules on first use, so that `import pufferlib` costs nothing."""
    if name in ("APIUsageError", "InvalidAgentError", "PufferEnv"):
        return getattr(importlib.import_module("puffer_core"), name)
    if name in WRAPPERS:
        return getattr(importlib.import_module("puffer_core.wrappers"), name)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("puffer-cli")
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"pufferlib.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"pufferlib.{name}":
                raise
    from pufferlib._gone import missing

    return missing("pufferlib", name)
