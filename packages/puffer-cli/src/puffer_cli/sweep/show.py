"""What a sweep shows while it works: the front and the last trials, live or as lines."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from puffer_cli.report import duration
from puffer_cli.sweep.driver import Driver
from puffer_protein.study import FINISHED, Study, Trial
from puffer_protein.tuner import FrontPoint, Tuner

LAST = 5  # trials on the page
COLUMNS = 6  # parameters on the page


class SweepPage:
    """The page of one sweep. Use as a context manager; call it with the driver."""

    def __init__(self, console: Console, title: str) -> None:
        self._console, self._title = console, title
        self._told = -1
        self._trials: list[Trial] = []
        self._front: list[FrontPoint] = []
        self._begin = time.monotonic()
        self._settings: Any = None
        self._live = Live(console=console, get_renderable=self._page, refresh_per_second=2)

    def __enter__(self) -> SweepPage:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def __call__(self, driver: Driver) -> None:
        """Take what is new."""
        self._settings = driver.settings
        trials = driver.study.trials()
        told = max((t.told or 0 for t in trials), default=0)
        new = [t for t in trials if (t.told or 0) > self._told]
        first, self._told, self._trials = self._told < 0, told, trials
        if not new and not first:
            return
        driver.study.load(driver.tuner)
        self._front = driver.tuner.front()
        if not self._console.is_terminal and not first:
            for trial in sorted(new, key=lambda t: t.told or 0):
                self._console.print(_line(trial), highlight=False, soft_wrap=True, markup=False)

    def _page(self) -> Group:
        if self._settings is None:
            return Group(Text(self._title, style="bold"), Text("starting", style="dim"))
        done = [t for t in self._trials if t.state in FINISHED]
        failed = sum(t.state in ("failed", "diverged") for t in done)
        running = sum(t.state == "running" for t in self._trials)
        spent = sum(t.cost or 0.0 for t in done)
        facts = [f"{len(done)} of {self._settings.max_runs} trials", f"{running} running"]
        facts += [f"{failed} failed"] if failed else []
        facts += [f"cost {duration(spent)}", f"{duration(time.monotonic() - self._begin)} elapsed"]
        last = sorted(done, key=lambda t: t.told or 0)[-LAST:]
        return Group(
            Text(self._title, style="bold"),
            Text("   ".join(facts), style="dim"),
            Text(""),
            front_table(self._front),
            Text(""),
            *(Text(_line(trial), style="dim", overflow="ellipsis", no_wrap=True) for trial in last),
        )


def _line(trial: Trial) -> str:
    cost = "" if trial.cost is None else f"  {duration(trial.cost)}"
    if trial.score is not None:
        return f"trial {trial.id}: {trial.state}  score {trial.score:.4g}{cost}"
    return f"trial {trial.id}: {trial.state}{cost}  {trial.error or ''}"


def front_table(front: Sequence[FrontPoint], columns: int | None = COLUMNS) -> Table:
    """The front as a table: cost, score, and the values of the first parameters (None: all)."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", highlight=False)
    names = list(dict.fromkeys(name for point in front for name in point.values))[:columns]
    for header in ("cost", "score", "±"):
        table.add_column(header, justify="right", no_wrap=True)
    for name in names:  # words fold one below the other; numbers never do
        header = name.rpartition(".")[2].replace("_", "\n")
        width = max([*map(len, header.split()), *(len(short(p.values.get(name))) for p in front)])
        table.add_column(header, justify="right", min_width=min(width, 12), overflow="fold")
    for point in front:
        table.add_row(
            duration(point.cost),
            f"{point.score:.4g}",
            "" if math.isnan(point.sd) else f"{point.sd:.2g}",
            *(short(point.values.get(name, "")) for name in names),
        )
    return table


def short(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def load_front(study: Study, tuner: Tuner) -> list[FrontPoint]:
    """The front of a study as it is now."""
    study.load(tuner)
    return tuner.front()
