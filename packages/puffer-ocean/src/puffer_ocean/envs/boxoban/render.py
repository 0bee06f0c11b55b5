"""Draw Boxoban: brick walls, targets, crates, and the agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, PANEL, TEAL, Canvas, Colour

SIDE = 576  # pixels, about
WALL, BOX, TARGET = 1, 2, 4
BRICK: Colour = (62, 68, 86)
WOOD: Colour = (150, 102, 56)
DONE: Colour = (52, 128, 120)
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (size x size + 1,) cells row by row, sums of 1 wall, 2 box, 4 target; the number of
            the agent's cell.
        arguments: the environment's arguments; `size` is read.

    Returns:
        (height, width, 3) bytes.
    """
    size = arguments["size"]
    cell = SIDE // size
    canvas = Canvas(size * cell, size * cell)
    for at, kind in enumerate(state[:-1].astype(int).tolist()):
        x, y = at % size * cell, at // size * cell
        if kind & WALL:
            _wall(canvas, x, y, cell)
            continue
        canvas.box(x, y, cell, cell, PANEL)
        canvas.box(x + 1, y + 1, cell - 2, cell - 2, BACKGROUND, 3)
        middle = x + cell / 2, y + cell / 2
        if kind & TARGET:
            for width, colour in ((0.5, TEAL), (0.36, BACKGROUND), (0.18, TEAL)):
                canvas.line(*middle, *middle, width * cell, colour)
        if kind & BOX:
            _crate(canvas, x, y, cell, bool(kind & TARGET))
    x, y = (int(state[-1]) % size + 0.5) * cell, (int(state[-1]) // size + 0.5) * cell
    canvas.line(x, y + 0.2 * cell, x, y + 0.12 * cell, 0.5 * cell, TEAL)
    canvas.line(x, y - 0.14 * cell, x, y - 0.14 * cell, 0.4 * cell, LIGHT)
    for side in (-0.08, 0.08):
        eye = x + side * cell, y - 0.14 * cell
        canvas.line(*eye, *eye, 0.07 * cell, BACKGROUND)
    return canvas.picture()


def _wall(canvas: Canvas, x: float, y: float, cell: float) -> None:
    """Two courses of bricks."""
    canvas.box(x, y, cell, cell, PANEL)
    half = cell / 2
    canvas.box(x + 1, y + 1, cell - 2, half - 2, BRICK, 3)
    for left in (x, x + half):
        canvas.box(left + 1, y + half + 1, half - 2, half - 2, BRICK, 3)


def _crate(canvas: Canvas, x: float, y: float, cell: float, done: bool) -> None:
    """A crate with a frame and a cross; green-blue on a target."""
    frame, inside = (TEAL, DONE) if done else (AMBER, WOOD)
    edge = 0.1 * cell
    canvas.box(x + edge, y + edge, cell - 2 * edge, cell - 2 * edge, frame, edge)
    inner = 2 * edge
    canvas.box(x + inner, y + inner, cell - 2 * inner, cell - 2 * inner, inside, 2)
    low, high = 2.6 * edge, cell - 2.6 * edge
    canvas.line(x + low, y + low, x + high, y + high, 0.8 * edge, frame)
    canvas.line(x + low, y + high, x + high, y + low, 0.8 * edge, frame)
