"""Draw a maze: walls, the cells that were visited, the goal and the agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, MUTED, TEAL, Canvas, Colour

SIDE, MARGIN = 560, 12  # pixels
TRAIL: Colour = (38, 66, 74)
WALL, VISITED, OPEN, GOAL = range(4)  # as in maze.c
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: the cells of the grid row by row, then the number of the agent's cell.
        arguments: the environment's arguments; `size` is read.

    Returns:
        (height, width, 3) bytes.
    """
    side = 2 * arguments["size"] + 1
    width = SIDE / side
    canvas = Canvas(SIDE + 2 * MARGIN, SIDE + 2 * MARGIN)

    def disc(cell: int, share: float, colour: Colour) -> None:
        x, y = MARGIN + (cell % side + 0.5) * width, MARGIN + (cell // side + 0.5) * width
        canvas.line(x, y, x, y, share * width, colour)

    kinds = state[:-1].astype(int).tolist()
    for cell, kind in enumerate(kinds):
        if kind in (WALL, VISITED):
            x, y = MARGIN + cell % side * width, MARGIN + cell // side * width
            canvas.box(x, y, width + 0.8, width + 0.8, MUTED if kind == WALL else TRAIL)
    for cell, kind in enumerate(kinds):
        if kind == GOAL:
            disc(cell, 0.8, AMBER)
    disc(int(state[-1]), 0.7, TEAL)
    return canvas.picture()
