"""Constellation: look at a hundred thousand experiments, locally or embedded in a page."""

from puffer_cli.constellation.notebook import show

__all__ = ["show"]
