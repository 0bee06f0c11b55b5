"""`puffer check`: run an environment with random actions and explain what would not learn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.environments import Environment, GymnasiumEnvironment, own_keys
from puffer_cli.layers import COMMAND_LINE
from puffer_core.check import Report

COPIES = 4  # of a C environment, unless env.num_envs says otherwise: enough to see them differ
STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def creator(environment: Environment, values: Mapping[str, Any]) -> Callable[..., Any]:
    """The creator of the environment as it is, without emulation around it.

    Args:
        environment: From `find`.
        values: `env.*` keys of the command line.

    Raises:
        APIUsageError: Another key, or one that the environment does not take.
    """
    raw = own_keys("check", values)
    if type(environment) is GymnasiumEnvironment:
        import gymnasium

        arguments = environment.arguments(raw, {})
        # Gymnasium's own checker would raise before ours has seen everything.
        arguments = {"disable_env_checker": True, **arguments}
        return functools.partial(gymnasium.make, environment.env_id, **arguments)
    if environment.native:
        raw = {"num_envs": COPIES, **raw}
    arguments = environment.arguments(raw, dict.fromkeys(raw, COMMAND_LINE))
    return functools.partial(environment.creator(), **arguments)


def print_report(console: Console, report: Report) -> None:
    """The findings as a table, and a line that sums them up."""
    if report.findings:
        table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", highlight=False)
        for header in ("severity", "what", "evidence", "remedy"):
            table.add_column(header, overflow="fold")
        for finding in report.findings:
            what = Text(f"{finding.what} ")
            what.append(f"[{finding.code}]", style="dim")
            table.add_row(
                Text(finding.severity, style=STYLES[finding.severity]),
                what,
                Text(_evidence(finding.path, finding.step, finding.count, finding.evidence)),
                Text(finding.remedy),
            )
        console.print(table)
    style = "bold red" if report.errors else "bold green"
    line = (
        f"{report.name}: {report.summary()} in {report.steps:,} steps, "
        f"{report.episodes:,} episodes, {report.seconds:.1f} s"
    )
    console.print(Text(line, style=style))


def _evidence(path: str, step: int | None, count: int, evidence: str) -> str:
    when = "" if step is None else f"step {step}"
    times = f"{count:,} times" if count > 1 else ""
    where = ", ".join(part for part in (path, when, times) if part)
    return f"{where}: {evidence}" if where else evidence
