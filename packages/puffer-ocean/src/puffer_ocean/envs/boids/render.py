"""Draw Boids: each bird a dart in the colour of its heading."""

from __future__ import annotations

import colorsys
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import BACKGROUND, PANEL, Canvas, Colour

SIDE, MARGIN = 720, 12  # pixels


def colour_of(x: float, y: float) -> Colour:
    """The hue turns round with the heading."""
    hue = math.atan2(y, x) / (2 * math.pi)
    red, green, blue = colorsys.hls_to_rgb(hue, 0.66, 0.6)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: x, y and the two parts of the heading of each boid.
        arguments: `size` and `separation` are read.

    Returns:
        (height, width, 3) bytes.
    """
    scale = SIDE / arguments["size"]
    canvas = Canvas(SIDE + 2 * MARGIN, SIDE + 2 * MARGIN)
    canvas.box(MARGIN, MARGIN, SIDE, SIDE, PANEL, 10)
    size = min(max(scale * arguments["separation"] * 0.8, 7), 14)
    for x, y, ahead, right in state.reshape(-1, 4).tolist():
        x, y, colour = MARGIN + scale * x, MARGIN + scale * y, colour_of(ahead, right)
        nose = x + size * ahead, y + size * right
        for side in (-1, 1):
            tail_x = x - size * (0.8 * ahead + 0.6 * side * right)
            tail_y = y - size * (0.8 * right - 0.6 * side * ahead)
            canvas.line(tail_x, tail_y, *nose, size / 3.2, colour)
        canvas.line(x - size * 0.3 * ahead, y - size * 0.3 * right, *nose, size / 1.8, colour)
    for edge in (0, SIDE + MARGIN):  # birds at the edge do not cover the frame
        canvas.box(edge, 0, MARGIN, SIDE + 2 * MARGIN, BACKGROUND)
        canvas.box(0, edge, SIDE + 2 * MARGIN, MARGIN, BACKGROUND)
    return canvas.picture()
