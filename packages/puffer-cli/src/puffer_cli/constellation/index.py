"""The index: everything that was read below some folders, kept up to date and cached.

Two tables: `runs`, one row for each run, trial or line of a table, and `points`, one for each line
of a log. A refresh reads what has been appended since, and anew what was replaced.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from puffer_cli.constellation.columns import Table, flatten, pack, unpack, write_whole
from puffer_cli.constellation.files import Record, UnreadableError, read_file
from puffer_cli.constellation.lines import Tail
from puffer_cli.constellation.sources import Source, Stamp, read_bytes, scan

VERSION = 1
BATCH = 1_000  # records that are written to the tables at once
RUN, SOURCE = "#run", "#source"  # of a point: row of its run; of a run: number of its source
NAME, PATH = "run", "path"
INFO, SETTING, RESULT = "info", "setting", "result"  # the groups of columns


@dataclass
class Pending:
    """Rows that were read and not yet written to the tables.

    Attributes:
        info, settings: of new runs.
        results: by row, of new runs and others.
        rows, points: of the lines of logs.
    """

    info: list[dict[str, Any]] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class State:
    """How far a source was read."""

    number: int
    source: Source
    tail: Tail = field(default_factory=Tail)


class Index:
    """What can be read below `roots`.

    Attributes:
        runs, points: the tables.
        version: grows whenever the tables change.
    """

    def __init__(self, roots: Sequence[str | Path], cache: Path | None = None) -> None:
        """Start from the cache, if there is one; `refresh` then reads.

        Args:
            roots: folders or files.
            cache: file to start from and to save to; None: no cache.
        """
        self.roots = [os.path.realpath(root) for root in roots]
        self.cache = cache
        self.version = 0
        self._clear()
        if cache is not None:
            self._load(cache)

    def _clear(self) -> None:
        self.runs, self.points = Table(), Table()
        self.states: dict[str, State] = {}
        self.skipped: dict[str, str] = {}  # of sources that were read
        self._left_out: dict[str, str] = {}  # of what was not, at the last refresh
        self._numbers = 0
        self._row_of: dict[int, int] | None = None
        self._pending = Pending()

    def left_out(self) -> dict[str, str]:
        """The reason for each file, or part of one, that was not read."""
        return dict(sorted({**self._left_out, **self.skipped}.items()))

    def refresh(self) -> bool:
        """Read what is new; True if anything changed.

        Raises:
            APIUsageError: a root does not exist.
        """
        skipped: dict[str, str] = {}
        found = {source.path: source for source in scan(self.roots, skipped)}
        changed = [s for s in found.values() if not self._same(s)]
        gone = [path for path in self.states if path not in found]
        replaced = [s.path for s in changed if s.path in self.states and not self._grown(s)]
        self._remove([self.states.pop(path) for path in gone + replaced])
        for source in changed:
            self._read(source)
        self._flush()
        for table in (self.runs, self.points):
            for name in table.dropped:
                skipped[f"column {name}"] = "too many columns"
        update = bool(changed or gone) or skipped != self._left_out
        self._left_out = skipped
        self.version += update
        return update

    def save(self) -> None:
        """Write the cache; where that is impossible, reading takes longer the next time."""
        if self.cache is None:
            return
        states = [
            {
                "number": state.number,
                "kind": state.source.kind,
                "path": os.fsencode(path).hex(),
                "stamps": [stamp and list(stamp) for stamp in state.source.stamps],
                "tail": [state.tail.offset, state.tail.broken, state.tail.example],
            }
            for path, state in self.states.items()
        ]
        header = {"version": VERSION, "states": states, "numbers": self._numbers}
        header["skipped"] = [[os.fsencode(p).hex(), why] for p, why in self.skipped.items()]
        try:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.cache, pack({"runs": self.runs, "points": self.points}, header))
        except OSError:
            pass

    def _load(self, cache: Path) -> None:
        try:
            tables, header = unpack(cache.read_bytes())
            if header["version"] != VERSION:
                return
            self.runs, self.points = tables["runs"], tables["points"]
            for entry in header["states"]:
                path = os.fsdecode(bytes.fromhex(entry["path"]))
                stamps = tuple(Stamp(*stamp) if stamp else None for stamp in entry["stamps"])
                source = Source(entry["kind"], path, stamps)
                self.states[path] = State(entry["number"], source, Tail(*entry["tail"]))
            self._numbers = header["numbers"]
            self.skipped = {os.fsdecode(bytes.fromhex(p)): why for p, why in header["skipped"]}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError):  # torn, or of another version
            self._clear()

    def _same(self, source: Source) -> bool:
        state = self.states.get(source.path)
        return state is not None and state.source == source

    def _grown(self, source: Source) -> bool:
        """Whether the file at the end of the stamps is the one that was read, with more in it."""
        old, new = self.states[source.path].source, source
        if source.kind not in ("run", "lines") or old.kind != new.kind:
            return False
        was, now = old.stamps[-1], new.stamps[-1]
        if was is None:
            return True
        return now is not None and now.inode == was.inode and now.size >= was.size

    def _remove(self, states: Sequence[State]) -> None:
        self._row_of = None
        numbers = [state.number for state in states]
        if not numbers:
            return
        for state in states:
            for name in ("", "/config.json"):
                self.skipped.pop(state.source.path + name, None)
        if SOURCE not in self.runs.columns:
            return
        keep = ~np.isin(self.runs.numbers(SOURCE), numbers)
        if RUN in self.points.columns:
            of = self.points.numbers(RUN).astype(int)
            self.points.keep(keep[of])
            renamed = np.cumsum(keep) - 1
            column = self.points.columns[RUN]
            column.values = renamed[column.values.astype(int)].astype(float)
        self.runs.keep(keep)

    def _read(self, source: Source) -> None:
        state = self.states.get(source.path)
        if state is None:
            self._numbers += 1
            state = self.states[source.path] = State(self._numbers, Source("", "", (None,)))
        old, state.source = state.source, source
        try:
            if source.kind == "run":
                self._read_run(state, new_config=old.stamps[0] != source.stamps[0])
            elif source.kind == "lines":
                stem = os.path.splitext(os.path.basename(source.path))[0]
                for records in state.tail.read(source.path):
                    for record in records:
                        self._add(state, {PATH: stem}, {}, record)
                self._note_broken(state)
            else:
                for found in read_file(source.kind, source.path):
                    self._add_record(state, found)
        except (UnreadableError, OSError) as error:
            self.skipped[source.path] = getattr(error, "strerror", None) or str(error)

    def _read_run(self, state: State, new_config: bool) -> None:
        """A run folder; design 4.6."""
        folder, stamps = state.source.path, state.source.stamps
        row = self._rows().get(state.number)
        if row is None or new_config:
            info, settings = self._config(folder)
            if row is None:
                row = self._add(state, info, settings, {})
            else:
                self._flush()
                self._put([row], [settings], SETTING)
        if stamps[1] is not None:
            for records in state.tail.read(os.path.join(folder, "log.jsonl")):
                self._add_points(row, records)
            self._note_broken(state)

    def _config(self, folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a run folder's `config.json` says of the run, and its settings."""
        info = {NAME: os.path.basename(folder), "env": os.path.basename(os.path.dirname(folder))}
        path = os.path.join(folder, "config.json")
        try:
            document = orjson.loads(read_bytes(path))
            settings = {
                key: value["value"] if isinstance(value, dict) and "value" in value else value
                for key, value in document["config"].items()
            }
            if isinstance(document.get("env"), str):
                info["env"] = document["env"]
            if isinstance(document.get("started"), str):
                info["started"] = document["started"]
            return info, flatten(settings)
        except FileNotFoundError:
            self.skipped[path] = "missing; the run has no settings"
        except OSError as error:
            self.skipped[path] = error.strerror or str(error)
        except (ValueError, LookupError, TypeError, AttributeError):
            self.skipped[path] = "not the configuration of a run; the run has no settings"
        return info, {}

    def _note_broken(self, state: State) -> None:
        tail = state.tail
        if tail.broken:
            lines = "line is" if tail.broken == 1 else "lines are"
            why = f"{tail.broken} {lines} no JSON object: {tail.example!r}"
            self.skipped[state.source.path] = why

    # Rows wait in `_pending` until there are many: a table writes thousands at once.

    def _add_record(self, state: State, record: Record) -> None:
        stem = os.path.splitext(os.path.basename(state.source.path))[0]
        info = {PATH: stem, **({NAME: record.name} if record.name else {})}
        row = self._add(state, info, record.settings, {})
        self._add_points(row, record.curve)
        self._pending.results.setdefault(row, {}).update(record.results)

    def _add(
        self,
        state: State,
        info: dict[str, Any],
        settings: dict[str, Any],
        results: dict[str, Any],
    ) -> int:
        if len(self._pending.info) >= BATCH:
            self._flush()
        row = self.runs.rows + len(self._pending.info)
        self._rows()[state.number] = row
        self._pending.info.append({SOURCE: state.number, **info})
        self._pending.settings.append(settings)
        self._pending.results[row] = dict(results)
        return row

    def _add_points(self, row: int, records: list[dict[str, Any]]) -> None:
        last = self._pending.results.setdefault(row, {})
        for record in records:
            last.update(record)
        self._pending.rows.extend([row] * len(records))
        self._pending.points.extend(records)
        if len(self._pending.points) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        waiting, self._pending = self._pending, Pending()
        first = self.runs.rows
        if waiting.info:
            self.runs.append(waiting.info)
            self._group(waiting.info, INFO)
            self._put(np.arange(first, self.runs.rows), waiting.settings, SETTING)
        if waiting.results:
            self._put(np.array(list(waiting.results)), list(waiting.results.values()), RESULT)
        if waiting.points:
            before = self.points.rows
            self.points.append(waiting.points)
            rows = np.arange(before, self.points.rows)
            self.points.put(rows, [{RUN: row} for row in waiting.rows])

    def _put(self, rows: Any, records: Sequence[Mapping[str, Any]], group: str) -> None:
        self.runs.put(np.asarray(rows), records)
        self._group(records, group)

    def _group(self, records: Sequence[Mapping[str, Any]], group: str) -> None:
        for name in {name for record in records for name in record}:
            if name in self.runs.columns:
                self.runs.columns[name].meta.setdefault("group", group)

    def _rows(self) -> dict[int, int]:
        """The row of the run (the last one) of each source, by its number."""
        if self._row_of is None:
            known = SOURCE in self.runs.columns
            numbers = self.runs.numbers(SOURCE).astype(int).tolist() if known else []
            self._row_of = {source: row for row, source in enumerate(numbers)}
        return self._row_of


def cache_path(roots: Sequence[str | Path]) -> Path:
    """Where the index of these folders is cached: below `$XDG_CACHE_HOME` or `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    names = "\0".join(os.path.realpath(root) for root in roots)
    digest = hashlib.sha256(os.fsencode(names)).hexdigest()[:20]
    return Path(home) / "puffer" / "constellation" / f"{digest}.bin"
