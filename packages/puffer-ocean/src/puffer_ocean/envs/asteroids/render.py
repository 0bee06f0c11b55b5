"""Draw Asteroids: the ship, its shots, and rocks with their own outlines; lives above."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, TEAL, Canvas, Colour

FIELD, SLOTS, CORNERS = 512, 32, 11
ROCK: Colour = (64, 70, 88)
EDGE: Colour = (150, 158, 178)
FLAME: Colour = (236, 110, 70)
KEYS = {"left": 1, "right": 2, "up": 3, "space": 6}


def draw_rock(canvas: Canvas, x: float, y: float, radius: float, number: float) -> None:
    """A rugged rock; `number` decides on its outline."""
    rng = np.random.default_rng(round(1000 * abs(number)))
    reach = radius * rng.uniform(0.78, 1.08, CORNERS)
    angles = 2 * math.pi * np.arange(CORNERS) / CORNERS + rng.uniform(0, 1)
    points = np.stack([x + reach * np.cos(angles), y + reach * np.sin(angles)], axis=1).tolist()
    canvas.line(x, y, x, y, 1.5 * radius, ROCK)
    for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
        for share in (0.45, 0.8):  # fill what lies between the middle and this side
            canvas.line(
                x + share * (x0 - x),
                y + share * (y0 - y),
                x + share * (x1 - x),
                y + share * (y1 - y),
                0.4 * radius,
                ROCK,
            )
    for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
        canvas.line(x0, y0, x1, y1, 2, EDGE)


def draw_ship(
    canvas: Canvas, x: float, y: float, angle: float, colour: Colour, size: float = 11
) -> None:
    """A ship whose nose points to `angle`, in radians clockwise from the right."""

    def point(turn: float, far: float) -> tuple[float, float]:
        return x + far * math.cos(angle + turn), y + far * math.sin(angle + turn)

    nose, left, tail, right = (
        point(0, size),
        point(2.5, size),
        point(math.pi, size / 3),
        point(-2.5, size),
    )
    for start, end in ((nose, left), (left, tail), (tail, right), (right, nose)):
        canvas.line(*start, *end, 2.2, colour)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (143,) the ship's x and y, its nose in turns, ticks in which rocks pass through, 1
            when it thrusts, lives, waves done; of each rock x, y, radius (0: none) and a number of
            its own; of each shot x (negative: none) and y.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    x, y, nose, ghost, thrusts, lives, waves = state[:7].tolist()
    rocks = state[7 : 7 + 4 * SLOTS].reshape(SLOTS, 4)
    canvas = Canvas(FIELD, FIELD)
    rng = np.random.default_rng(1)
    for star_x, star_y in rng.uniform(4, FIELD - 4, (70, 2)).tolist():
        canvas.line(star_x, star_y, star_x, star_y, 1.4, MUTED)
    for rock_x, rock_y, radius, number in rocks[rocks[:, 2] > 0].tolist():
        for dx in (-FIELD, 0, FIELD):  # what leaves on one side is seen on the other
            for dy in (-FIELD, 0, FIELD):
                if (
                    abs(rock_x + dx - FIELD / 2) < FIELD / 2 + 45
                    and abs(rock_y + dy - FIELD / 2) < FIELD / 2 + 45
                ):
                    draw_rock(canvas, rock_x + dx, rock_y + dy, radius, number)
    angle = 2 * math.pi * nose
    if thrusts:
        ahead = math.cos(angle), math.sin(angle)
        canvas.line(
            x - 6 * ahead[0], y - 6 * ahead[1], x - 14 * ahead[0], y - 14 * ahead[1], 4, FLAME
        )
    draw_ship(canvas, x, y, angle, MUTED if ghost % 12 > 6 else LIGHT)
    for shot_x, shot_y in state[7 + 4 * SLOTS :].reshape(-1, 2).tolist():
        if shot_x >= 0:
            canvas.line(shot_x, shot_y, shot_x, shot_y, 4.5, AMBER)
    for k in range(int(lives)):
        draw_ship(canvas, 18 + 20 * k, 20, -math.pi / 2, LIGHT, 9)
    for k in range(int(waves)):
        canvas.line(FIELD - 16 - 14 * k, 18, FIELD - 16 - 14 * k, 18, 8, TEAL)
    return canvas.picture()
