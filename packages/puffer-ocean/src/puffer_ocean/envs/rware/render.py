"""Draw the robotic warehouse: shelves, those that are asked for in amber, stations, robots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

SIDE, MARGIN = 720, 12  # pixels of the longer edge
SHELF, REQUESTED, STATION = 1, 2, 3
WOOD: Colour = (104, 92, 84)
FLOOR: Colour = (30, 34, 44)
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3, "space": 4}


def draw_shelf(canvas: Canvas, x: float, y: float, size: float, colour: Colour) -> None:
    """A shelf with its boards, left upper corner (x, y)."""
    canvas.box(x + 0.06 * size, y + 0.06 * size, 0.88 * size, 0.88 * size, colour, 0.1 * size)
    for board in (0.3, 0.6):
        canvas.box(x + 0.16 * size, y + board * size, 0.68 * size, 0.09 * size, PANEL)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: the cells row by row, 1 a shelf, 2 one that is asked for, 3 a station; then of each
            robot its cell, its load (0 none, 1 a shelf, 2 one that is asked for), its deliveries.
        arguments: `columns`, `aisle` and `num_robots` are read.

    Returns:
        (height, width, 3) bytes.
    """
    width = arguments["columns"] * (2 + arguments["aisle"]) + arguments["aisle"]
    cells = state[: -3 * arguments["num_robots"]].astype(int)
    height = len(cells) // width
    size = SIDE // max(width, height)
    canvas = Canvas(height * size + 2 * MARGIN, width * size + 2 * MARGIN)
    canvas.box(MARGIN, MARGIN, width * size, height * size, PANEL, 6)
    for number, kind in enumerate(cells.tolist()):
        x, y = MARGIN + number % width * size, MARGIN + number // width * size
        canvas.box(x + 1, y + 1, size - 2, size - 2, FLOOR, 3)
        if kind == STATION:
            canvas.box(x + 2, y + 2, size - 4, size - 4, TEAL, 0.15 * size)
            canvas.box(x + 0.2 * size, y + 0.2 * size, 0.6 * size, 0.6 * size, FLOOR, 0.1 * size)
        elif kind:
            draw_shelf(canvas, x, y, size, AMBER if kind == REQUESTED else WOOD)
    for number, load, _ in state[len(cells) :].reshape(-1, 3).astype(int).tolist():
        x, y = MARGIN + number % width * size, MARGIN + number // width * size
        if load:
            draw_shelf(canvas, x, y, size, AMBER if load == REQUESTED else WOOD)
        middle_x, middle_y = x + size / 2, y + size / 2
        canvas.line(middle_x, middle_y, middle_x, middle_y, 0.62 * size, BACKGROUND)
        canvas.line(middle_x, middle_y, middle_x, middle_y, 0.52 * size, LIGHT if load else MUTED)
        canvas.line(middle_x, middle_y, middle_x, middle_y, 0.22 * size, TEAL)
    return canvas.picture()
