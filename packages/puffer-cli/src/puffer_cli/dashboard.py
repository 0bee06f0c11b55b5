"""What a training run shows while it works: a live page on a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from puffer_cli.report import FIRST, duration

WIDTH = 80
FRAMES_PER_SECOND = 2
LINE_SECONDS = 5.0
BARS = "▁▂▃▄▅▆▇█"
POINTS = 16  # longest sparkline


class Trend:
    """The whole history of a number in a few points: full, neighbours are averaged."""

    def __init__(self) -> None:
        self._points: list[float] = []
        self._per_point = 1
        self._pending: list[float] = []

    def add(self, value: float) -> None:
        """Append a value."""
        self._pending.append(value)
        if len(self._pending) < self._per_point:
            return
        self._points.append(sum(self._pending) / len(self._pending))
        self._pending = []
        if len(self._points) == POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [(a + b) / 2 for a, b in pairs]
            self._per_point *= 2

    def sparkline(self) -> str:
        """Fewer than POINTS characters, scaled to their own range."""
        points = [value for value in self._points if abs(value) < float("inf")]
        if len(points) < 2:
            return ""
        low, high = min(points), max(points)
        scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
        return "".join(BARS[round((value - low) * scale)] for value in points)


class Dashboard:
    """The page of one run. Use as a context manager; outside of it nothing is drawn.

    Attributes:
        console: prints above the page.
    """

    def __init__(self, console: Console, title: str) -> None:
        """Prepare a page for `console`; without a terminal it becomes a line now and then."""
        self.console = console
        self._title = title
        self._subtitle = ""
        self._status = "starting"
        self._total = 0
        self._logs: dict[str, Any] = {}
        self._trends: dict[str, Trend] = {}
        self._begin = self._shown = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=self._page,
            refresh_per_second=FRAMES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Dashboard:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def status(self, text: str) -> None:
        """What happens now, while there are no numbers."""
        self._status = text
        if self.console.is_terminal:
            self._live.refresh()
        else:
            self.print(text)

    def tick(self, text: str) -> None:
        """As `status`, for texts that change all the time."""
        self._status = text
        if not self.console.is_terminal and self._due(LINE_SECONDS):
            self.print(text)

    def print(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, style="dim", highlight=False, soft_wrap=True, markup=False)

    def begin(self, subtitle: str, total_timesteps: int) -> None:
        """The run's sizes are known and its clock starts."""
        self._subtitle, self._total = subtitle, total_timesteps
        self._status = ""
        self._begin = time.monotonic()

    def update(self, logs: Mapping[str, Any]) -> None:
        """Take the logs of an epoch."""
        # Epochs in which no episode ended bring no statistics: keep the last ones on the page.
        self._logs.update(logs)
        for name, value in logs.items():
            if name.startswith(("losses/", "environment/")):
                self._trends.setdefault(name, Trend()).add(float(value))
        if not self.console.is_terminal and self._due(LINE_SECONDS):
            self.print(self._line())

    def _due(self, seconds: float) -> bool:
        """Whether the last line is so long ago; then a new one is assumed to follow."""
        if time.monotonic() - self._shown < seconds:
            return False
        self._shown = time.monotonic()
        return True

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    def _line(self) -> str:
        steps = self._logs["agent_steps"]
        parts = [
            f"{steps:,} / {self._total:,} steps ({steps / self._total:.0%})",
            f"{self._logs['SPS']:,.0f} steps/s",
            f"{duration(self._elapsed())}",
        ]
        for name in FIRST:
            if f"environment/{name}" in self._logs:
                parts.append(f"{name} {self._logs[f'environment/{name}']:.4g}")
        return "  ".join(parts)

    def _page(self) -> Group:
        header = Text(self._title, style="bold")
        parts: list[Any] = [header]
        if self._status:
            parts.append(Text(f"{self._status} ({duration(self._elapsed())})", style="dim"))
        elif self._total:
            parts += [Text(self._subtitle, style="dim"), self._progress()]
        if self._logs:
            columns = Table.grid(padding=(0, 3))
            columns.add_row(self._times(), self._values("losses"))
            parts += [Text(""), columns]
            if any(name.startswith("environment/") for name in self._logs):
                parts += [Text(""), self._values("environment")]
        return Group(*parts)

    def _progress(self) -> Group:
        steps = self._logs.get("agent_steps", 0)
        elapsed = self._elapsed()
        bar = Table.grid(padding=(0, 2, 0, 0))
        bar.add_row(
            ProgressBar(self._total, min(steps, self._total), width=40),
            Text(f"{steps:,} / {self._total:,} steps"),
        )
        facts = [f"{duration(elapsed)} elapsed"]
        if steps:
            facts.insert(0, f"{self._logs['SPS']:,.0f} steps/s")
            facts.append(f"{duration(elapsed * max(self._total - steps, 0) / steps)} left")
            facts.append(f"epoch {self._logs['epoch']:,}")
            facts.append(f"rate {self._logs['learning_rate']:.2g}")
        return Group(bar, Text("   ".join(facts)))

    def _times(self) -> Table:
        table = _table("time", "s", "%")
        phases = {
            name.removeprefix("performance/"): value
            for name, value in self._logs.items()
            if name.startswith("performance/")
        }
        whole = sum(value for name, value in phases.items() if "/" not in name) or 1.0
        for name, value in sorted(phases.items(), key=lambda phase: phase[0].split("/")):
            *parents, own = name.split("/")
            table.add_row("  " * len(parents) + own, f"{value:.1f}", f"{100 * value / whole:.0f}")
        return table

    def _values(self, group: str) -> Table:
        names = [name for name in self._logs if name.startswith(f"{group}/")]
        if group == "losses":
            table = _table("loss", "", "")
        else:
            known = [f"{group}/{name}" for name in FIRST]
            names = [n for n in known if n in names] + [n for n in names if n not in known]
            names.remove("environment/n")
            table = _table("episodes", f"{self._logs['environment/n']:,.0f}", "")
        for name in names:
            table.add_row(
                name.removeprefix(f"{group}/"),
                f"{self._logs[name]:.4g}",
                Text(self._trends[name].sparkline(), style="cyan"),
            )
        return table


def _table(*headers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for index, header in enumerate(headers):
        table.add_column(header, justify="right" if (index and header) or index == 1 else "left")
    return table


def make_console(json_output: bool) -> Console:
    """Where people's output goes: stdout, or stderr as plain lines when stdout is for JSON."""
    if json_output:
        return Console(file=sys.stderr, force_terminal=False, no_color=True)
    console = Console()
    console.width = min(console.width, WIDTH) if console.is_terminal else console.width
    return console
