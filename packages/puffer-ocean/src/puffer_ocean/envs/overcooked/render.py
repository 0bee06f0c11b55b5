"""Draw the kitchen: counters, boxes, pots with what is in them, cooks with hats and full hands."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

WIDTH, HEIGHT, ONIONS = 7, 6, 3  # as in overcooked.c
SIZE, MARGIN, SHELF = 96, 12, 28  # pixels: of a cell, round the kitchen, for the score below
ONION, DISH, SOUP = 1, 2, 3
TILES: tuple[Colour, Colour] = ((58, 62, 74), (64, 68, 80))
WOOD: Colour = (132, 100, 74)
BOARD: Colour = (150, 116, 86)
SKIN: Colour = (226, 186, 152)
BROTH: Colour = (206, 134, 62)
FACING = ((0, -1), (0, 1), (-1, 0), (1, 0))  # up, down, left, right
KEYS = {"up": 1, "down": 2, "left": 3, "right": 4, "space": 5}


def colour_of(cook: int) -> Colour:
    """Neighbouring numbers have distant hues: steps of the golden ratio."""
    red, green, blue = colorsys.hls_to_rgb(0.58 + 0.618 * cook, 0.55, 0.5)
    return round(255 * red), round(255 * green), round(255 * blue)


def disc(canvas: Canvas, x: float, y: float, diameter: float, colour: Colour) -> None:
    """A filled circle round (x, y)."""
    canvas.line(x, y, x, y, diameter, colour)


def draw_item(canvas: Canvas, x: float, y: float, item: int, size: float) -> None:
    """An onion, a dish or a soup round (x, y)."""
    if item == ONION:
        canvas.line(x, y - 0.3 * size, x, y, 0.12 * size, TEAL)
        disc(canvas, x, y + 0.05 * size, 0.6 * size, AMBER)
        disc(canvas, x - 0.08 * size, y, 0.25 * size, LIGHT)
    if item in (DISH, SOUP):
        disc(canvas, x, y, 0.9 * size, LIGHT)
        disc(canvas, x, y, 0.6 * size, BROTH if item == SOUP else MUTED)
        if item == DISH:
            disc(canvas, x, y, 0.5 * size, LIGHT)


def draw_place(canvas: Canvas, left: float, top: float, sign: str) -> None:
    """A counter, and what stands on it."""
    x, y = left + SIZE / 2, top + SIZE / 2
    canvas.box(left + 1, top + 1, SIZE - 2, SIZE - 2, WOOD, 8)
    canvas.box(left + 6, top + 6, SIZE - 12, SIZE - 12, BOARD, 8)
    if sign == "O":
        canvas.box(left + 14, top + 14, SIZE - 28, SIZE - 28, WOOD, 8)
        for right, down in ((-16, -12), (16, -12), (0, 14)):
            draw_item(canvas, x + right, y + down, ONION, 44)
    if sign == "D":
        for shift in (10, 2, -6):
            draw_item(canvas, x, y + shift, DISH, 60)
    if sign == "S":
        canvas.box(left + 12, top + 12, SIZE - 24, SIZE - 24, TEAL, 10)
        canvas.box(left + 22, top + 22, SIZE - 44, SIZE - 44, PANEL, 8)
        disc(canvas, x, y, 22, TEAL)


def draw_pot(canvas: Canvas, left: float, top: float, onions: int, share: float) -> None:
    """A pot with its onions; `share` of the time that its soup still cooks."""
    x, y = left + SIZE / 2, top + SIZE / 2
    canvas.line(x - 36, y, x + 36, y, 12, MUTED)
    disc(canvas, x, y, 68, BACKGROUND)
    disc(canvas, x, y, 56, BROTH if onions == ONIONS else PANEL)
    if onions < ONIONS or share > 0:
        for k in range(onions):
            draw_item(canvas, x + (-14, 14, 0)[k], y + (-8, -8, 12)[k], ONION, 30)
    if onions == ONIONS:
        canvas.box(left + 12, top + SIZE - 14, SIZE - 24, 8, BACKGROUND, 4)
        canvas.box(left + 12, top + SIZE - 14, (SIZE - 24) * (1 - share), 8, TEAL, 4)


def draw_cook(canvas: Canvas, x: float, y: float, facing: int, holds: int, colour: Colour) -> None:
    """A cook from above, hands in front."""
    right, down = FACING[facing]
    disc(canvas, x, y, 70, colour)
    for side in (-1, 1):
        hand_x, hand_y = x + 30 * right - 22 * side * down, y + 30 * down + 22 * side * right
        disc(canvas, hand_x, hand_y, 18, SKIN)
    disc(canvas, x, y, 48, LIGHT)
    for puff_x, puff_y in ((-9, -7), (9, -7), (0, 9)):
        disc(canvas, x + puff_x, y + puff_y, 24, LIGHT)
    canvas.line(x - 10, y + 2, x + 10, y + 2, 3, MUTED)
    draw_item(canvas, x + 34 * right, y + 34 * down, holds, 42)


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: (42,) signs of the plan, (42,) items on it; onions and steps left of two pots; cell,
            facing and hands of each cook; the score.
        arguments: `num_cooks` and `cook_time` are read.

    Returns:
        (height, width, 3) bytes.
    """
    cells = WIDTH * HEIGHT
    numbers = state.astype(int).tolist()
    plan, items, rest = numbers[:cells], numbers[cells : 2 * cells], numbers[2 * cells :]
    canvas = Canvas(HEIGHT * SIZE + 2 * MARGIN + SHELF, WIDTH * SIZE + 2 * MARGIN)
    pots = [rest[:2], rest[2:4]]
    for cell, code in enumerate(plan):
        left, top = MARGIN + cell % WIDTH * SIZE, MARGIN + cell // WIDTH * SIZE
        if chr(code) == " ":
            canvas.box(left, top, SIZE, SIZE, TILES[(cell // WIDTH + cell % WIDTH) % 2])
            continue
        draw_place(canvas, left, top, chr(code))
        draw_item(canvas, left + SIZE / 2, top + SIZE / 2, items[cell], 56)
        if chr(code) == "P":
            onions, steps = pots.pop(0)
            draw_pot(canvas, left, top, onions, steps / arguments["cook_time"])
    cooks = np.array(rest[4:-1]).reshape(arguments["num_cooks"], 3).tolist()
    for cook, (cell, facing, holds) in enumerate(cooks):
        x, y = MARGIN + (cell % WIDTH + 0.5) * SIZE, MARGIN + (cell // WIDTH + 0.5) * SIZE
        draw_cook(canvas, x, y, facing, holds, colour_of(cook))
    for soup in range(min(rest[-1], WIDTH * SIZE // 20)):
        draw_item(canvas, MARGIN + 10 + 20 * soup, HEIGHT * SIZE + 2 * MARGIN + 12, SOUP, 18)
    return canvas.picture()
