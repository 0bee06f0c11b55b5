"""What the page draws: float32 columns of rows, and the curves of runs beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from puffer_cli.constellation import core, projection
from puffer_cli.constellation.columns import Array, Column, Table, pack
from puffer_cli.constellation.index import INFO, RESULT, RUN, SETTING, SOURCE, Index
from puffer_core.errors import APIUsageError

Rows = Literal["runs", "points"]
EXACT = 2**24  # whole numbers up to here are exact in float32

# The columns that a view begins with: the first that exists.
COST = ("cost", "uptime", "seconds", "_runtime", "runtime", "agent_steps", "steps", "step", "_step")
SCORE = ("score", "perf", "episode_return", "return", "reward", "accuracy", "fitness", "loss")
STEPS = ("agent_steps", "uptime", "epoch", "step", "_step", "Step", "steps")
SEED = re.compile(r"(^|[._/])seed$")


@dataclass
class Dataset:
    """A version of the data.

    Attributes:
        data: the file of `columns.pack` with the table `rows`, and a header that describes the
            curves: points of run r stand from start[r] to start[r + 1] of each of `curves`.
        curves: float32 bytes of each column of the curves.
        rows: how many rows.
        version: of the index.
    """

    data: bytes
    curves: list[bytes]
    rows: int
    version: int


def build(
    index: Index,
    rows: Rows = "runs",
    projection_kind: projection.Kind = "pca",
    curve_bytes: int | None = None,
    live: bool = False,
) -> Dataset:
    """Make the data of the page from an index.

    Args:
        index: what was read.
        rows: a row for each run, or for each point of its log with the run's settings.
        projection_kind: of the settings to two dimensions; see `projection.project`.
        curve_bytes: leave out the curves of what does not fit, the main ones last; None: keep all.
        live: the page is to listen for changes.

    Raises:
        APIUsageError: there are no points, or the projection is impossible.
    """
    of = _runs_of_points(index)
    order = np.argsort(of, kind="stable")
    table, curve_of = _rows(index, rows, of, order)
    if projection_kind != "none":
        for name, values in projection.project(table, projection_kind).items():
            column = Column(values, np.isfinite(values), meta={"group": "projection"})
            table.columns[name] = column
    _describe(table)
    start = np.searchsorted(of[order], np.arange(index.runs.rows + 1)).astype(np.uint32)
    curves, described, dropped = _curves(index, order, curve_bytes)
    header: dict[str, Any] = {
        "version": index.version,
        "live": live,
        "unit": "point" if rows == "points" else "run",
        "cost": _first(table, COST),
        "score": _first(table, SCORE),
        "skipped": list(index.left_out().items())[:1000],
        "skipped_count": len(index.left_out()),
        "curves": described,
        "curves_dropped": dropped,
        "points": len(order) if described else 0,
    }
    tables = {"rows": table, "start": _single(start)}
    if rows == "points":
        tables["curve"] = _single(curve_of)
    return Dataset(pack(tables, header), curves, table.rows, index.version)


def _single(values: Array) -> Table:
    """A table of one column, that the page reads as whole numbers."""
    table = Table()
    table.rows = len(values)
    table.columns["value"] = Column(values.astype(np.uint32), np.ones(len(values), bool))
    return table


def _runs_of_points(index: Index) -> npt.NDArray[np.int64]:
    if RUN not in index.points.columns:
        return np.zeros(0, np.int64)
    return index.points.numbers(RUN).astype(np.int64)


def _rows(index: Index, rows: Rows, of: Array, order: Array) -> tuple[Table, npt.NDArray[np.int64]]:
    """The rows of the page, and the run of each."""
    runs, points = index.runs, index.points
    table = Table()
    if rows == "points":
        if not len(of):
            raise APIUsageError("there are no logs, so there are no points: use --rows runs.")
        table.rows, curve_of = len(order), of[order]
        sources = [(n, c, curve_of) for n, c in runs.columns.items() if n not in points.columns]
        sources += [(n, c, order) for n, c in points.columns.items() if n != RUN]
    else:
        table.rows, curve_of = runs.rows, np.arange(runs.rows)
        sources = [(n, c, curve_of) for n, c in runs.columns.items()]
    rank = {INFO: 0, RESULT: 1, SETTING: 2}
    groups = {n: runs.columns[n].meta.get("group", RESULT) if n in runs.columns else RESULT
              for n, _, _ in sources}  # fmt: skip
    for name, column, chosen in sorted(sources, key=lambda s: rank[groups[s[0]]]):
        if name == SOURCE:
            continue
        found = column.take(_within(column, chosen))
        found.meta = {"group": groups[name]}
        if found.valid.any():
            table.columns[name] = found
    if rows == "runs" and points.rows:
        table.columns["not finite"] = _count_not_finite(index, of)
    return table, curve_of


def _within(column: Column, rows: Array) -> Array:
    """Rows of a column that may be shorter than its table: what came later has no value."""
    size = len(column.valid)
    if len(rows) and rows.max() >= size:
        grown = int(rows.max()) + 1
        column.values = np.concatenate([column.values, np.zeros(grown - size, column.values.dtype)])
        column.valid = np.concatenate([column.valid, np.zeros(grown - size, bool)])
    return rows


def _count_not_finite(index: Index, of: Array) -> Column:
    """How many values of each run's log are not finite numbers."""
    points, counts = index.points, np.zeros(index.runs.rows)
    for name, column in points.columns.items():
        size = min(points.rows, len(column.valid))
        if name != RUN and column.labels is None:
            bad = column.valid[:size] & ~np.isfinite(column.values[:size])
            counts += np.bincount(of[:size][bad], minlength=index.runs.rows)
    return Column(counts, np.ones(len(counts), bool), meta={"group": RESULT})


