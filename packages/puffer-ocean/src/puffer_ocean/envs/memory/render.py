"""Draw Memory: the symbols above, the answers below, the present step between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 640, 220
MARGIN = 24
SHOWN_Y, TIME_Y, ANSWER_Y = 56, 110, 164


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (4 + 2 length,) length, delay, symbols and step; the symbols; the answers.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    length, delay, symbols, step = map(int, state[:4])
    shown, answers = state[4 : 4 + length], state[4 + length :]
    canvas = Canvas(HEIGHT, WIDTH)
    slot = (WIDTH - 2 * MARGIN) / (2 * length + delay)
    radius = min(26.0, slot * 0.42)

    def disc(column: int, y: float, symbol: float, known: bool) -> None:
        x = MARGIN + (column + 0.5) * slot
        canvas.line(x, y, x, y, 2 * radius, PANEL)
        if known:
            share = symbol / max(symbols - 1, 1)
            red, green, blue = (
                round(a + (b - a) * share) for a, b in zip(TEAL, AMBER, strict=True)
            )
            canvas.line(x, y, x, y, 1.6 * radius, (red, green, blue))

    for i in range(length):
        answered = step > length + delay + i
        disc(i, SHOWN_Y, shown[i], step >= i)
        disc(length + delay + i, SHOWN_Y, shown[i], answered)
        disc(length + delay + i, ANSWER_Y, answers[i], answered)
    canvas.line(MARGIN, TIME_Y, WIDTH - MARGIN, TIME_Y, 3, MUTED)
    x = MARGIN + min(step + 0.5, 2 * length + delay) * slot
    canvas.line(x, TIME_Y - 10, x, TIME_Y + 10, 5, LIGHT)
    return canvas.picture()
