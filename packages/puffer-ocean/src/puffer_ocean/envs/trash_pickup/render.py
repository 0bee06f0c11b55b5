"""Draw Trash pickup: a lawn, pieces of trash, bins, and the agents with what they carry."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, MUTED, TEAL, Canvas, Colour

SIDE, MARGIN = 720, 12  # pixels of the longer edge
LAWN: tuple[Colour, Colour] = ((36, 52, 46), (40, 58, 50))
TRASH, BIN = 1, 2
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def colour_of(agent: int) -> Colour:
    """Neighbouring numbers have distant hues: steps of the golden ratio."""
    red, green, blue = colorsys.hls_to_rgb(0.55 + 0.618 * agent, 0.62, 0.5)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: the cells row by row, 1 trash, 2 a bin; then of each agent its cell, and 1 if it
            carries trash.
        arguments: `width` and `height` are read.

    Returns:
        (height, width, 3) bytes.
    """
    height, width = arguments["height"], arguments["width"]
    cell = SIDE // max(width, height)
    canvas = Canvas(height * cell + 2 * MARGIN, width * cell + 2 * MARGIN)

    def place(number: float) -> tuple[float, float]:
        """The left upper corner of a cell."""
        return MARGIN + number % width * cell, MARGIN + number // width * cell

    def piece(x: float, y: float, size: float) -> None:
        """A crumpled piece of paper round (x, y)."""
        canvas.line(x - size / 4, y, x + size / 4, y - size / 6, size / 1.6, AMBER)
        canvas.line(x, y - size / 4, x + size / 8, y + size / 4, size / 2.5, LIGHT)

    for number, kind in enumerate(state[: height * width].astype(int).tolist()):
        x, y = place(number)
        canvas.box(x, y, cell, cell, LAWN[(number // width + number % width) % 2])
        if kind == TRASH:
            piece(x + cell / 2, y + cell / 2, 0.45 * cell)
        if kind == BIN:
            canvas.box(
                x + 0.06 * cell, y + 0.22 * cell, 0.88 * cell, 0.76 * cell, TEAL, 0.14 * cell
            )
            canvas.box(x, y + 0.08 * cell, cell, 0.2 * cell, LIGHT, 0.1 * cell)
            for bar in (0.3, 0.5, 0.7):
                canvas.box(x + (bar - 0.04) * cell, y + 0.4 * cell, 0.08 * cell, 0.44 * cell, MUTED)
    for agent, (at, carries) in enumerate(state[height * width :].reshape(-1, 2).tolist()):
        left, top = place(at)
        x, y = left + cell / 2, top + cell / 2
        canvas.line(x, y, x, y, 0.84 * cell, colour_of(agent))
        for eye in (-0.16, 0.16):
            canvas.line(x + eye * cell, y - 0.1 * cell, x + eye * cell, y, 0.12 * cell, BACKGROUND)
        if carries:
            piece(x, y + 0.25 * cell, 0.5 * cell)
    return canvas.picture()
