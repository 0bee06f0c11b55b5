"""Draw Enduro: the road from behind the driver's car, hills, the day's light, what is to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

WIDTH, HEIGHT, HORIZON, STRIP = 640, 420, 150, 3  # pixels
NEAR, HALF, EDGE_OF_ROAD, BEND = (
    60,
    270,
    60,
    170,
)  # of the view; half the road below, as in enduro.c
CAR = 16
CARS = 8
KEYS = {"left": 1, "right": 2, "up": 3, "down": 6}
ROAD: Colour = (58, 62, 74)
PAINTS: tuple[Colour, ...] = ((214, 92, 92), (222, 184, 92), (86, 152, 200), (170, 120, 200))
# Of a day each: sky above and below, hills, grass.
DAYS: tuple[tuple[Colour, Colour, Colour, Colour], ...] = (
    ((70, 120, 190), (160, 200, 230), (56, 96, 84), (52, 112, 66)),
    ((120, 150, 180), (214, 222, 232), (170, 184, 200), (206, 214, 222)),
    ((70, 52, 110), (232, 140, 96), (70, 54, 84), (70, 88, 60)),
    ((10, 12, 30), (34, 38, 74), (20, 24, 44), (18, 36, 34)),
    ((60, 80, 120), (236, 190, 170), (74, 88, 96), (60, 104, 70)),
)


def mixed(a: Colour, b: Colour, share: float) -> Colour:
    """`share` of b in a."""
    red, green, blue = (round(x + share * (y - x)) for x, y in zip(a, b, strict=True))
    return red, green, blue


def draw_car(canvas: Canvas, x: float, y: float, scale: float, colour: Colour) -> None:
    """A car from behind: wheels, body, window, lights; (x, y) is the middle of its lower edge."""
    width = 2 * HALF * scale * CAR / (2 * EDGE_OF_ROAD)
    height = 0.62 * width
    for side in (-0.5, 0.28):
        canvas.box(x + side * width, y - 0.4 * height, 0.22 * width, 0.4 * height, (14, 15, 20), 2)
    canvas.box(x - 0.5 * width, y - 0.72 * height, width, 0.55 * height, colour, 0.1 * width)
    canvas.box(x - 0.36 * width, y - height, 0.72 * width, 0.4 * height, colour, 0.12 * width)
    canvas.box(
        x - 0.29 * width, y - 0.93 * height, 0.58 * width, 0.24 * height, (30, 40, 56), 0.05 * width
    )
    for side in (-0.44, 0.28):
        canvas.box(
            x + side * width, y - 0.58 * height, 0.16 * width, 0.13 * height, (255, 110, 90), 1
        )


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (26,) the driver's x and speed, curve, ticks without control, days done, steps of the
            day, cars passed, quota, score, way driven (modulo 720); of each other car x, distance.
        arguments: `day_steps` and `days` are used.

    Returns:
        (height, width, 3) bytes.
    """
    x, speed, curve, stun, day, steps, passed, quota, _, driven = state[:10].tolist()
    cars = state[10:].reshape(CARS, 2).tolist()
    upper, lower, hills, grass = DAYS[int(day) % len(DAYS)]
    canvas = Canvas(HEIGHT, WIDTH)
    for y in range(0, HORIZON, STRIP):
        canvas.box(0, y, WIDTH, STRIP, mixed(upper, lower, y / HORIZON))
    for k in range(9):
        place = (k * 97 + 40 * curve) % (WIDTH + 120) - 60
        canvas.line(place, HORIZON + 30, place, HORIZON + 30, 100 + 17 * (k % 3), hills)

    def middle(share: float) -> float:
        """Of the road, at this scale: 1 below, 0 at the horizon."""
        return float(WIDTH / 2 + BEND * curve * (1 - share) ** 2)

    for y in range(HORIZON, HEIGHT, STRIP):
        share = (y + STRIP - HORIZON) / (HEIGHT - HORIZON)
        far = NEAR / share + driven
        light = far % 90 < 45
        canvas.box(0, y, WIDTH, STRIP, grass if light else mixed(grass, (0, 0, 0), 0.1))
        left, half = middle(share), HALF * share
        kerb = LIGHT if light else (196, 84, 84)
        canvas.box(left - 1.06 * half, y, 2.12 * half, STRIP, kerb)
        canvas.box(left - half, y, 2 * half, STRIP, ROAD)
        if light:
            for lane in (-0.3, 0.3):
                canvas.box(left + lane * half - 2 * share, y, 4 * share, STRIP, MUTED)
    shown = sorted(((way, k) for k, (_, way) in enumerate(cars) if -20 < way < 900), reverse=True)
    drawn = False
    for way, k in [*shown, (-1e9, -1)]:
        if way < 0 and not drawn:
            share = 0.93
            colour = AMBER if stun else TEAL
            at = middle(share) + HALF * share * x / EDGE_OF_ROAD
            draw_car(canvas, at, HORIZON + share * (HEIGHT - HORIZON), share, colour)
            drawn = True
        if k >= 0:
            share = 0.93 * NEAR / (NEAR + max(way, -15))
            at = middle(share) + HALF * share * cars[k][0] / EDGE_OF_ROAD
            draw_car(
                canvas, at, HORIZON + share * (HEIGHT - HORIZON), share, PAINTS[k % len(PAINTS)]
            )
    for k, (part, colour) in enumerate(
        ((1 - steps / arguments["day_steps"], LIGHT), (passed / quota, TEAL), (speed / 10, AMBER))
    ):
        canvas.box(14, 12 + 18 * k, 150, 11, PANEL, 5)
        canvas.box(14, 12 + 18 * k, 11 + 139 * min(max(part, 0), 1), 11, colour, 5)
    for k in range(min(int(arguments["days"]), 20)):
        place = WIDTH - 18 - 18 * k
        canvas.line(place, 18, place, 18, 11, AMBER if k < day else PANEL)
    return canvas.picture()
