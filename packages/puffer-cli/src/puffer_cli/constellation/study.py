"""Read studies of Protein: SQLite files with the tables of `puffer_protein.study`."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from puffer_cli.constellation.columns import flatten
from puffer_cli.constellation.files import Record, UnreadableError


def read_study(path: str) -> Iterator[Record]:
    """A record for each trial: its values as settings; state, score and cost; its curve.

    The file is opened for reading only, so a sweep that is running is not disturbed.

    Raises:
        UnreadableError: not a study.
    """
    try:
        database = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5)
        try:
            database.row_factory = sqlite3.Row
            trials = database.execute("SELECT * FROM trial ORDER BY id").fetchall()
            curves = defaultdict(list)
            for point in database.execute("SELECT * FROM point ORDER BY trial, position"):
                names = [name for name in point.keys() if name not in ("trial", "position")]  # noqa: SIM118
                curves[point["trial"]].append({name: point[name] for name in names})
        finally:
            database.close()
        return iter([_record(trial, curves[trial["id"]]) for trial in trials])
    except (sqlite3.Error, ValueError, LookupError) as error:
        raise UnreadableError(f"not a study: {error}") from None


def _record(trial: sqlite3.Row, curve: list[dict[str, Any]]) -> Record:
    settings = flatten(json.loads(trial["values"]))
    results = {
        name: trial[name]
        for name in ("score", "cost", "kind", "state", "attempt", "started", "ended", "error")
        if trial[name] is not None
    }
    if trial["state"] in ("failed", "diverged"):  # there was a result, and it was no number
        results.setdefault("score", None)
    return Record(f"trial {trial['id']}", {**settings, "seed": trial["seed"]}, results, curve)
