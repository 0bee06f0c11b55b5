"""Draw Hex: cells, stones, and the sides in the colours of those who join them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, MUTED, PANEL, TEAL, Canvas

WIDTH, MARGIN = 640, 28  # pixels
HEIGHT_OF_ROW = 0.866  # of the width of a cell


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (size x size,) cells row by row: 0 free, 1 the first player's, 2 the other's.
        arguments: the environment's arguments; `size` is read.

    Returns:
        (height, width, 3) bytes.
    """
    size = arguments["size"]
    cell = (WIDTH - 2 * MARGIN) / (1.5 * size - 0.5)
    canvas = Canvas(round(size * HEIGHT_OF_ROW * cell + 2 * MARGIN), WIDTH)

    def centre(row: float, column: float) -> tuple[float, float]:
        x = MARGIN + (column + 0.5 + row / 2) * cell
        return x, MARGIN + (row + 0.5) * HEIGHT_OF_ROW * cell

    first, last = -0.7, size - 0.3
    for edge in (first, last):
        canvas.line(*centre(edge, 0), *centre(edge, size - 1), 8, AMBER)
        canvas.line(*centre(0, edge), *centre(size - 1, edge), 8, TEAL)
    for at, owner in enumerate(state.astype(int).tolist()):
        x, y = centre(*divmod(at, size))
        canvas.line(x, y, x, y, 0.92 * cell, MUTED if owner else PANEL)
        if owner:
            canvas.line(x, y, x, y, 0.78 * cell, AMBER if owner == 1 else TEAL)
    return canvas.picture()
