"""Draw 2048: tiles from dark to bright."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, PANEL, TEAL, Canvas, Colour

TILE, GAP = 96, 10
SIZE = 4 * TILE + 5 * GAP
WARM: Colour = (226, 92, 92)
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (17,) exponents of the tiles row by row, 0 for an empty cell; the score.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    canvas = Canvas(SIZE, SIZE)
    for cell, exponent in enumerate(int(value) for value in state[:16]):
        x = GAP + cell % 4 * (TILE + GAP)
        y = GAP + cell // 4 * (TILE + GAP)
        canvas.box(x, y, TILE, TILE, _colour(exponent), 10)
        if exponent:
            height = min(44, 5 * (TILE - 20) / (4 * len(str(2**exponent)) - 1))
            canvas.number(x + TILE / 2, y + TILE / 2, height, 2**exponent, LIGHT)
    return canvas.picture()


def _colour(exponent: int) -> Colour:
    """From the panel over teal (8) and amber (128) to red (2048 and more)."""
    stops = (PANEL, TEAL, AMBER, WARM)
    position = min(max(exponent, 0) / 11, 1) * (len(stops) - 1)
    index = min(int(position), len(stops) - 2)
    red, green, blue = (
        round(a + (b - a) * (position - index))
        for a, b in zip(stops[index], stops[index + 1], strict=True)
    )
    return red, green, blue
