"""Draw Squared: the agent and its target on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, PANEL, TEAL, Canvas

PICTURE = 384  # pixels a side, about; a cell has at least two
GAP = 6  # cells from this size on are drawn apart

EMPTY, AGENT, TARGET = range(3)

KEYS = {"down": 1, "up": 2, "left": 3, "right": 4}
FPS = 0  # a step for each key


def draw(state: NDArray[np.float32], arguments: dict[str, float]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (size * size,) cells: 0 empty, 1 agent, 2 target.
        arguments: the environment's arguments; reads `size`.

    Returns:
        (height, width, 3) bytes.
    """
    size = int(arguments["size"])
    grid = state.reshape(size, size)
    cell = max(PICTURE // size, 2)
    canvas = Canvas(size * cell, size * cell)

    ground = canvas.pixels.reshape(size, cell, size, cell, 3)  # a view: (row, y, column, x, rgb)
    gap = 1 if cell >= GAP else 0
    ground[:, gap : cell - gap, :, gap : cell - gap] = PANEL

    inset = cell / 8 if cell >= GAP else 0
    side = cell - 2 * inset
    for row, column in np.argwhere(grid == TARGET).tolist():
        if cell >= GAP:
            x, y = (column + 0.5) * cell, (row + 0.5) * cell
            canvas.line(x, y, x, y, side, AMBER)
            canvas.line(x, y, x, y, side / 2, PANEL)
        else:  # too small for a ring
            canvas.box(column * cell, row * cell, cell, cell, AMBER)
    for row, column in np.argwhere(grid == AGENT).tolist():
        canvas.box(column * cell + inset, row * cell + inset, side, side, TEAL, inset)
    return canvas.picture()
