"""Draw Minesweeper: closed cells raised, open ones with the number of mines around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

SIDE, MARGIN = 480, 12  # pixels
MINE: Colour = (224, 92, 92)
COLOURS: tuple[Colour, ...] = (TEAL, TEAL, AMBER, AMBER, MINE, MINE, MINE, MINE)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (size x size,) cells row by row: -1 closed, -2 an opened mine, else mines around.
        arguments: the environment's arguments; `size` is read.

    Returns:
        (height, width, 3) bytes.
    """
    size = arguments["size"]
    canvas = Canvas(SIDE + 2 * MARGIN, SIDE + 2 * MARGIN)
    side = SIDE / size
    for cell, around in enumerate(state.astype(int).tolist()):
        x, y = MARGIN + cell % size * side, MARGIN + cell // size * side
        inner = side - 3
        if around == -1:
            canvas.box(x + 1, y + 1, inner, inner, MUTED, 0.12 * side)
            canvas.box(x + 1, y + 1, inner, inner * 0.9, (106, 116, 140), 0.12 * side)
            continue
        canvas.box(x + 1, y + 1, inner, inner, PANEL, 0.12 * side)
        middle = (x + side / 2, y + side / 2)
        if around == -2:
            canvas.line(*middle, *middle, 0.6 * side, MINE)
            canvas.line(*middle, *middle, 0.2 * side, LIGHT)
        if around > 0:
            canvas.number(*middle, 0.5 * side, around, COLOURS[around - 1])
    return canvas.picture()
