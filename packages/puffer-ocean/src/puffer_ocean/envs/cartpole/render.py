"""Draw Cart-pole: the cart on its track, the limits, the pole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, TEAL, Canvas

WIDTH, HEIGHT = 600, 240
SCALE = 110  # pixels a metre
TRACK_Y = 190  # of the cart's middle
X_LIMIT = 2.4  # metres
POLE_LENGTH = 1.0  # metres
CART_WIDTH, CART_HEIGHT = 64, 32


KEYS = {"left": 0, "right": 1}


def draw(state: NDArray[np.float32], arguments: dict[str, float]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (2,) the cart's position in metres, the pole's angle in radians, clockwise from up.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    position, angle = float(state[0]), float(state[1])
    canvas = Canvas(HEIGHT, WIDTH)
    middle = WIDTH / 2
    canvas.line(0, TRACK_Y, WIDTH, TRACK_Y, 4, MUTED)
    for limit in (-X_LIMIT, X_LIMIT):
        x = middle + limit * SCALE
        canvas.line(x, TRACK_Y - 14, x, TRACK_Y + 14, 4, MUTED)

    x = middle + position * SCALE
    hinge = TRACK_Y - CART_HEIGHT / 4
    canvas.box(x - CART_WIDTH / 2, TRACK_Y - CART_HEIGHT / 2, CART_WIDTH, CART_HEIGHT, TEAL, 6)
    tip_x = x + POLE_LENGTH * SCALE * math.sin(angle)
    tip_y = hinge - POLE_LENGTH * SCALE * math.cos(angle)
    canvas.line(x, hinge, tip_x, tip_y, 9, AMBER)
    canvas.line(x, hinge, x, hinge, 5, LIGHT)
    return canvas.picture()
