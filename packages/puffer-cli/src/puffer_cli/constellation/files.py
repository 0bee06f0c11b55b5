"""Read files of results: tables, and the logs that PufferLib and Weights & Biases write.

Each reader gives records, one a row of the view: flat settings and results; and the curves that a
record brings, if any.
"""

from __future__ import annotations

import configparser
import csv
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from puffer_cli.constellation.columns import flatten
from puffer_cli.constellation.sources import read_bytes

MAX_FILE = 2 << 30  # bytes; a file that is read whole


@dataclass
class Record:
    """A row: a run, a trial, a line of a table.

    Attributes:
        name: for people; empty if the file has none.
        settings: what was chosen.
        results: what came out.
        curve: points over time, each a flat record.
    """

    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, Any]] = field(default_factory=list)


class UnreadableError(ValueError):
    """The file is not what its name says; the message says why."""


def read_file(kind: str, path: str) -> Iterator[Record]:
    """The records of a file of a kind of `sources.KINDS`, but for JSON lines.

    Raises:
        UnreadableError: it is broken, or needs a package that is not installed.
        OSError: it cannot be read.
    """
    if os.path.getsize(path) > MAX_FILE:
        raise UnreadableError("larger than 2 GiB; write it as JSON lines")
    if os.path.getsize(path) == 0:
        raise UnreadableError("empty")
    if kind == "parquet":
        return _parquet(path)
    if kind == "study":
        from puffer_cli.constellation.study import read_study

        return read_study(path)
    raw = read_bytes(path)
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    readers = {"csv": _csv, "json": _json, "ini": _ini}
    return readers[kind](content, path)


def scalar(word: str) -> Any:
    """A word as the number, truth value or string it spells; None for an empty one."""
    word = word.strip()
    if not word or word.lower() in ("none", "null"):
        return None
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        number = float(word)
    except ValueError:
        return word.strip("'\"") if len(word) > 1 and word[0] in "'\"" else word
    plain = re.fullmatch(r"[-+]?\d{1,15}", word)
    return int(word) if plain else number


def _csv(content: str, path: str) -> Iterator[Record]:
    first = content.split("\n", 1)[0]
    mark = max(",\t;", key=first.count)
    csv.field_size_limit(1 << 24)
    try:
        rows = list(csv.reader(io.StringIO(content, newline=""), delimiter=mark))
    except csv.Error as error:
        raise UnreadableError(f"not a table: {error}") from None
    head = [name.strip() or f"column {k + 1}" for k, name in enumerate(rows[0] if rows else [])]
    if not head or len(rows) < 2:
        raise UnreadableError("a table without rows")
    body = [row for row in rows[1:] if row]
    if _wandb_curves(head):
        yield from _wandb(head, body)
        return
    name = next((k for k, title in enumerate(head) if title.lower() in NAMES), None)
    for row in body:
        values = {title: scalar(word) for title, word in zip(head, row, strict=False)}
        label = "" if name is None or name >= len(row) else row[name]
        if name is not None:
            values.pop(head[name], None)
        yield Record(label, results={k: v for k, v in values.items() if v is not None})


NAMES = ("name", "run", "run_id", "run id", "trial", "id", "uid")


def _wandb_curves(head: list[str]) -> bool:
    """Whether this is the export of a chart: a step, then "run - metric" for each run."""
    rest = [title for title in head[1:] if not title.endswith(("__MIN", "__MAX"))]
    return bool(rest) and all(" - " in title for title in rest)


def _wandb(head: list[str], body: list[list[str]]) -> Iterator[Record]:
    records: dict[str, Record] = {}
    for k, title in enumerate(head[1:], 1):
        if title.endswith(("__MIN", "__MAX")):
            continue
        run, _, metric = title.rpartition(" - ")
        record = records.setdefault(run, Record(run))
        for row in body:
            value = scalar(row[k]) if k < len(row) else None
            if isinstance(value, (int, float)):
                record.curve.append({head[0]: scalar(row[0]), metric: value})
                record.results[metric] = value
    yield from records.values()


def _json(content: str, path: str) -> Iterator[Record]:
    try:
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not JSON: {error}") from None
    for item in document if isinstance(document, list) else [document]:
        if not isinstance(item, dict):
            raise UnreadableError("expected an object, or a list of objects")
        yield _document(item, _stem(path) if item is document else "")


def _document(item: dict[str, Any], name: str) -> Record:
    """A JSON document of one run: settings, and metrics as numbers or as lists over time."""
    flat = flatten(item)
    curves, rest = {}, {}
    for key, value in flat.items():
        if isinstance(value, list) and len(value) > 1 and all(_is_number(v) for v in value):
            curves[key.removeprefix("metrics.")] = value
        else:
            rest[key] = value
    for title in NAMES:
        if isinstance(rest.get(title), str):
            name = name or rest.pop(title)
    return _with_curves(name, rest, curves)


def _ini(content: str, path: str) -> Iterator[Record]:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(content if content.lstrip().startswith("[") else f"[base]\n{content}")
    except configparser.Error as error:
        raise UnreadableError(f"not an ini file: {error.message.splitlines()[0]}") from None
    settings: dict[str, Any] = {}
    curves: dict[str, list[Any]] = {}
    for section in parser.sections():
        for key, word in parser.items(section):
            parts = [scalar(part) for part in (word or "").strip("[] ").split(",")]
            full = key if section in ("metrics", "base") else f"{section}.{key}"
            if len(parts) > 1 and all(_is_number(part) for part in parts):
                curves[full] = parts
            elif word is not None:
                settings[full] = scalar(word)
    if not settings and not curves:
        raise UnreadableError("no keys")
    yield _with_curves(_stem(path), settings, curves)


def _with_curves(name: str, settings: dict[str, Any], curves: dict[str, list[Any]]) -> Record:
    """A record of lists over time; only lists as long as the longest are one curve."""
    longest = max(map(len, curves.values()), default=0)
    points: list[dict[str, Any]] = [{} for _ in range(longest)]
    for key, values in curves.items():
        if len(values) == longest:
            for point, value in zip(points, values, strict=True):
                point[key] = value
        else:
            settings[key] = values
    return Record(name, settings, dict(points[-1]) if points else {}, points)


def _parquet(path: str) -> Iterator[Record]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UnreadableError("Parquet needs pyarrow: pip install 'puffer-cli[parquet]'") from None
    try:
        table = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableError(f"not Parquet: {str(error).splitlines()[0]}") from None
    for row in table:
        label = next((row.pop(k) for k in list(row) if k.lower() in NAMES), None)
        known = {key: value for key, value in flatten(row).items() if value is not None}
        yield Record("" if label is None else str(label), results=known)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
