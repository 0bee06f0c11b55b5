"""Draw Benchmark: the side that pays, the time, the share of right actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 480, 200
MARGIN = 30


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (3,) the action that pays, share of the episode, share of right actions.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    pays, time, right = (float(value) for value in state)
    canvas = Canvas(HEIGHT, WIDTH)
    for action in (0, 1):
        x = WIDTH * (0.3 + 0.4 * action)
        canvas.box(x - 44, 26, 88, 88, AMBER if pays == action else PANEL, 12)
    width = WIDTH - 2 * MARGIN
    for y, share, colour in ((140, time, LIGHT), (164, right, TEAL)):
        canvas.box(MARGIN, y, width, 10, PANEL, 5)
        canvas.box(MARGIN, y, max(width * share, 1), 10, colour, 5)
    return canvas.picture()
