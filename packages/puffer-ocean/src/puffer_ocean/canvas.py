"""A small anti-aliased canvas on numpy, shared by the renderers: no window, no display."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Colour: TypeAlias = "tuple[int, int, int]"

BACKGROUND: Colour = (20, 22, 30)
PANEL: Colour = (36, 40, 52)
MUTED: Colour = (84, 92, 112)
LIGHT: Colour = (226, 229, 236)
TEAL: Colour = (84, 190, 176)
AMBER: Colour = (240, 170, 92)

# Digits as strokes through points of a lattice of 3 columns and 5 rows, each point its column and
# row.
DIGITS = (
    ("00", "20", "24", "04", "00"),
    ("01", "10", "14"),
    ("00", "20", "22", "02", "04", "24"),
    ("00", "20", "22", "02", "22", "24", "04"),
    ("00", "02", "22", "20", "24"),
    ("20", "00", "02", "22", "24", "04"),
    ("20", "00", "04", "24", "22", "02"),
    ("00", "20", "14"),
    ("00", "20", "24", "04", "00", "02", "22"),
    ("22", "02", "00", "20", "24", "04"),
)


class Canvas:
    """A picture under construction; lengths in pixels, y grows downwards.

    Shapes are given by their signed distance d to the outline (negative inside): a pixel is covered
    by the share 1/2 - d, clipped to [0, 1], which smooths the edges over one pixel.
    """

    def __init__(self, height: int, width: int) -> None:
        self.pixels = np.empty((height, width, 3), np.float32)
        self.pixels[:] = BACKGROUND

    def box(
        self, x: float, y: float, width: float, height: float, colour: Colour, radius: float = 0
    ) -> None:
        """Fill the rectangle with left upper corner (x, y), its corners rounded by `radius`."""
        rows, columns = self._window(x, y, x + width, y + height)
        px, py = self._centres(rows, columns)
        dx = np.abs(px - (x + width / 2)) - (width / 2 - radius)
        dy = np.abs(py - (y + height / 2)) - (height / 2 - radius)
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
        inside = np.minimum(np.maximum(dx, dy), 0)
        self._paint(rows, columns, outside + inside - radius, colour)

    def line(
        self, x0: float, y0: float, x1: float, y1: float, width: float, colour: Colour
    ) -> None:
        """Draw a line with round ends; both ends in one place give a disc of that diameter."""
        radius = width / 2
        rows, columns = self._window(
            min(x0, x1) - radius, min(y0, y1) - radius, max(x0, x1) + radius, max(y0, y1) + radius
        )
        px, py = self._centres(rows, columns)
        dx, dy = x1 - x0, y1 - y0
        # the foot of the perpendicular, as a share of the way from (x0, y0) to (x1, y1)
        share = ((px - x0) * dx + (py - y0) * dy) / max(dx * dx + dy * dy, 1e-9)
        share = np.clip(share, 0, 1)
        distance = np.hypot(px - (x0 + share * dx), py - (y0 + share * dy))
        self._paint(rows, columns, distance - radius, colour)

    def number(self, x: float, y: float, height: float, value: int, colour: Colour) -> None:
        """Write a whole number, not negative, with its middle at (x, y)."""
        unit, text = height / 5, str(value)
        left = x - (4 * len(text) - 2) / 2 * unit  # a digit is 2 units wide, the space between too
        for place, digit in enumerate(text):
            points = [
                (left + (4 * place + int(point[0])) * unit, y + (int(point[1]) - 2) * unit)
                for point in DIGITS[int(digit)]
            ]
            for start, end in pairwise(points):
                self.line(*start, *end, unit, colour)

    def picture(self) -> NDArray[np.uint8]:
        """The finished picture: (height, width, 3) bytes."""
        return np.rint(self.pixels).astype(np.uint8)

    def _window(self, x0: float, y0: float, x1: float, y1: float) -> tuple[slice, slice]:
        """Rows and columns that a shape with these bounds can touch; empty outside the picture."""
        height, width, _ = self.pixels.shape
        rows = slice(max(int(y0) - 1, 0), max(min(int(y1) + 2, height), 0))
        columns = slice(max(int(x0) - 1, 0), max(min(int(x1) + 2, width), 0))
        return rows, columns

    @staticmethod
    def _centres(rows: slice, columns: slice) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        x = np.arange(columns.start, columns.stop, dtype=np.float32)[None, :] + np.float32(0.5)
        y = np.arange(rows.start, rows.stop, dtype=np.float32)[:, None] + np.float32(0.5)
        return x, y

    def _paint(
        self, rows: slice, columns: slice, distance: NDArray[np.floating], colour: Colour
    ) -> None:
        cover = np.clip(0.5 - distance, 0, 1)[:, :, None]
        region = self.pixels[rows, columns]
        region += cover * (np.asarray(colour, np.float32) - region)
