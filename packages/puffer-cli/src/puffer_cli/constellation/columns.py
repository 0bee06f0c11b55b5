"""Columns of numbers and categories, and the file that holds them raw.

The file is what the page reads without parsing, and what the index is cached in:

    8 bytes     magic, "PUFSTAR1"
    8 bytes     length of the header, little-endian
    header      JSON, padded with spaces to a multiple of 8
    arrays      little-endian, each at a multiple of 8 from the start of the first

Each column of the header names its arrays: `dtype` and `at` (offset) of the values, `valid` (offset
of one bit a row, least significant first; null if every row has a value). Numbers are f4 or f8, to
which `base` is added; categories are codes (u1, u2, u4) into `labels`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

MAGIC = b"PUFSTAR1"
MAX_COLUMNS = 2000
MAX_LABEL = 500  # characters

Array = npt.NDArray[Any]


@dataclass
class Column:
    """One column.

    Attributes:
        values: float64 or float32 numbers, or codes of categories; one entry a row, or more.
        valid: whether the row has a value. A number that is there may still be NaN.
        labels: of the codes; None for numbers.
        meta: what else the page is told: group, unit and the like.
    """

    values: Array
    valid: npt.NDArray[np.bool_]
    labels: list[str] | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict, repr=False)

    def take(self, rows: Array) -> Column:
        """The column of some rows."""
        return Column(self.values[rows], self.valid[rows], self.labels, self.meta, self.codes)

    def to_category(self) -> None:
        """Make a category of a column of numbers, because a word came."""
        numbers, self.labels = self.values, []
        self.values = np.zeros(len(numbers), np.uint32)
        rows = np.flatnonzero(self.valid)
        self.values[rows] = self.encode([text(float(numbers[row])) for row in rows])

    def encode(self, texts: Iterable[str]) -> list[int]:
        """Codes of labels; new ones are added."""
        assert self.labels is not None
        if len(self.codes) != len(self.labels):
            self.codes = {label: code for code, label in enumerate(self.labels)}
        found = []
        for label in texts:
            code = self.codes.get(label)
            if code is None:
                code = self.codes[label] = len(self.labels)
                self.labels.append(label)
            found.append(code)
        return found


class Table:
    """Rows that grow at the end, of columns that appear as rows bring them."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: dict[str, Column] = {}
        self.dropped: set[str] = set()

    def append(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Add one row a record."""
        self.rows += len(records)
        self.put(np.arange(self.rows - len(records), self.rows), records)

    def put(self, rows: Array, records: Sequence[Mapping[str, Any]]) -> None:
        """Write records over some rows; what a record does not name stays.

        Numbers go to columns of numbers, words and truth values to categories; null is a number
        that is not known. What is neither is written as JSON.
        """
        names = dict.fromkeys(records[0] if records else ())
        whole = all(record.keys() == names.keys() for record in records)
        if whole and len(names) > 1 and self._put_numbers(rows, list(names), records):
            return
        for record in records:
            names.update(dict.fromkeys(record))
        for name in names:
            column = self._column(name)
            if column is None:
                continue
            if whole:
                at, values = rows, [record[name] for record in records]
            else:
                has = [name in record for record in records]
                at, values = rows[has], [record[name] for record in records if name in record]
            _write(column, at, values)

    def _put_numbers(
        self, rows: Array, names: list[str], records: Sequence[Mapping[str, Any]]
    ) -> bool:
        """The fast case of `put`: records with the same names and nothing but numbers."""
        matrix = list(map(itemgetter(*names), records))
        if not set(map(type, chain.from_iterable(matrix))) <= {int, float, type(None)}:
            return False
        columns = [self._column(name) for name in names]
        if any(column is None or column.labels is not None for column in columns):
            return False
        try:
            numbers = np.array(matrix, np.float64)
        except OverflowError:
            return False
        for column, values in zip(columns, numbers.T, strict=True):
            assert column is not None
            column.values[rows] = values
            column.valid[rows] = True
        return True

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Drop the other rows."""
        for name, column in self.columns.items():
            self.columns[name] = column.take(np.flatnonzero(rows))
        self.rows = int(rows.sum())

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The values of a column of numbers, NaN where there is none."""
        column = self.columns[name]
        return np.where(column.valid[: self.rows], column.values[: self.rows], math.nan)

    def _column(self, name: str) -> Column | None:
        """The column of this name, with room for all rows; None if there are too many."""
        column = self.columns.get(name)
        if column is None:
            if len(self.columns) >= MAX_COLUMNS:
                self.dropped.add(name)
                return None
            column = self.columns[name] = Column(np.full(self.rows, math.nan), np.zeros(0, bool))
        room = len(column.valid)
        if room < self.rows:
            new = max(self.rows, 2 * room)
            values = np.zeros(new, column.values.dtype)
            if column.labels is None:
                values[room:] = math.nan
            values[:room] = column.values[:room]
            column.values = values
            column.valid = np.concatenate([column.valid, np.zeros(new - room, bool)])
        return column


def _write(column: Column, rows: Array, values: list[Any]) -> None:
    kinds = set(map(type, values)) - {type(None)}
    fresh = not column.valid.any() and column.labels is None
    if kinds <= {int, float} and column.labels is None:
        try:
            column.values[rows] = np.array(values, np.float64)
            column.valid[rows] = True
            return
        except OverflowError:  # an integer beyond the floats
            pass
    if column.labels is None:
        if fresh:
            column.labels, column.values = [], np.zeros(len(column.values), np.uint32)
        else:
            column.to_category()
    known = [value is not None for value in values]
    column.values[rows[known]] = column.encode(text(v) for v in values if v is not None)
    column.valid[rows] = known


def text(value: Any) -> str:
    """A value as a label."""
    if isinstance(value, str):
        out = value
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        out = str(int(value))
    else:
        out = json.dumps(value, ensure_ascii=False, default=str)
    # half of a surrogate pair is no text that a file could hold
    return out[:MAX_LABEL].encode("utf-8", "replace").decode()


def flatten(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested objects as one, with dotted names; what lies deeper than eight is left whole."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping) and value and depth < 8:
            flat.update(flatten(value, f"{prefix}{name}.", depth + 1))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def pack(tables: Mapping[str, Table], header: Mapping[str, Any]) -> bytes:
    """The bytes of a file with these tables; `header` is kept beside them."""
    arrays: list[bytes] = []
    end = 0

    def place(array: Array) -> int:
        nonlocal end
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        raw += bytes(-len(raw) % 8)
        arrays.append(raw)
        end += len(raw)
        return end - len(raw)

    described: dict[str, Any] = {}
    for name, table in tables.items():
        columns = []
        for title, column in table.columns.items():
            values, valid = column.values[: table.rows], column.valid[: table.rows]
            if column.labels is not None:
                values = values.astype(_code_type(len(column.labels)))
            columns.append(
                {
                    **column.meta,
                    "name": title,
                    "kind": "number" if column.labels is None else "category",
                    "dtype": values.dtype.str[1:],
                    "at": place(values),
                    "valid": None if valid.all() else place(np.packbits(valid, bitorder="little")),
                    "labels": column.labels,
                }
            )
        described[name] = {"rows": table.rows, "columns": columns}
    head = orjson.dumps({**header, "tables": described})
    head += b" " * (-len(head) % 8)
    return b"".join([MAGIC, len(head).to_bytes(8, "little"), head, *arrays])


def _code_type(labels: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if labels <= 256 else np.uint16 if labels <= 65536 else np.uint32


def unpack(raw: bytes) -> tuple[dict[str, Table], dict[str, Any]]:
    """Tables and header of a file.

    Raises:
        ValueError: not such a file, or torn.
    """
    if raw[:8] != MAGIC:
        raise ValueError("not a file of columns: it does not begin with PUFSTAR1.")
    start = 16 + int.from_bytes(raw[8:16], "little")
    header: dict[str, Any] = orjson.loads(raw[16:start])
    tables = {}
    for name, described in header.pop("tables").items():
        table = tables[name] = Table()
        table.rows = n = described["rows"]
        for column in described["columns"]:
            dtype = np.dtype(f"<{column.pop('dtype')}")
            at, bits = start + column.pop("at"), column.pop("valid")
            values = np.frombuffer(raw, dtype, n, at)
            valid = np.ones(n, bool)
            if bits is not None:
                packed = np.frombuffer(raw, np.uint8, -(-n // 8), start + bits)
                valid = np.unpackbits(packed, count=n, bitorder="little").astype(bool)
            labels = column.pop("labels")
            wide = np.float64 if labels is None else np.uint32
            title = column.pop("name")
            del column["kind"]
            table.columns[title] = Column(values.astype(wide), valid, labels, column)
    return tables, header


def write_whole(path: Path, raw: bytes) -> None:
    """Write a file so that `path` holds all of it or what it held before."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(raw)
    os.replace(scratch, path)
