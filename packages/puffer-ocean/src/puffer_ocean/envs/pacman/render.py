"""Draw Pac-Man: the maze, pellets, Pac-Man and the ghosts, lives below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import BACKGROUND, LIGHT, Canvas, Colour

SIDE, CELL, FOOT = 17, 32, 36  # cells; pixels of a cell and below the maze
WALL: Colour = (62, 84, 168)
INSIDE: Colour = (24, 30, 58)
PELLET: Colour = (240, 208, 176)
YELLOW: Colour = (246, 208, 72)
PEN: Colour = (50, 40, 66)
AFRAID: Colour = (64, 96, 220)
GHOSTS: tuple[Colour, ...] = ((222, 76, 76), (238, 150, 188), (96, 206, 216), (236, 160, 84))
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
KEYS = {"up": 0, "down": 1, "left": 2, "right": 3}


def draw_walls(canvas: Canvas, maze: NDArray[np.float32]) -> None:
    """Walls as pipes: bars between neighbours in their outline's colour, then hollowed out."""
    walls = [(row, column) for row, column in np.argwhere(maze == -1).tolist()]
    there = set(walls)
    for width, colour in ((0.62, WALL), (0.42, INSIDE)):
        for row, column in walls:
            x, y = (column + 0.5) * CELL, (row + 0.5) * CELL
            canvas.line(x, y, x, y, width * CELL, colour)
            for down, right in ((0, 1), (1, 0)):
                if (row + down, column + right) in there:
                    canvas.line(x, y, x + right * CELL, y + down * CELL, width * CELL, colour)
            if {(row, column + 1), (row + 1, column), (row + 1, column + 1)} <= there:
                canvas.box(x, y, CELL, CELL, colour)


def draw_ghost(canvas: Canvas, x: float, y: float, colour: Colour) -> None:
    """A ghost whose middle is (x, y)."""
    half = 0.4 * CELL
    canvas.line(x, y - 0.1 * half, x, y - 0.1 * half, 2 * half, colour)
    canvas.box(x - half, y, 2 * half, 0.7 * half, colour)
    for k in (-2, 0, 2):
        canvas.line(
            x + k * half / 3, y + 0.7 * half, x + k * half / 3, y + 0.75 * half, half / 1.6, colour
        )
    for side in (-0.4, 0.4):
        eye = x + side * half
        canvas.line(eye, y - 0.2 * half, eye, y - 0.05 * half, 0.5 * half, LIGHT)
        canvas.line(eye, y - 0.1 * half, eye, y - 0.1 * half, 0.28 * half, BACKGROUND)


def draw_hero(canvas: Canvas, x: float, y: float, direction: int, size: float) -> None:
    """Pac-Man with his mouth towards `direction`."""
    canvas.line(x, y, x, y, size, YELLOW)
    down, right = STEPS[direction]
    for k in range(1, 7):  # the mouth, wider and wider
        far, wide = size * (0.04 + 0.09 * k), size * 0.1 * k
        tip = (x + right * far, y + down * far)
        across = (down * wide / 2, right * wide / 2)
        canvas.line(
            tip[0] - across[0],
            tip[1] - across[1],
            tip[0] + across[0],
            tip[1] + across[1],
            3,
            BACKGROUND,
        )


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (310,) cells row by row (-2 pen, -1 wall, 0 empty, 1 pellet, 2 power pellet);
            Pac-Man's row, column and direction; of each ghost its row, column, steps left in the
            pen, 1 if it is afraid; steps of fright left, lives.
        arguments: the environment's arguments; not needed.

    Returns:
        (height, width, 3) bytes.
    """
    maze = state[: SIDE * SIDE].reshape(SIDE, SIDE)
    row, column, direction = state[SIDE * SIDE : SIDE * SIDE + 3].astype(int).tolist()
    ghosts = state[SIDE * SIDE + 3 : -2].reshape(-1, 4).astype(int).tolist()
    fright, lives = state[-2:].astype(int).tolist()
    canvas = Canvas(SIDE * CELL + FOOT, SIDE * CELL)
    draw_walls(canvas, maze)
    for pen in np.argwhere(maze == -2).tolist():
        canvas.box(pen[1] * CELL, pen[0] * CELL, CELL, CELL, PEN, 4)
    for size, value in ((0.2, 1), (0.5, 2)):
        for r, c in np.argwhere(maze == value).tolist():
            x, y = (c + 0.5) * CELL, (r + 0.5) * CELL
            canvas.line(x, y, x, y, size * CELL, PELLET)
    draw_hero(canvas, (column + 0.5) * CELL, (row + 0.5) * CELL, direction, 0.84 * CELL)
    for k, (r, c, waits, afraid) in enumerate(ghosts):
        x, y = (c + 0.5) * CELL, (r + 0.5) * CELL
        if waits:  # side by side in the pen
            x, y = (7 + 0.75 * k) * CELL + 0.1 * CELL, 8.5 * CELL
        ending = fright < 6 and fright % 2
        draw_ghost(canvas, x, y, (LIGHT if ending else AFRAID) if afraid else GHOSTS[k])
    for k in range(lives):
        draw_hero(canvas, (0.7 + k) * CELL, SIDE * CELL + FOOT / 2, 3, 0.7 * CELL)
    return canvas.picture()