def _describe(table: Table) -> None:
    """Narrow the numbers to float32, and note what the page begins with."""
    for name, column in table.columns.items():
        if column.labels is not None:
            used, codes = np.unique(column.values[column.valid], return_inverse=True)
            labels = [column.labels[int(code)] for code in used]
            values = np.zeros(len(column.values), np.uint32)
            values[column.valid] = codes
            column.values, column.labels, column.codes = values, labels, {}
            column.meta["constant"] = len(labels) == 1 and bool(column.valid.all())
            continue
        finite = column.values[column.valid & np.isfinite(column.values)]
        base = 0.0
        whole = len(finite) > 0 and bool((finite == np.floor(finite)).all())
        if whole and np.abs(finite).max() > EXACT and np.ptp(finite) <= EXACT:
            base = float(finite.min())
        with np.errstate(over="ignore"):  # beyond float32: infinite, and drawn as missing
            column.values = (column.values - base).astype(np.float32)
        low, high, count = core.extent(column.values)
        column.meta |= {
            "base": base,
            "whole": whole,
            "constant": count == table.rows and low == high,
            "scale": _scale(finite, column.meta["group"]) if base == 0 else "linear",
        }
        if SEED.search(name):
            column.meta["seed"] = True


def _scale(finite: Array, group: str) -> str:
    """Logarithmic where all values are positive and most spread over a large factor."""
    if len(finite) < 2 or finite.min() <= 0:
        return "linear"
    low, high = np.quantile(finite, [0.02, 0.98])
    return "log" if high > (30 if group == SETTING else 100) * low else "linear"


def _first(table: Table, names: tuple[str, ...]) -> str | None:
    """The first number that has one of these names, after any prefix and not constant before."""
    numbers = [name for name, column in table.columns.items() if column.labels is None]
    last = {name: re.split(r"[/.]", name)[-1] for name in numbers}
    found = [name for want in names for name in numbers if want in (name, last[name])]
    found.sort(key=lambda name: bool(table.columns[name].meta.get("constant")))
    return found[0] if found else None


def _curves(
    index: Index, order: Array, limit: int | None
) -> tuple[list[bytes], list[dict[str, Any]], int]:
    """Bytes and names of the curves, and how many did not fit."""
    if not len(order):
        return [], [], 0
    names = [n for n, c in index.points.columns.items() if n != RUN and c.labels is None]
    first = [*STEPS, *SCORE]

    def rank(name: str) -> int:
        last = re.split(r"[/.]", name)[-1]
        return first.index(last) if last in first else len(first)

    names.sort(key=rank)
    most = len(names) if limit is None else limit // max(4 * len(order), 1)
    kept = names[:most]
    curves, described = [], []
    for name in kept:
        column = index.points.columns[name]
        chosen = column.take(_within(column, order))
        values = np.where(chosen.valid, chosen.values, np.nan)
        with np.errstate(over="ignore"):
            curves.append(values.astype("<f4").tobytes())
        described.append({"name": name})
    return curves, described, len(names) - len(kept)
