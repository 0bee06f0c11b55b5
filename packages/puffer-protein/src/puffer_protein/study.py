"""A study on disk: one SQLite file (WAL) that many processes read and write.

Schema, version 1; times are Unix seconds, `values` and settings are JSON:

    meta(key, value)      version, space (`Space.as_config`), goal, metric, method, seed, default,
                          max_trial_cost, max_cost, max_runs, and what the caller adds
    trial(
        id                1, 2, 3 ... in the order of suggestion
        kind              "default", "suggested", "manual", "imported", "repeated" (a re-evaluation)
        state             "pending", "running", "done", "stopped", "failed", "diverged", "preempted"
        values            {"train.learning_rate": 0.01, ...}
        seed              of the trial
        attempt           1, or more after a trial was lost and run again
        pid, born, host   of the process that runs it; born tells reused pids apart
        started, ended
        score, cost       NULL until known; the score in the user's direction
        error             of a failed trial, one line
        folder            the run folder
        told              1, 2, 3 ... in the order of results
    )
    point(trial, position, time, score, cost)     learning curves

A result is told once: `tell` of a trial that has one already changes nothing. A trial whose
process is gone without a result is run again with the same values: once if it died by itself (then
it failed), and as often as need be if it was taken away ("preempted"). A result that arrives late
is accepted.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puffer_protein.errors import SweepError
from puffer_protein.processes import birth
from puffer_protein.space import Space, Values
from puffer_protein.tuner import Tuner

VERSION = 1
OPEN = ("pending", "running", "preempted")
SUGGESTED = ("default", "suggested")
GOOD = ("done", "stopped")
FINISHED = (*GOOD, "failed", "diverged")
MAX_ATTEMPTS = 2
BUSY_SECONDS = 60.0

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trial (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, "values" TEXT NOT NULL,
    seed INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 1,
    pid INTEGER, born REAL, host TEXT, started REAL, ended REAL,
    score REAL, cost REAL, error TEXT, folder TEXT, told INTEGER UNIQUE
);
CREATE TABLE point (
    trial INTEGER NOT NULL, position INTEGER NOT NULL, time REAL, score REAL, cost REAL,
    PRIMARY KEY (trial, position)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Trial:
    """A row of the table `trial`, and its curve; see the module."""

    id: int
    kind: str
    state: str
    values: Values
    seed: int
    attempt: int
    pid: int | None
    born: float | None
    host: str | None
    started: float | None
    ended: float | None
    score: float | None
    cost: float | None
    error: str | None
    folder: str | None
    told: int | None
    curve: tuple[tuple[float, float, float], ...] = ()


COLUMNS = [name for name in Trial.__dataclass_fields__ if name != "curve"]
SELECT = "SELECT " + ", ".join(f'"{name}"' for name in COLUMNS) + " FROM trial "


class Study:
    """An open study. One object a process (and thread); the file is shared.

    Attributes:
        path: of the file.
        space: what is searched.
        settings: the table `meta`.
    """

    def __init__(self, path: Path | str) -> None:
        """Open an existing study.

        Raises:
            SweepError: no such file, or no study of this version.
        """
        self.path = Path(path)
        if not self.path.is_file():
            raise SweepError(f"there is no study {str(path)!r}.")
        try:
            self._db = _connect(self.path)
            rows = self._db.execute("SELECT key, value FROM meta").fetchall()
        except sqlite3.DatabaseError as error:
            raise SweepError(f"{path} is no study: {error}.") from error
        self.settings: dict[str, Any] = {key: json.loads(value) for key, value in rows}
        if self.settings.get("version") != VERSION:
            raise SweepError(
                f"{path}: expected a study of version {VERSION}, got version "
                f"{self.settings.get('version')!r}."
            )
        self.space = Space.from_config(self.settings["space"])

    @classmethod
    def create(cls, path: Path | str, space: Space, **settings: Any) -> Study:
        """Create a file; it appears whole or not at all.

        Args:
            path: of the file.
            space: what is searched.
            settings: JSON values for `meta`: goal, seed, default, ...

        Raises:
            SweepError: the file exists.
        """
        path = Path(path)
        if path.exists():
            raise SweepError(f"{path} exists; go on with it, or choose another name.")
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}.{os.getpid()}")
        scratch.unlink(missing_ok=True)
        db = _connect(scratch)
        db.executescript(TABLES)
        meta = {"version": VERSION, "space": space.as_config(), **settings}
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [(key, json.dumps(value)) for key, value in meta.items()],
        )
        db.close()  # the last connection folds the log into the file
        try:
            os.link(scratch, path)  # unlike a rename, fails if another process was first
        except FileExistsError:
            raise SweepError(f"{path} exists; go on with it, or choose another name.") from None
        finally:
            scratch.unlink()
        return cls(path)

    def change(self, **settings: Any) -> None:
        """Replace entries of `meta`."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in settings.items()],
            )
        self.settings |= settings

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        self._db.execute(f"BEGIN {kind}")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # Reading

    def trials(self, *states: str) -> list[Trial]:
        """All trials, or those in some states, in order of id; with their curves."""
        with self._transaction("DEFERRED") as db:  # rows and curves of the same moment
            found = _trials(db)
        return [trial for trial in found if not states or trial.state in states]

    def trial(self, number: int) -> Trial:
        """One trial, without its curve."""
        row = self._db.execute(SELECT + "WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise SweepError(f"{self.path} has no trial {number}.")
        return _trial(row, {})

    def counts(self) -> dict[str, int]:
        """How many trials are in each state that occurs."""
        return dict(self._db.execute("SELECT state, COUNT(*) FROM trial GROUP BY state").fetchall())

    def load(self, tuner: Tuner) -> None:
        """Bring a new tuner, or one that was loaded before, to the study's state.

        It takes the results in the order in which they were told, then what is running.
        """
        self._load(tuner, self.trials())

    def _load(self, tuner: Tuner, trials: Sequence[Trial]) -> None:
        told = sorted((t for t in trials if t.told is not None), key=lambda t: t.told or 0)
        for trial in told[len(tuner.outcomes) :]:
            tuner.observe(
                trial.values,
                math.nan if trial.score is None else trial.score,
                trial.cost or 0.0,
                failed=trial.state not in GOOD,
                curve=trial.curve,
                stopped_at=trial.curve[-1][0] if trial.state == "stopped" and trial.curve else None,
            )
        tuner.pending = [self.space.encode(t.values) for t in trials if t.told is None]
        tuner.suggested = sum(t.kind in SUGGESTED for t in trials)

    # Writing

    def ask(self, tuner: Tuner, max_runs: int | None = None) -> Trial | None:
        """The next trial to run, now "running" in this process.

        One that was lost comes first, with the values it had; else the tuner suggests one.

        Args:
            tuner: of the same space.
            max_runs: no new suggestions beyond so many trials.

        Returns:
            None if `max_runs` trials exist and none of them waits.
        """
        with self._transaction() as db:
            row = db.execute(
                "SELECT id FROM trial WHERE state IN ('pending', 'preempted') ORDER BY id LIMIT 1"
            ).fetchone()
            if row is None:
                (count,) = db.execute(
                    "SELECT COUNT(*) FROM trial WHERE kind NOT IN ('repeated', 'imported')"
                ).fetchone()
                if max_runs is not None and count >= max_runs:
                    return None
                self._load(tuner, _trials(db))
                kind = "suggested" if tuner.suggested or tuner.default is None else "default"
                number = self._insert(kind, tuner.suggest(), state="running")
            else:
                (number,) = row
            self._claim(number)
        return self.trial(number)

    def add(
        self,
        values: Mapping[str, Any],
        kind: str = "manual",
        state: str = "pending",
        score: float | None = None,
        cost: float | None = None,
        curve: Sequence[tuple[float, float, float]] = (),
        error: str | None = None,
        folder: str | None = None,
        seed: int | None = None,
    ) -> int:
        """Enqueue a trial by hand, or record one that ran elsewhere.

        Args:
            values: of the space.
            kind: see the module.
            state: "pending" puts it in line; a finished state records a result.
            score: of a finished one.
            cost: of a finished one.
            curve: of a finished one.
            error: of a failed one.
            folder: of its run.
            seed: None: like that of any trial.

        Returns:
            Its id.

        Raises:
            SweepError: values that are not of the space, or a wrong state.
        """
        self.space.encode(values)
        if state != "pending" and state not in FINISHED:
            raise SweepError(f"state must be pending or {', '.join(FINISHED)}, got {state!r}.")
        with self._transaction():
            number = self._insert(kind, dict(values), "pending", seed)
            if state in FINISHED:
                self._finish(number, state, score, cost, curve, error, folder)
        return number

    def claim(self, number: int, attempt: int) -> bool:
        """Make this process the one that runs a trial; False if it is no longer to be run so."""
        with self._transaction() as db:
            current = db.execute(
                "SELECT state, attempt FROM trial WHERE id = ?", (number,)
            ).fetchone()
            if current != ("running", attempt):
                return False
            self._claim(number)
        return True

    def tell(
        self,
        number: int,
        state: str,
        score: float | None = None,
        cost: float | None = None,
        curve: Sequence[tuple[float, float, float]] = (),
        error: str | None = None,
        folder: str | None = None,
    ) -> bool:
        """Record the result of a trial.

        Args:
            number: its id.
            state: "done", "stopped" (early, with a score), "failed" or "diverged".
            score: in the user's direction.
            cost: as far as it came.
            curve: (time, score, cost) before the end.
            error: of a failed one.
            folder: of its run.

        Returns:
            False if the trial had a result already; the first one stays.

        Raises:
            SweepError: a wrong state, or no such trial.
        """
        if state not in FINISHED:
            raise SweepError(f"state must be {', '.join(FINISHED)}, got {state!r}.")
        if state in GOOD and (score is None or not math.isfinite(score)):
            state, error = "diverged", error or f"the score is {score}"
        with self._transaction():
            if self.trial(number).state in FINISHED:
                return False
            self._finish(number, state, score, cost, curve, error, folder)
        return True

    def preempt(self, number: int) -> None:
        """The trial was taken away through no fault of its own; it will be run again."""
        with self._transaction() as db:
            db.execute(
                "UPDATE trial SET state = 'preempted', attempt = attempt + 1, pid = NULL "
                "WHERE id = ? AND state = 'running'",
                (number,),
            )

    def lost(self, number: int, error: str, attempts: int = MAX_ATTEMPTS) -> bool:
        """The process of a running trial is gone without a result.

        Returns:
            Whether the trial will be run again; if not, it failed.
        """
        with self._transaction() as db:
            trial = self.trial(number)
            if trial.state != "running":
                return trial.state in OPEN
            if trial.attempt < attempts:
                db.execute(
                    "UPDATE trial SET state = 'pending', attempt = attempt + 1, pid = NULL, "
                    "error = ? WHERE id = ?",
                    (error, number),
                )
                return True
            elapsed = time.time() - (trial.started or time.time())
            self._finish(number, "failed", None, elapsed, (), error, None)
        return False

    def recover(self) -> list[int]:
        """Put trials whose process no longer lives back in line; returns their ids.

        Trials of processes that do live go on, and will tell their results themselves.
        """
        found = []
        for trial in self.trials("running"):
            here = trial.host == platform.node() and trial.pid is not None
            if not here or birth(trial.pid or 0) != trial.born:
                self.preempt(trial.id)
                found.append(trial.id)
        return found

    def _insert(
        self, kind: str, values: Mapping[str, Any], state: str, seed: int | None = None
    ) -> int:
        (number,) = self._db.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM trial").fetchone()
        if seed is None:
            seed = int(self.settings.get("seed", 0)) * 1_000_003 + number
        self._db.execute(
            'INSERT INTO trial (id, kind, state, "values", seed) VALUES (?, ?, ?, ?, ?)',
            (number, kind, state, json.dumps(values), seed),
        )
        return int(number)

    def _claim(self, number: int) -> None:
        pid = os.getpid()
        self._db.execute(
            "UPDATE trial SET state = 'running', pid = ?, born = ?, host = ?, started = ? "
            "WHERE id = ?",
            (pid, birth(pid), platform.node(), time.time(), number),
        )

    def _finish(
        self,
        number: int,
        state: str,
        score: float | None,
        cost: float | None,
        curve: Sequence[tuple[float, float, float]],
        error: str | None,
        folder: str | None,
    ) -> None:
        if score is not None and not math.isfinite(score):
            score = None
        self._db.execute(
            "UPDATE trial SET state = ?, score = ?, cost = ?, error = ?, folder = ?, ended = ?, "
            "told = (SELECT COALESCE(MAX(told), 0) + 1 FROM trial) WHERE id = ?",
            (state, score, cost, error, folder, time.time(), number),
        )
        self._db.executemany(
            "INSERT INTO point VALUES (?, ?, ?, ?, ?)",
            [(number, position, *map(float, point)) for position, point in enumerate(curve)],
        )


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # a result that was told survives a power cut
    return db


def _trials(db: sqlite3.Connection) -> list[Trial]:
    curves: dict[int, list[tuple[float, float, float]]] = {}
    for number, *point in db.execute(
        "SELECT trial, time, score, cost FROM point ORDER BY trial, position"
    ):
        curves.setdefault(number, []).append(tuple(point))
    return [_trial(row, curves) for row in db.execute(SELECT + "ORDER BY id")]


def _trial(row: Sequence[Any], curves: Mapping[int, Sequence[tuple[float, float, float]]]) -> Trial:
    fields = dict(zip(COLUMNS, row, strict=True))
    fields["values"] = json.loads(fields["values"])
    return Trial(**fields, curve=tuple(curves.get(fields["id"], ())))
