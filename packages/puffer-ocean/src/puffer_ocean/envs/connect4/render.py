"""Draw Connect Four: a board with holes, the agent's stones in amber."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, TEAL, Canvas, Colour

ROWS, COLUMNS = 6, 7
CELL, MARGIN = 72, 16
BOARD: Colour = (46, 62, 110)
KEYS = {str(column + 1): column for column in range(COLUMNS)}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (42,) cells row by row from the top: 0 empty, 1 the first agent's, 2 the other's.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    width, height = COLUMNS * CELL, ROWS * CELL
    canvas = Canvas(height + 2 * MARGIN, width + 2 * MARGIN)
    canvas.box(MARGIN / 2, MARGIN / 2, width + MARGIN, height + MARGIN, BOARD, 18)
    colours = (BACKGROUND, AMBER, TEAL)
    for cell, owner in enumerate(state.astype(int).tolist()):
        x = MARGIN + (cell % COLUMNS + 0.5) * CELL
        y = MARGIN + (cell // COLUMNS + 0.5) * CELL
        canvas.line(x, y, x, y, 0.8 * CELL, colours[owner])
    return canvas.picture()
