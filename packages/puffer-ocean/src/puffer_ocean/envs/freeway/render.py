"""Draw Freeway: the lanes, their cars, and the walker; crossings as dots below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

WIDTH, LANES, LANE = 640, 10, 32  # as in freeway.c
CAR, CAR_HEIGHT, WALKER = 48, 24, 16
PAVEMENT = 32
HEIGHT = LANES * LANE + 2 * PAVEMENT
ROAD: Colour = (28, 31, 41)
GLASS: Colour = (30, 40, 56)
COLOURS: tuple[Colour, ...] = ((214, 92, 92), (222, 184, 92), (86, 152, 200), (140, 118, 200))
KEYS = {"up": 1, "down": 2}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (13,) y of the walker's lower edge, ticks that it is stunned, crossings, then how far
            each car's front is from the walker, lane by lane from the lowest.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    y, stun, score, *ways = state.tolist()
    canvas = Canvas(HEIGHT, WIDTH)
    canvas.box(0, 0, WIDTH, HEIGHT, PANEL)
    canvas.box(0, PAVEMENT, WIDTH, LANES * LANE, ROAD)
    for lane in range(1, LANES):
        border = PAVEMENT + lane * LANE
        if lane == LANES // 2:
            canvas.box(0, border - 2, WIDTH, 4, AMBER)
            continue
        for dash in range(8, WIDTH, 40):
            canvas.box(dash, border - 1, 20, 2, MUTED)
    for lane, way in enumerate(ways):
        rightwards = lane < LANES // 2
        top = PAVEMENT + (LANES - 1 - lane) * LANE + (LANE - CAR_HEIGHT) / 2
        front = (WIDTH - WALKER) / 2 - way
        for turn in (-WIDTH, 0, WIDTH):  # a car that leaves on one side comes on the other
            rear = front + turn - CAR
            x = rear if rightwards else WIDTH - rear - CAR
            canvas.box(x, top, CAR, CAR_HEIGHT, COLOURS[lane % len(COLOURS)], 6)
            canvas.box(x + (28 if rightwards else 10), top + 4, 10, CAR_HEIGHT - 8, GLASS, 3)
    bottom = HEIGHT - PAVEMENT + WALKER
    colour = AMBER if stun else TEAL
    canvas.box((WIDTH - WALKER) / 2, bottom - y - WALKER, WALKER, WALKER, colour, 6)
    middle = bottom - y - WALKER / 2
    canvas.line(WIDTH / 2, middle, WIDTH / 2, middle, 6, LIGHT)
    for k in range(int(score)):
        canvas.line(14 + 14 * k, HEIGHT - 8, 14 + 14 * k, HEIGHT - 8, 8, TEAL)
    return canvas.picture()
