"""Draw Lander: stars, hills, the pad between its flags, the craft and its flames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

WIDTH, HEIGHT = 700, 500  # pixels
SCALE = 35  # pixels a metre
GROUND = 450  # y of the pad
GLOW: Colour = (255, 222, 150)
SKY: Colour = (24, 27, 40)
KEYS = {"left": 1, "up": 2, "right": 3}
FPS = 20


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (20,) the centre in metres, sine and cosine of the angle, main engine, side engine,
            wind, left and right foot on the ground, then the 11 heights of the ground.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    x, y, sine, cosine, main, side, wind = (float(value) for value in state[:7])
    canvas = Canvas(HEIGHT, WIDTH)
    canvas.box(0, 0, WIDTH, HEIGHT, SKY)
    for px, py in np.random.default_rng(0).uniform((0, 0), (WIDTH, GROUND), (60, 2)).tolist():
        canvas.line(px, py, px, py, 1.5 + (px + py) % 2, MUTED)
    _wind(canvas, wind)

    def at(right: float, up: float) -> tuple[float, float]:
        px, py = x + cosine * right - sine * up, y + sine * right + cosine * up
        return WIDTH / 2 + SCALE * px, GROUND - SCALE * py

    def stroke(
        begin: tuple[float, float], end: tuple[float, float], width: float, of: Colour
    ) -> None:
        canvas.line(*at(*begin), *at(*end), width, of)

    if main:
        stroke((0, -0.4), (0, -0.5 - 0.9 * main), 13, AMBER)
        stroke((0, -0.4), (0, -0.5 - 0.5 * main), 7, GLOW)
    if side:  # it pushes away from its flame
        away = -0.6 if side > 0 else 0.6
        stroke((away, 0.45), (away * (1 + abs(side)), 0.45), 7, AMBER)
    _ground(canvas, state[9:])  # flames end there
    for foot, down in zip((-1, 1), state[7:9].tolist(), strict=True):
        stroke((0.35 * foot, -0.1), (0.8 * foot, -0.66), 5, LIGHT)
        stroke((0.65 * foot, -0.68), (0.95 * foot, -0.68), 6, TEAL if down else MUTED)
    stroke((-0.2, -0.3), (0.2, -0.3), 10, MUTED)
    for up in (-0.1, 0.1, 0.3):
        stroke((-0.38, up), (0.38, up), 9, LIGHT)
    stroke((0, 0.15), (0, 0.15), 15, BACKGROUND)
    stroke((0, 0.15), (0, 0.15), 11, TEAL)
    return canvas.picture()


def _ground(canvas: Canvas, heights: NDArray[np.float32]) -> None:
    """Columns below the line over the heights, and the pad."""
    columns = np.arange(0, WIDTH)
    line = np.interp((columns + 0.5) / SCALE - 10, np.arange(-10, 11, 2), heights)
    for column, height in zip(columns.tolist(), line.tolist(), strict=True):
        top = GROUND - SCALE * height
        canvas.box(column, top, 1, HEIGHT - top, PANEL)
    for left in range(-10, 10, 2):
        ends = heights[(left + 10) // 2 : (left + 10) // 2 + 2].tolist()
        pad = left in (-2, 0)
        x0, x1 = (WIDTH / 2 + SCALE * end for end in (left, left + 2))
        y0, y1 = (GROUND - SCALE * end for end in ends)
        canvas.line(x0, y0, x1, y1, 6 if pad else 3, TEAL if pad else MUTED)
    for flag in (-2, 2):
        x = WIDTH / 2 + SCALE * flag
        canvas.line(x, GROUND, x, GROUND - 34, 3, LIGHT)
        canvas.box(x, GROUND - 34, 16, 10, AMBER, 2)


def _wind(canvas: Canvas, wind: float) -> None:
    """A streamer in the middle above, as long as the wind is strong."""
    middle, end = WIDTH / 2, WIDTH / 2 + 80 * wind
    canvas.line(middle, 24, end, 24, 6, TEAL)
    canvas.line(middle, 16, middle, 32, 3, LIGHT)
