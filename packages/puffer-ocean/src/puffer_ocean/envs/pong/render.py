"""Draw Pong: paddles, ball, and the points as two bars above the field."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT, TOP = 640, 480, 40  # of the field, and of what is above it
PADDLE, BALL, FACE = 80, 12, 30
KEYS = {"up": 1, "down": 2}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (6,) middles of the opponent's and the agent's paddle, of the ball (x, y), points
            of the opponent and of the agent.
        arguments: the environment's arguments.

    Returns:
        (height, width, 3) bytes.
    """
    opponent, agent, x, y, lost, won = (float(value) for value in state)
    canvas = Canvas(HEIGHT + TOP, WIDTH)
    canvas.box(0, TOP, WIDTH, HEIGHT, PANEL)
    for dash in range(0, HEIGHT, 32):
        canvas.box(WIDTH / 2 - 2, TOP + dash + 8, 4, 16, MUTED, 2)
    width = WIDTH / 2 - 2 * FACE
    for left, points, colour in ((FACE, lost, AMBER), (WIDTH / 2 + FACE, won, TEAL)):
        canvas.box(left, 15, width, 10, PANEL, 5)
        if points:
            canvas.box(left, 15, max(width * points / arguments["goal"], 10), 10, colour, 5)
    canvas.box(FACE - 12, TOP + opponent - PADDLE / 2, 12, PADDLE, AMBER, 4)
    canvas.box(WIDTH - FACE, TOP + agent - PADDLE / 2, 12, PADDLE, TEAL, 4)
    canvas.box(x - BALL / 2, TOP + y - BALL / 2, BALL, BALL, LIGHT, 2)
    return canvas.picture()
