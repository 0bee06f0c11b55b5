"""Draw Tetris: the well, the falling piece and where it would rest, the next one, rows done."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

ROWS, COLUMNS, CELL, MARGIN = 20, 10, 28, 16
SIDE = 7 * CELL  # the panel on the right
WELL: Colour = (26, 29, 38)
STONE: Colour = (70, 92, 138)
COLOURS: tuple[Colour, ...] = (
    (92, 196, 214),
    (226, 196, 88),
    (176, 116, 206),
    (112, 194, 116),
    (216, 98, 98),
    (96, 132, 214),
    (228, 152, 84),
)
# Rotation 0 of I O T S Z J L, upper row first.
SHAPES = (
    ("1111",),
    ("11", "11"),
    ("010", "111"),
    ("011", "110"),
    ("110", "011"),
    ("100", "111"),
    ("001", "111"),
)
KEYS = {"left": 1, "right": 2, "up": 3, "z": 4, "down": 5, "space": 6}  # with control = moves


def block(canvas: Canvas, x: float, y: float, colour: Colour) -> None:
    """One cell with a lighter upper edge."""
    lighter = tuple(min(255, round(1.25 * part)) for part in colour)
    canvas.box(x + 1, y + 1, CELL - 2, CELL - 2, colour, 4)
    canvas.box(x + 4, y + 4, CELL - 8, 4, (lighter[0], lighter[1], lighter[2]), 2)


def cells_of(kind: int, rotation: int) -> list[tuple[int, int]]:
    """(row from the lowest, column) of the four cells of a piece."""
    shape = [list(row) for row in SHAPES[kind]]
    for _ in range(rotation):
        shape = [list(row) for row in zip(*shape[::-1], strict=True)]  # clockwise
    return [
        (row, column)
        for row, line in enumerate(shape[::-1])
        for column, cell in enumerate(line)
        if cell == "1"
    ]


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (209,) cells row by row from the lowest, then the piece, its rotation, column, row,
            the next piece, score, rows done, pieces laid, 1 if it moves step by step.
        arguments: `pieces` is used.

    Returns:
        (height, width, 3) bytes.
    """
    well = state[: ROWS * COLUMNS].reshape(ROWS, COLUMNS)
    kind, rotation, x, y, following, _, lines, pieces, moves = state[-9:].astype(int).tolist()
    width, height = COLUMNS * CELL, ROWS * CELL
    canvas = Canvas(height + 2 * MARGIN, width + SIDE + 3 * MARGIN)
    canvas.box(MARGIN - 4, MARGIN - 4, width + 8, height + 8, PANEL, 8)
    canvas.box(MARGIN, MARGIN, width, height, WELL)
    for column in range(1, COLUMNS):
        canvas.box(MARGIN + column * CELL - 0.5, MARGIN, 1, height, PANEL)

    def place(row: float, column: float) -> tuple[float, float]:
        return MARGIN + column * CELL, MARGIN + (ROWS - 1 - row) * CELL

    for row, column in np.argwhere(well > 0).tolist():
        block(canvas, *place(row, column), STONE)
    piece = cells_of(kind, rotation)
    if moves:
        rest = y
        while rest > 0 and all(not well[rest - 1 + r, x + c] for r, c in piece):
            rest -= 1
        for r, c in piece:
            left, top = place(rest + r, x + c)
            canvas.box(left + 3, top + 3, CELL - 6, CELL - 6, PANEL, 4)
        for r, c in piece:
            block(canvas, *place(y + r, x + c), COLOURS[kind])

    panel = width + 2 * MARGIN
    shown = [following] if moves else [kind, following]  # placements: what is placed, then the next
    for k, each in enumerate(shown):
        top = MARGIN + 5 * CELL * k
        canvas.box(panel, top, SIDE, 4.5 * CELL, PANEL, 8)
        cells = cells_of(each, 0)
        wide, high = max(c for _, c in cells) + 1, max(r for r, _ in cells) + 1
        for r, c in cells:
            block(
                canvas,
                panel + SIDE / 2 + (c - wide / 2) * CELL,
                top + 2.25 * CELL + (high / 2 - 1 - r) * CELL,
                COLOURS[each],
            )
    for k, (share, colour) in enumerate(
        ((pieces / arguments["pieces"], MUTED), (lines / (0.4 * arguments["pieces"]), TEAL))
    ):
        top = MARGIN + height - (2 - k) * 28
        canvas.box(panel, top, SIDE, 16, PANEL, 8)
        canvas.box(panel, top, max(16, min(share, 1) * SIDE), 16, colour, 8)
    for k in range(min(lines, 100)):
        left, top = panel + 9 + (k % 10) * 19.5, MARGIN + height - 80 - (k // 10) * 19
        canvas.line(left, top, left, top, 11, AMBER if k // 10 % 2 else LIGHT)
    return canvas.picture()
