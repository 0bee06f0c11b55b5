"""Draw Drone: the space in perspective, gates as rings, drones with rotors and shadows."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_ocean.canvas import AMBER, BACKGROUND, LIGHT, MUTED, PANEL, TEAL, Canvas, Colour

# a place, what draws there, and what with
Shape: TypeAlias = "tuple[NDArray[np.float64], Callable[..., None], tuple[Any, ...]]"

WIDTH, HEIGHT = 800, 560  # pixels
SIDE = 12  # metres
ARM, ROTOR = 0.45, 0.3  # metres, larger than life
EYE = np.array([0.0, -30.0, 17.0])  # metres; looks at the middle of the space
MIDDLE = np.array([0.0, 0.0, 4.5])
ZOOM = 1000  # pixels: of one metre, one metre away
MAX_GATES = 16  # as in drone.c
SHADOW: Colour = (26, 29, 39)
RING = [(math.cos(k * math.pi / 12), math.sin(k * math.pi / 12)) for k in range(25)]
FPS = 50


def draw(state: NDArray[np.float32], arguments: dict[str, Any]) -> NDArray[np.uint8]:
    """Draw one environment.

    Args:
        state: 16 gates of six numbers, middle and axis, all 0 where there is none; then of each
            drone its place, quaternion (w, x, y, z) and target.
        arguments: the environment's arguments; `task`, `gate_radius` and `num_gates` are read.

    Returns:
        (height, width, 3) bytes.
    """
    canvas = Canvas(HEIGHT, WIDTH)
    for line in range(-SIDE, SIDE + 1, 3):
        _line(canvas, (line, -SIDE, 0), (line, SIDE, 0), 0.05, PANEL)
        _line(canvas, (-SIDE, line, 0), (SIDE, line, 0), 0.05, PANEL)
    drones = state[6 * MAX_GATES :].reshape(-1, 10).astype(float)
    shapes: list[Shape] = [(each[:3], _drone, (each, arguments["task"])) for each in drones]
    if arguments["task"] == "race":
        gates = state[: 6 * arguments["num_gates"]].reshape(-1, 6).astype(float)
        shapes += [(each[:3], _gate, (each, arguments["gate_radius"])) for each in gates]
    shapes.sort(key=lambda shape: -float(np.linalg.norm(shape[0] - EYE)))  # what is near comes last
    for place, _, _ in shapes:
        _line(canvas, (*place[:2], 0), (*place[:2], 0), 0.5, SHADOW)
    for _, draw_shape, values in shapes:
        draw_shape(canvas, *values)
    return canvas.picture()


def _project(point: Any) -> tuple[float, float, float]:
    """x, y in pixels, and pixels a metre there."""
    ahead = (MIDDLE - EYE) / np.linalg.norm(MIDDLE - EYE)
    up = np.array([0.0, -ahead[2], ahead[1]])
    way = np.asarray(point, float) - EYE
    scale = ZOOM / max(float(way @ ahead), 1)
    return WIDTH / 2 + scale * float(way[0]), HEIGHT / 2 - scale * float(way @ up), scale


def _line(canvas: Canvas, begin: Any, end: Any, width: float, colour: Colour) -> None:
    """A line in the space, its width in metres."""
    x0, y0, scale = _project(begin)
    x1, y1, _ = _project(end)
    canvas.line(x0, y0, x1, y1, max(width * scale, 1.5), colour)


def _gate(canvas: Canvas, gate: NDArray[np.float64], radius: float) -> None:
    """A ring about the axis of the gate on a pole."""
    middle, axis = gate[:3], gate[3:]
    across, up = np.array([-axis[1], axis[0], 0]), np.array([0.0, 0.0, 1.0])
    _line(canvas, (*middle[:2], 0), middle - radius * up, 0.08, MUTED)
    points = [middle + radius * (c * across + s * up) for c, s in RING]
    for begin, end in pairwise(points):
        _line(canvas, begin, end, 0.16, AMBER)


def _drone(canvas: Canvas, drone: NDArray[np.float64], task: str) -> None:
    """Two arms, four rotors, the front ones light."""
    place, (w, x, y, z), target = drone[:3], drone[3:7], drone[7:]
    front = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    left = np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])
    if task == "hover":
        _line(canvas, place, target, 0.04, MUTED)
        _line(canvas, target, target, 0.3, AMBER)
    for ahead, aside in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        tip = place + ARM * (ahead * front + aside * left)
        _line(canvas, place, tip, 0.12, MUTED)
        rim = [tip + ROTOR * (c * front + s * left) for c, s in RING[::3]]
        for begin, end in pairwise(rim):
            _line(canvas, begin, end, 0.06, LIGHT if ahead > 0 else TEAL)
    _line(canvas, place, place, 0.34, BACKGROUND)
    _line(canvas, place, place, 0.26, TEAL)
