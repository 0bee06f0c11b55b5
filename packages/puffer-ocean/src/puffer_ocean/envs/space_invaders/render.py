"""Draw Space Invaders: the grid, the shields, the ship, shots and bombs, lives below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

WIDTH, HEIGHT, SCALE, GROUND = 200, 180, 3, 10  # as in space_invaders.c; pixels of ours each; below
COLUMNS, ROWS, ACROSS, UP = 8, 5, 16, 14
SHIELD_COLUMNS, SHIELD_ROWS, SHIELD_BOTTOM, CELL = 6, 3, 28, 4
SHIELD_LEFT = (22, 66, 110, 154)
MAX_BOMBS = 6
COLOURS: tuple[Colour, ...] = (
    (112, 194, 116),
    (92, 196, 214),
    (96, 132, 214),
    (176, 116, 206),
    (216, 98, 140),
)
FIGURE = (  # an invader, 12 by 8, upper row first
    "000100001000",
    "000010010000",
    "000111111000",
    "001101101100",
    "011111111110",
    "010111111010",
    "010100001010",
    "000011110000",
)
KEYS = {"left": 1, "right": 2, "space": 3}


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (33,) the ship's x, the shot's x and y, left lower corner of the grid, direction of
            the march, lives, score, waves done; x and y of each bomb; the bits of each column of
            invaders and of each shield. A negative y: not there.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    ship, shot_x, shot_y, grid_x, grid_y, _, lives, _, waves = state[:9].tolist()
    bombs = state[9 : 9 + 2 * MAX_BOMBS].reshape(-1, 2).tolist()
    columns = state[-COLUMNS - len(SHIELD_LEFT) : -len(SHIELD_LEFT)].astype(int).tolist()
    shields = state[-len(SHIELD_LEFT) :].astype(int).tolist()
    canvas = Canvas((HEIGHT + GROUND) * SCALE, WIDTH * SCALE)

    def box(x: float, y: float, width: float, height: float, colour: Colour, radius: float) -> None:
        """A box by its left lower corner, in the field's pixels."""
        top = (HEIGHT - y - height) * SCALE
        canvas.box(x * SCALE, top, width * SCALE, height * SCALE, colour, radius * SCALE)

    rng = np.random.default_rng(0)
    for x, y in rng.uniform(0, 1, (60, 2)).tolist():  # stars
        box(x * WIDTH, 50 + y * (HEIGHT - 52), 0.7, 0.7, MUTED, 0.3)
    box(0, -GROUND, WIDTH, GROUND, PANEL, 0)
    for column, bits in enumerate(columns):
        for row in range(ROWS):
            if bits >> row & 1:
                left, bottom = grid_x + column * ACROSS, grid_y + row * UP
                for line, cells in enumerate(FIGURE):
                    for k, cell in enumerate(cells):
                        if cell == "1":
                            box(left + k, bottom + 7 - line, 1, 1, COLOURS[row], 0)
    for left, bits in zip(SHIELD_LEFT, shields, strict=True):
        for row in range(SHIELD_ROWS):
            for column in range(SHIELD_COLUMNS):
                if bits >> (row * SHIELD_COLUMNS + column) & 1:
                    box(left + column * CELL, SHIELD_BOTTOM + row * CELL, CELL, CELL, TEAL, 0.6)
    for x, y in bombs:
        if y >= 0:
            box(x - 1, y - 1, 2, 5, AMBER, 1)
    if shot_y >= 0:
        box(shot_x - 0.75, shot_y - 2, 1.5, 6, LIGHT, 0.7)
    box(ship - 7, 0, 14, 4.5, LIGHT, 1.2)
    box(ship - 3, 3, 6, 3, LIGHT, 1)
    box(ship - 1, 4, 2, 4, LIGHT, 0.8)
    for k in range(int(lives)):
        box(4 + 10 * k, -GROUND + 3, 8, 4, LIGHT, 1)
    for k in range(int(waves)):
        box(WIDTH - 8 - 7 * k, -GROUND + 3, 4, 4, AMBER, 2)
    return canvas.picture()
