"""Draw Go: a wooden board with its lines, and the stones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, PANEL, Canvas, Colour

SIDE, MARGIN = 560, 48  # pixels; the margin to the outer lines
WOOD: Colour = (196, 150, 92)
LINE: Colour = (104, 74, 44)
SHADE: Colour = (150, 112, 68)
BLACK: Colour = (24, 26, 32)
GLOSS: Colour = (74, 78, 90)
SHINE: Colour = (255, 255, 255)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (size x size + 1,) points row by row: 0 free, 1 black, 2 white; 1 after a pass.
        arguments: the environment's arguments; `size` is read.

    Returns:
        (height, width, 3) bytes.
    """
    size = arguments["size"]
    pitch = (SIDE - 2 * MARGIN) / (size - 1)
    canvas = Canvas(SIDE, SIDE)
    canvas.box(6, 6, SIDE - 12, SIDE - 12, LINE, 10)
    canvas.box(9, 9, SIDE - 18, SIDE - 18, WOOD, 8)
    for line in range(size):
        at = MARGIN + line * pitch
        canvas.line(MARGIN, at, SIDE - MARGIN, at, 2, LINE)
        canvas.line(at, MARGIN, at, SIDE - MARGIN, 2, LINE)
    canvas.line(SIDE / 2, SIDE / 2, SIDE / 2, SIDE / 2, 9, LINE)
    for at, stone in enumerate(state[:-1].astype(int).tolist()):
        if not stone:
            continue
        x, y = MARGIN + at % size * pitch, MARGIN + at // size * pitch
        canvas.line(x + 2, y + 4, x + 2, y + 4, 0.92 * pitch, SHADE)
        canvas.line(x, y, x, y, 0.92 * pitch, BLACK if stone == 1 else LIGHT)
        shine = x - 0.16 * pitch, y - 0.16 * pitch
        canvas.line(*shine, *shine, 0.2 * pitch, GLOSS if stone == 1 else SHINE)
    if state[-1]:  # the last move was a pass
        canvas.box(SIDE / 2 - 30, SIDE - 24, 60, 8, PANEL, 4)
        canvas.box(SIDE / 2 - 28, SIDE - 22, 56, 4, AMBER, 2)
    return canvas.picture()
