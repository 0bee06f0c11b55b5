"""Draw Pendulum: the rod, and the torque as an arc of dots round the hinge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

SIZE = 420
ROD = 150
ARC, DOTS = 60, 24  # radius of the arc in pixels; dots of full torque


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (2,) angle in radians, 0 upright, counterclockwise; torque in [-1, 1].
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    angle, torque = map(float, state)
    canvas = Canvas(SIZE, SIZE)
    middle = SIZE / 2
    canvas.line(middle, middle, middle, middle, 2 * ROD + 40, PANEL)
    canvas.line(middle, middle - ROD - 20, middle, middle - ROD - 6, 4, MUTED)
    for i in range(round(abs(torque) * DOTS)):
        at = math.copysign(i / DOTS * math.pi, torque)
        x, y = middle - ARC * math.sin(at), middle - ARC * math.cos(at)
        canvas.line(x, y, x, y, 5, AMBER)
    tip_x, tip_y = middle - ROD * math.sin(angle), middle - ROD * math.cos(angle)
    canvas.line(middle, middle, tip_x, tip_y, 22, TEAL)
    canvas.line(middle, middle, middle, middle, 12, LIGHT)
    return canvas.picture()
