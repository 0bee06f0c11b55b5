"""Draw Password: the bits above, what was typed below; right bits are green."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 640, 180
MARGIN = 24
TOP, BOTTOM = 60, 120


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (2 + 2 length,) length and position; the password's bits; the typed ones.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    length, position = map(int, state[:2])
    password, typed = state[2 : 2 + length], state[2 + length :]
    canvas = Canvas(HEIGHT, WIDTH)
    slot = (WIDTH - 2 * MARGIN) / length
    size = min(48.0, slot * 0.8)
    for i in range(length):
        x = MARGIN + (i + 0.5) * slot
        _bit(canvas, x, TOP, size, password[i], MUTED)
        canvas.box(x - size / 2, BOTTOM - size / 2, size, size, PANEL, size / 6)
        if i < position:
            _bit(canvas, x, BOTTOM, size, typed[i], TEAL if typed[i] == password[i] else AMBER)
        elif i == position:
            canvas.line(x - size / 4, BOTTOM + size / 3, x + size / 4, BOTTOM + size / 3, 4, LIGHT)
    return canvas.picture()


def _bit(canvas: Canvas, x: float, y: float, size: float, bit: float, colour: Any) -> None:
    """A stroke for 1, a ring for 0."""
    canvas.box(x - size / 2, y - size / 2, size, size, PANEL, size / 6)
    if bit:
        canvas.line(x, y - size / 4, x, y + size / 4, size / 6, colour)
    else:
        canvas.line(x, y, x, y, size * 0.6, colour)
        canvas.line(x, y, x, y, size * 0.3, PANEL)
