"""Ratings of players by their results (Elo 1978)."""

from __future__ import annotations

START = 1000.0
K = 16.0


def expected(rating: float, other: float) -> float:
    """Expected score of a player against another: 1 for a win, 1/2 for a draw."""
    return float(1 / (1 + 10 ** ((other - rating) / 400)))


def update(rating: float, other: float, score: float) -> tuple[float, float]:
    """Both ratings after a game in which the first player got `score`; their sum stays."""
    change = K * (score - expected(rating, other))
    return rating + change, other - change
