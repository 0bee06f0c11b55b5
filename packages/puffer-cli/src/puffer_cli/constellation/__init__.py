"""Constellation: look at a hundred thousand experiments, locally or embedded in a page."""
