"""Draw Chain: the states in a row, the small reward left, the large one right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 720, 120
MARGIN = 30


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (2,) the present state, the number of states.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    at, length = map(int, state)
    canvas = Canvas(HEIGHT, WIDTH)
    slot = (WIDTH - 2 * MARGIN) / length
    size = min(34.0, slot * 0.75)
    y = HEIGHT / 2
    canvas.line(MARGIN + slot / 2, y, WIDTH - MARGIN - slot / 2, y, 3, MUTED)
    for i in range(length):
        x = MARGIN + (i + 0.5) * slot
        colour = TEAL if i == length - 1 else MUTED if i == 0 else PANEL
        canvas.line(x, y, x, y, size, colour)
        if i == at:
            canvas.line(x, y, x, y, size + 6, LIGHT)
            canvas.line(x, y, x, y, size - 2, AMBER)
    return canvas.picture()
