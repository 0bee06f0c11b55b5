"""Protein: tuning on the Pareto front of cost and score."""
from puffer_protein.protein import Protein
from puffer_protein.space import Space
