"""Tuning: the methods of puffer-protein under the name of PufferLib's module."""

from puffer_protein import ParetoGenetic, Protein, Random, Space

__all__ = ["ParetoGenetic", "Protein", "Random", "Space"]
