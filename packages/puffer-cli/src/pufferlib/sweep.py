"""Tuning: the methods of puffer-protein under the name of PufferLib's module."""

from typing import Any

from puffer_protein import ParetoGenetic, Protein, Random, Space
from pufferlib._gone import missing

__all__ = ["ParetoGenetic", "Protein", "Random", "Space"]


def __getattr__(name: str) -> Any:
    missing(__name__, name)
