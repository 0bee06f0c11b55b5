"""What a training run shows while it works: a live page on a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from puffer_cli.report import FIRST, duration
from puffer_cli.utilization import Utilization

WIDTH = 80
GAP = 1  # between two tables, beside their own padding
NARROW = 72  # below: one column instead of two
FRAMES_PER_SECOND = 2
LINE_SECONDS = 5.0
BARS = "▁▂▃▄▅▆▇█"
BLOCKS = " ▏▎▍▌▋▊▉█"
POINTS = 12  # longest sparkline
BAR = 6


# Losses that should be 0: shown where they are not, and what they say then.
WARNINGS = {
    "losses/skipped_updates": "updates skipped: loss or gradient is not finite",
    "losses/non_finite": "observations or rewards left out: not finite",
    "losses/clipped_rewards": "of the rewards are clipped: see train.reward_scale",
}
CLIPPED = 0.2  # share of clipped rewards that is worth a warning
FULL = 95.0  # percent of memory


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
        self._begin = self._shown = self._changed = time.monotonic()
        self._machine: Utilization | None = None
        self._live = Live(
            console=console,
            get_renderable=self._page,
            refresh_per_second=FRAMES_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Dashboard:
        if self.console.is_terminal:
            self._machine = Utilization(device="cpu")
            self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._machine is not None:
            self._machine.stop()
            self._live.stop()

    def status(self, text: str) -> None:
        """What happens now, while there are no numbers."""
        self._status, self._changed = text, time.monotonic()
        if self.console.is_terminal:
            self._live.refresh()
        else:
            self.print(text)

    def tick(self, text: str) -> None:
        """As `status`, for texts that change all the time."""
        if not self._status:
            self._changed = time.monotonic()
        self._status = text
        if not self.console.is_terminal and self._due(LINE_SECONDS):
            self.print(text)

    def print(self, text: str) -> None:
        """A line that stays."""
        style = "yellow" if text.startswith("WARNING") else "dim"
        self.console.print(text, style=style, highlight=False, soft_wrap=True, markup=False)

    def begin(self, subtitle: str, total_timesteps: int, device: str = "cpu") -> None:
        """The run's sizes are known and its clock starts; a GPU it uses is watched from now on."""
        self._subtitle, self._total = subtitle, total_timesteps
        if self._machine is not None:
            self._machine.device = device
        self._status = ""
        self._begin = time.monotonic()

    def update(self, logs: Mapping[str, Any]) -> None:
        """Take the logs of an epoch."""
        # Epochs in which no episode ended bring no statistics: keep the last ones on the page.
        self._logs.update(logs)
        self._status = ""
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
        parts: list[Any] = [Text(self._title, style="bold")]
        if self._total:
            parts += [Text(self._subtitle, style="dim"), self._progress()]
        if self._machine is not None and self._machine.cpu_mem[-1]:  # measured already
            parts.append(self._load(self._machine))
        parts += [Text(text, style="yellow") for text in self._warnings()]
        if self._status:
            seconds = duration(time.monotonic() - self._changed)
            parts.append(Text(f"{self._status} ({seconds})", style="dim"))
        if self._logs:
            # Episodes first: what does not fit the terminal is cut off below.
            if "environment/n" in self._logs:
                parts += [Text(""), self._values("environment")]
            tables = [self._times(), self._values("losses")]
            if self.console.width < NARROW:
                parts += [part for table in tables for part in (Text(""), table)]
            else:
                columns = Table.grid()
                columns.add_row(Padding(tables[0], (0, GAP, 0, 0)), tables[1])
                parts += [Text(""), columns]
        return Group(*parts)

    def _progress(self) -> Group:
        steps = self._logs.get("agent_steps", 0)
        elapsed = self._elapsed()
        text = f"{steps:,} / {self._total:,} steps"
        bar = Table.grid(padding=(0, 2, 0, 0))
        width = max(10, min(40, self.console.width - len(text) - 4))
        bar.add_row(ProgressBar(self._total, min(steps, self._total), width=width), Text(text))
        facts = [f"{duration(elapsed)} elapsed"]
        if steps:
            facts.insert(0, f"{self._logs['SPS']:,.0f} steps/s")
            facts.append(f"{duration(elapsed * max(self._total - steps, 0) / steps)} left")
            facts.append(f"epoch {self._logs['epoch']:,}")
            facts.append(f"rate {self._logs['learning_rate']:.2g}")
        return Group(bar, Text("   ".join(facts)))

    def _load(self, machine: Utilization) -> Text:
        facts = [f"CPU {machine.cpu_util[-1]:.0f}%", f"memory {machine.cpu_mem[-1]:.0f}%"]
        if machine.device != "cpu":
            facts += [f"GPU {machine.gpu_util[-1]:.0f}%", f"its memory {machine.gpu_mem[-1]:.0f}%"]
        return Text("   ".join(facts), style="dim")

    def _warnings(self) -> list[str]:
        """What should not be, in the last epoch and in the machine."""
        found = []
        for name, text in WARNINGS.items():
            value = self._logs.get(name, 0)
            if name == "losses/clipped_rewards":
                if value > CLIPPED:
                    found.append(f"{value:.0%} {text}")
            elif value:
                found.append(f"{value:,.0f} {text}")
        if self._machine is not None and self._machine.cpu_mem[-1] > FULL:
            found.append(f"the machine's memory is {self._machine.cpu_mem[-1]:.0f}% full")
        return found

    def _times(self) -> Table:
        table = _table("time", "s", "%", "")
        phases = {
            name.removeprefix("performance/"): value
            for name, value in self._logs.items()
            if name.startswith("performance/")
        }
        whole = sum(value for name, value in phases.items() if "/" not in name) or 1.0
        for name, value in sorted(phases.items(), key=lambda phase: phase[0].split("/")):
            *parents, own = name.split("/")
            share = value / whole
            cells = (f"{value:.1f}", f"{100 * share:.0f}", Text(_bar(share), style="cyan"))
            table.add_row("  " * len(parents) + own, *cells)
        return table

    def _values(self, group: str) -> Table:
        names = [name for name in self._logs if name.startswith(f"{group}/")]
        if group == "losses":
            names = [name for name in names if self._logs[name] or name not in WARNINGS]
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


def _bar(share: float) -> str:
    """A bar of up to BAR characters, in eighths of one."""
    eighths = round(share * BAR * 8)
    return "█" * (eighths // 8) + BLOCKS[eighths % 8].strip()


def _table(*headers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
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
