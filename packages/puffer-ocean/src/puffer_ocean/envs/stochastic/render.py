"""Draw Stochastic: the frequency of action 1 on a scale, the target marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 640, 140
MARGIN = 40
SCALE_Y, TIME_Y = 60, 110


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (2,) frequency of action 1 so far, share of the episode that is over.
        arguments: the environment's arguments.

    Returns:
        (height, width, 3) bytes.
    """
    canvas = Canvas(HEIGHT, WIDTH)
    width = WIDTH - 2 * MARGIN
    canvas.line(MARGIN, SCALE_Y, MARGIN + width, SCALE_Y, 8, PANEL)
    for tick in (0.0, 0.5, 1.0):
        x = MARGIN + tick * width
        canvas.line(x, SCALE_Y - 14, x, SCALE_Y + 14, 3, MUTED)
    target = MARGIN + arguments["target"] * width
    canvas.line(target, SCALE_Y - 22, target, SCALE_Y + 22, 6, TEAL)
    x = MARGIN + float(state[0]) * width
    canvas.line(x, SCALE_Y, x, SCALE_Y, 26, AMBER)
    canvas.box(MARGIN, TIME_Y, width, 6, PANEL, 3)
    canvas.box(MARGIN, TIME_Y, max(float(state[1]) * width, 1), 6, LIGHT, 3)
    return canvas.picture()
