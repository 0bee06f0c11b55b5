"""Draw Flappy: the bird between the pipes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 480, 400
BIRD_X, RADIUS, PIPE = 90, 10, 50  # the middle of the bird
KEYS = {"space": 1, "up": 1}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (7,) height of the bird, its speed, distance from its left edge to the next pipe's
            right edge, middles of the gap that was passed, the next and the one behind, pipes.
        arguments: the environment's arguments.

    Returns:
        (height, width, 3) bytes.
    """
    y, speed, distance = (float(value) for value in state[:3])
    canvas = Canvas(HEIGHT, WIDTH)
    canvas.box(0, 0, WIDTH, HEIGHT, PANEL)
    half = arguments["gap"] / 2
    for i, gap in enumerate(state[3:6]):
        right = BIRD_X - RADIUS + distance + (i - 1) * arguments["spacing"]
        canvas.box(right - PIPE, -10, PIPE, gap - half + 10, TEAL, 6)
        canvas.box(right - PIPE, gap + half, PIPE, HEIGHT - gap - half + 10, TEAL, 6)
    canvas.line(BIRD_X, y, BIRD_X, y, 2 * RADIUS, AMBER)
    canvas.line(BIRD_X + 4, y - 3, BIRD_X + 4, y - 3, 5, LIGHT)
    canvas.line(BIRD_X - 3, y, BIRD_X - 10, y + (4 if speed < 0 else -4), 5, MUTED)
    return canvas.picture()
