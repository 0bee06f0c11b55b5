"""Draw Target: targets as rings, each agent an arrow in its colour."""

from __future__ import annotations

import colorsys
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, MUTED, PANEL, Canvas, Colour

SIDE, MARGIN, HEADINGS = 720, 24, 32  # pixels of the longer edge; headings as in target.c


def colour_of(agent: int) -> Colour:
    """Neighbouring numbers have distant hues: steps of the golden ratio."""
    red, green, blue = colorsys.hls_to_rgb(0.47 + 0.618 * agent, 0.62, 0.55)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: x and y of each target, then x, y, heading and number of targets of each agent.
        arguments: `width`, `height`, `num_targets` and `radius` are read.

    Returns:
        (height, width, 3) bytes.
    """
    scale = SIDE / max(arguments["width"], arguments["height"])
    width, height = (max(64, round(scale * arguments[edge])) for edge in ("width", "height"))
    canvas = Canvas(height + 2 * MARGIN, width + 2 * MARGIN)
    canvas.box(MARGIN / 2, MARGIN / 2, width + MARGIN, height + MARGIN, PANEL, 12)
    count = 2 * arguments["num_targets"]

    def disc(x: float, y: float, radius: float, colour: Colour) -> None:
        x, y = MARGIN + scale * x, MARGIN + scale * y
        canvas.line(x, y, x, y, 2 * radius, colour)

    for x, y in state[:count].reshape(-1, 2).tolist():
        radius = max(scale * arguments["radius"], 4)
        disc(x, y, radius, MUTED)
        disc(x, y, 0.86 * radius, PANEL)
        disc(x, y, 0.6 * radius, AMBER)
        disc(x, y, 0.25 * radius, PANEL)
    size = min(max(15 * scale, 8), 24)
    for agent, (x, y, heading, _) in enumerate(state[count:].reshape(-1, 4).tolist()):
        angle = 2 * math.pi * heading / HEADINGS
        x, y, colour = MARGIN + scale * x, MARGIN + scale * y, colour_of(agent)
        nose = x + size * math.cos(angle), y + size * math.sin(angle)
        for side in (-2.5, 2.5):
            tail = x + size * math.cos(angle + side), y + size * math.sin(angle + side)
            canvas.line(*tail, *nose, size / 3, colour)
            canvas.line(x, y, *tail, size / 3, colour)
        canvas.line(x, y, *nose, size / 2, colour)
        canvas.line(x, y, x, y, size / 3, BACKGROUND)
    return canvas.picture()
