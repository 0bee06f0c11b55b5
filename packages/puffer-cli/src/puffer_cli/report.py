"""Results of finished episodes: means with standard errors, as a table and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

FIRST = ("score", "perf", "episode_return", "episode_length")  # then the environment's own fields


def summarize(episodes: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Mean and standard error of each quantity.

    Args:
        episodes: aligned arrays, one entry per finished episode.

    Returns:
        "episodes", and for each quantity `name` and `name_se` (None for a single episode, whose
        error is unknown). No quantities if no episode finished.
    """
    columns = {name: values for name, values in episodes.items() if name != "agent_id"}
    count = min((len(values) for values in columns.values()), default=0)
    stats: dict[str, Any] = {"episodes": count}
    if count:
        for name in sorted(columns, key=lambda name: (_rank(name), name)):
            values = columns[name]
            stats[name] = float(values.mean())
            error = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else None
            stats[f"{name}_se"] = error
    return stats


def _rank(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def to_json(document: Mapping[str, Any]) -> str:
    """One line of strict JSON; numbers that are not finite become null."""
    return json.dumps(_finite(document), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_result(console: Console, document: Mapping[str, Any]) -> None:
    """The final table of `puffer train` and `puffer eval`."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("steps", f"{document['steps']:,}")
    table.add_row("time", duration(document["seconds"]))
    table.add_row("steps per second", f"{document['steps_per_second']:,.0f}")
    stats = document["stats"]
    if stats:
        table.add_row("episodes", f"{stats['episodes']:,}")
    for name in stats:
        if f"{name}_se" in stats:
            error = stats[f"{name}_se"]
            shown = "" if error is None else f"± {error:.4g} (standard error)"
            table.add_row(name, f"{stats[name]:.4g}", shown)
    console.print()
    console.print(table)
    if document.get("run"):
        console.print(Text(f"run folder: {document['run']}"), soft_wrap=True)


def facts_table(facts: Mapping[str, Any]) -> Table:
    """Names and values, one fact a line; `may_run_code` is shown as `may run code`."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), Text(str(value)))
    return table


def duration(seconds: float) -> str:
    """`75.2` as `1:15`, below a minute `9.8 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def finish(console: Console, document: Mapping[str, Any], json_output: bool) -> int:
    """Print a command's result, as JSON on stdout or for a person, and return exit code 0."""
    if json_output:
        print(to_json(document))
    else:
        print_result(console, document)
    return 0
