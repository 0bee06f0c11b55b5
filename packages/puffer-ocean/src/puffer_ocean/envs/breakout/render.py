"""Draw Breakout: the wall, the paddle, the ball, and the balls in reserve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import LIGHT, MUTED, TEAL, Canvas, Colour

# The field, in pixels, as in breakout.c.
WIDTH, HEIGHT = 576, 330
ROWS, COLUMNS = 6, 18
BRICK_WIDTH, BRICK_HEIGHT = 32, 12
WALL_TOP = 50
PADDLE_Y, PADDLE_HEIGHT = 312, 8
BALL = 32

KEYS = {"left": 1, "right": 2}

ROW_COLOURS: tuple[Colour, ...] = (
    (214, 92, 92),
    (224, 136, 84),
    (222, 184, 92),
    (122, 184, 110),
    (86, 152, 200),
    (140, 118, 200),
)


def draw(state: NDArray[np.float32], arguments: dict[str, float]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: paddle x and width, ball x and y, balls in reserve, then one number per brick
            (1: standing), row by row.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    paddle_x, paddle_width, ball_x, ball_y, reserve = state[:5].tolist()
    canvas = Canvas(HEIGHT, WIDTH)
    for row, column in np.argwhere(state[5:].reshape(ROWS, COLUMNS)).tolist():
        x, y = column * BRICK_WIDTH, WALL_TOP + row * BRICK_HEIGHT
        canvas.box(x + 1, y + 1, BRICK_WIDTH - 2, BRICK_HEIGHT - 2, ROW_COLOURS[row], 2)
    for k in range(int(reserve)):
        canvas.line(20 + 18 * k, 20, 20 + 18 * k, 20, 10, MUTED)
    canvas.box(paddle_x, PADDLE_Y, paddle_width, PADDLE_HEIGHT, TEAL, 4)
    canvas.box(ball_x, ball_y, BALL, BALL, LIGHT, 8)  # what collides is the whole square
    return canvas.picture()
