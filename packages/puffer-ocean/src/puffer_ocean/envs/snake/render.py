"""Draw Snake: the board, food as dots, each snake in its colour with a lighter head."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, PANEL, Canvas, Colour

SIDE = 768  # of the longer edge of the picture in pixels
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def colour_of(snake: int, light: float) -> Colour:
    """Neighbouring numbers have distant hues: steps of the golden ratio."""
    red, green, blue = colorsys.hls_to_rgb(0.47 + 0.618 * snake, light, 0.5)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (height * width,) cells: 0 empty, -1 food, else the number of the snake from 1 on,
            plus 0.5 for its head.
        arguments: `width` and `height` are used.

    Returns:
        (height, width, 3) bytes.
    """
    board = state.reshape(arguments["height"], arguments["width"])
    cell = max(SIDE // max(board.shape), 4)
    canvas = Canvas(board.shape[0] * cell, board.shape[1] * cell)
    canvas.box(0, 0, board.shape[1] * cell, board.shape[0] * cell, PANEL)
    for row, column in np.argwhere(board).tolist():
        value = float(board[row, column])
        x, y = column * cell, row * cell
        if value < 0:
            middle = cell / 2
            canvas.line(x + middle, y + middle, x + middle, y + middle, 0.55 * cell, AMBER)
            continue
        colour = colour_of(int(value), 0.78 if value % 1 else 0.52)
        canvas.box(x + 0.5, y + 0.5, cell - 1, cell - 1, colour, cell / 4)
    return canvas.picture()
