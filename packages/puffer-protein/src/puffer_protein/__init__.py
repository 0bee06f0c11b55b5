"""Protein: tuning on the Pareto front of cost and score."""
