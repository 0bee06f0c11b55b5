"""Draw the commons: bare earth, green plants, ripe fruits, and the harvesters."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, Canvas, Colour

SIDE, MARGIN = 720, 12  # pixels of the longer edge
RIPE, BARE, GREEN = 2, 1, -1
LAWN: Colour = (34, 46, 42)
EARTH: Colour = (66, 56, 48)
LEAF: Colour = (96, 158, 96)
FRUIT: Colour = (226, 92, 84)
KEYS = {"up": 1, "down": 2, "left": 3, "right": 4, "space": 0}


def colour_of(agent: int) -> Colour:
    """Neighbouring numbers have distant hues: steps of the golden ratio."""
    red, green, blue = colorsys.hls_to_rgb(0.55 + 0.618 * agent, 0.7, 0.55)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: the cells row by row, 2 ripe, -1 green, 1 a bare place, else 0; then the cell and the
            fruits of each agent.
        arguments: `width` and `height` are read.

    Returns:
        (height, width, 3) bytes.
    """
    height, width = arguments["height"], arguments["width"]
    size = SIDE // max(width, height)
    canvas = Canvas(height * size + 2 * MARGIN, width * size + 2 * MARGIN)
    canvas.box(MARGIN, MARGIN, width * size, height * size, LAWN, 8)

    def disc(x: float, y: float, share: float, colour: Colour) -> None:
        canvas.line(x, y, x, y, share * size, colour)

    for number, kind in enumerate(state[: height * width].astype(int).tolist()):
        if not kind:
            continue
        left, top = MARGIN + number % width * size, MARGIN + number // width * size
        x, y = left + size / 2, top + size / 2
        canvas.box(left + 1, top + 1, size - 2, size - 2, EARTH, size / 5)
        if kind == GREEN:
            canvas.line(x, y + 0.22 * size, x, y, 0.1 * size, LEAF)
            canvas.line(x, y, x - 0.16 * size, y - 0.14 * size, 0.16 * size, LEAF)
            canvas.line(x, y, x + 0.16 * size, y - 0.14 * size, 0.16 * size, LEAF)
        if kind == RIPE:
            disc(x, y, 0.72, LEAF)
            for right, down in ((-0.16, -0.1), (0.16, -0.1), (0, 0.17)):
                disc(x + right * size, y + down * size, 0.3, FRUIT)
    for agent, (cell, _) in enumerate(state[height * width :].reshape(-1, 2).tolist()):
        x, y = (
            MARGIN + (cell % width + 0.5) * size,
            MARGIN + (cell // width + 0.5) * size,
        )
        disc(x, y, 0.84, colour_of(agent))
        canvas.line(x - 0.36 * size, y - 0.2 * size, x + 0.36 * size, y - 0.2 * size, 6, AMBER)
        for eye in (-0.15, 0.15):
            disc(x + eye * size, y + 0.06 * size, 0.13, BACKGROUND)
    return canvas.picture()
