"""Draw Bandit: the levers in a row, the good one marked, the last one pulled down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas

WIDTH, HEIGHT = 640, 200
MARGIN = 24
BASE = 140  # y of the levers' foot
LEVER = 70


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (4,) the good arm, the arm pulled last (-1: none), pulls and payments so far.
        arguments: the environment's arguments.

    Returns:
        (height, width, 3) bytes.
    """
    good, last, pulls, payments = map(int, state)
    canvas = Canvas(HEIGHT, WIDTH)
    slot = (WIDTH - 2 * MARGIN) / arguments["arms"]
    thick = min(10.0, slot / 3)
    for arm in range(arguments["arms"]):
        x = MARGIN + (arm + 0.5) * slot
        colour = TEAL if arm == good else MUTED
        tip = BASE - (LEVER / 3 if arm == last else LEVER)
        canvas.box(x - slot * 0.35, BASE, slot * 0.7, 12, PANEL, 4)
        canvas.line(x, BASE, x, tip, thick, colour)
        canvas.line(x, tip, x, tip, 2 * thick, AMBER if arm == last else LIGHT)
    share = (WIDTH - 2 * MARGIN) / arguments["pulls"]
    canvas.box(MARGIN, HEIGHT - 28, WIDTH - 2 * MARGIN, 8, PANEL, 4)
    canvas.box(MARGIN, HEIGHT - 28, pulls * share, 8, MUTED, 4)
    canvas.box(MARGIN, HEIGHT - 28, payments * share, 8, AMBER, 4)
    return canvas.picture()
