"""A configuration as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from puffer_cli.config import DEFAULT


def print_settings(console: Console, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Print settings by section; those that are not defaults stand out.

    Args:
        console: where to.
        entries: dotted key -> {"value", "origin", "meaning"}.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
    table.add_column("key", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    table.add_column("meaning", overflow="fold", style="dim")
    section = None
    for key, entry in entries.items():
        if section is not None and key.partition(".")[0] != section:
            table.add_row()
        section = key.partition(".")[0]
        changed = entry["origin"] != DEFAULT
        cells = (str(entry["value"]), _short(entry["origin"]), entry["meaning"])
        table.add_row(Text(key, style="bold" if changed else ""), *(Text(cell) for cell in cells))
    console.print(table)


def _short(origin: str) -> str:
    """A file by its last two parts: `breakout/config.ini`."""
    path = Path(origin)
    return "/".join(path.parts[-2:]) if path.suffix else origin
