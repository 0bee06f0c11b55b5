"""A scatter plot as a PNG, without a browser: the points are the core's."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from puffer_cli.constellation import core
from puffer_cli.constellation.columns import Array, Column, Table
from puffer_cli.nearest import did_you_mean
from puffer_core.errors import APIUsageError

SIZE = (1600, 1000)
MARGIN = (130, 40, 50, 100)  # left, top, right, bottom
STRIP = 28  # pixels for rows that have no place on an axis
INK, MUTED, LINE, GROUND = "#1d1f24", "#5d616b", "#ecece8", "#ffffff"
VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30")
CATEGORIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800")
OTHER = "#8a8f98"


def draw(
    table: Table, x: str, y: str, color: str | None = None, front: bool = True
) -> tuple[bytes, dict[str, Any]]:
    """Draw column `y` over column `x`, with the Pareto front (low x, high y) as a line.

    Rows without a place (missing, or not positive on a logarithmic axis) stand at the edge.

    Returns:
        The PNG, and what it shows: rows, how many stand at an edge, and the rows of the front.

    Raises:
        APIUsageError: there is no such column, or it holds words.
    """
    columns = [_number(table, name) for name in (x, y)]
    places = [_place(column) for column in columns]
    left, top, right, bottom = MARGIN
    width, height = SIZE[0] - left - right, SIZE[1] - top - bottom
    lows, spans, strips = [], [], []
    for place in places:
        low, high, count = core.extent(place)
        pad = 0.04 * (high - low) if high > low else abs(high) * 0.1 or 1.0
        lows.append(low - pad)
        spans.append(high - low + 2 * pad)
        strips.append(STRIP if count < table.rows else 0)
    sx, sy = (width - strips[0]) / spans[0], -(height - strips[1]) / spans[1]
    ox, oy = strips[0] - lows[0] * sx, height - strips[1] - lows[1] * sy
    mapping = np.array([sx, ox, sy, oy, strips[0] / 2, height - strips[1] / 2])
    codes, palette = _colors(table, color)
    points = _points(places, mapping, codes, palette, width, height)
    image = Image.new("RGB", SIZE, GROUND)
    pen = ImageDraw.Draw(image)
    for axis, name in enumerate((x, y)):
        _axis(pen, axis, name, columns[axis], lows[axis], spans[axis], (sx, ox, sy, oy))
    drawn = Image.fromarray((points != 255).any(-1).astype(np.uint8) * 255)  # above the grid
    image.paste(Image.fromarray(np.ascontiguousarray(points[..., :3])), (left, top), drawn)
    rows = core.front(_values(columns[0]), _values(columns[1]))
    if front and len(rows):
        _front(pen, places, rows, (sx, ox, sy, oy))
    out = io.BytesIO()
    image.save(out, "PNG")
    finite = [int(np.isfinite(place).sum()) for place in places]
    return out.getvalue(), {
        "rows": table.rows,
        "at_the_edge": {x: table.rows - finite[0], y: table.rows - finite[1]},
        "front": [int(row) for row in rows],
    }


def _number(table: Table, name: str) -> Column:
    numbers = {n: n for n, column in table.columns.items() if column.labels is None}
    if name in numbers:
        return table.columns[name]
    if name in table.columns:
        raise APIUsageError(f"column {name!r} holds words; an axis needs numbers.")
    raise APIUsageError(f"there is no column {name!r}; {did_you_mean(name, numbers)}")


def _values(column: Column) -> Array:
    return np.where(column.valid, column.values, np.nan).astype(np.float32)


def _place(column: Column) -> Array:
    values = _values(column)
    if column.meta.get("scale") != "log":
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(values), np.nan).astype(np.float32)


def _colors(table: Table, color: str | None) -> tuple[Array, list[str]]:
    """An entry of the palette for each row."""
    if color is None:
        return np.zeros(table.rows, np.uint8), [CATEGORIES[0]]
    if color not in table.columns:
        known = {name: name for name in table.columns}
        raise APIUsageError(f"there is no column {color!r}; {did_you_mean(color, known)}")
    column = table.columns[color]
    if column.labels is not None:
        codes = np.minimum(column.values, len(CATEGORIES)).astype(np.uint8)
        return np.where(column.valid, codes, len(CATEGORIES)).astype(np.uint8), [
            *CATEGORIES,
            OTHER,
        ]
    place = _place(column)
    low, high, _ = core.extent(place)
    bins = np.empty(table.rows, np.uint8)
    core.load().bins(place, table.rows, low, high, bins)
    steps = np.linspace(0, len(VIRIDIS) - 1, core.BINS)
    return bins, [*(_mix(step) for step in steps), OTHER]


def _mix(step: float) -> str:
    k = min(int(step), len(VIRIDIS) - 2)
    ends = [[int(VIRIDIS[j][c : c + 2], 16) for c in (1, 3, 5)] for j in (k, k + 1)]
    mixed = [round(a + (b - a) * (step - k)) for a, b in zip(*ends, strict=True)]
    return "#" + "".join(f"{v:02x}" for v in mixed)


def _points(
    places: list[Array], mapping: Array, codes: Array, palette: list[str], width: int, height: int
) -> Array:
    native = core.load()
    rows = len(codes)
    size = next(s for most, s in ((300, 17), (3000, 12), (20000, 8), (1 << 32, 5)) if rows <= most)
    stamp = np.empty(size * size, np.uint8)
    native.stamp(0, size, stamp)
    colors = np.array([_pixel(name) for name in palette], np.uint32)
    pixels = np.full(width * height, _pixel(GROUND), np.uint32)
    native.points(
        *places, rows, 1, mapping, None, codes, colors, None, stamp,
        np.array([size], np.uint8), size, 215 if rows <= 20000 else 255, pixels, width, height,
    )  # fmt: skip
    return pixels.astype("<u4").view(np.uint8).reshape(height, width, 4)


def _pixel(name: str) -> int:
    red, green, blue = (int(name[c : c + 2], 16) for c in (1, 3, 5))
    return 255 << 24 | blue << 16 | green << 8 | red


def _axis(
    pen: ImageDraw.ImageDraw,
    axis: int,
    name: str,
    column: Column,
    low: float,
    span: float,
    mapping: tuple[float, float, float, float],
) -> None:
    left, top, right, bottom = MARGIN
    font, title = _font(22), _font(25)
    log = column.meta.get("scale") == "log"
    base = column.meta.get("base", 0.0)
    for place, label in _ticks(low + base, low + base + span, log):
        at = (place - base) * mapping[2 * axis] + mapping[2 * axis + 1]
        if axis == 0:
            pen.line((left + at, top, left + at, SIZE[1] - bottom), LINE, 1)
            pen.text((left + at, SIZE[1] - bottom + 12), label, MUTED, font, "mt")
        else:
            pen.line((left, top + at, SIZE[0] - right, top + at), LINE, 1)
            pen.text((left - 14, top + at), label, MUTED, font, "rm")
    if axis == 0:
        pen.text(((left + SIZE[0] - right) / 2, SIZE[1] - 22), name, INK, title, "ms")
    else:
        pen.text((left, 12), name, INK, title, "lt")


def _font(size: int) -> Any:
    return ImageFont.load_default(size)


def _ticks(low: float, high: float, log: bool) -> list[tuple[float, str]]:
    if log and high - low >= 1:
        step = max(1, math.ceil((high - low) / 8))
        powers = [p for p in range(math.ceil(low), math.floor(high) + 1) if p % step == 0]
        return [(float(p), f"{10.0**p:g}") for p in powers]
    if log:
        return [(math.log10(v), f"{v:g}") for v in _nice(10**low, 10**high) if v > 0]
    return [(v, f"{v:,.10g}") for v in _nice(low, high)]


def _nice(low: float, high: float) -> list[float]:
    """About eight round numbers, 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * 0.999)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _front(
    pen: ImageDraw.ImageDraw,
    places: list[Array],
    rows: Array,
    mapping: tuple[float, float, float, float],
) -> None:
    left, top = MARGIN[:2]
    sx, ox, sy, oy = mapping
    corners: list[tuple[float, float]] = []
    for row in rows:
        px, py = places[0][row] * sx + ox + left, places[1][row] * sy + oy + top
        if math.isfinite(px) and math.isfinite(py):
            corners += [(px, corners[-1][1]), (px, py)] if corners else [(px, py)]
    if len(corners) > 1:
        pen.line(corners, INK, 2)
