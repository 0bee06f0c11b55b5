"""A configuration as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from puffer_cli.config import DEFAULT

WIDE = 100  # columns: meanings stand beside the values, else below the keys


def print_settings(console: Console, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Print settings by section; those that are not defaults stand out.

    Args:
        console: where to.
        entries: dotted key -> {"value", "origin", "meaning"}.
    """
    wide = console.width >= WIDE
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", highlight=False)
    table.add_column("key and meaning" if not wide else "key", no_wrap=wide, overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    if wide:
        table.add_column("meaning", overflow="fold", style="dim")
    section = None
    for key, entry in entries.items():
        if section is not None and key.partition(".")[0] != section:
            table.add_row()
        section = key.partition(".")[0]
        changed = entry["origin"] != DEFAULT
        name, meaning = Text(key, style="bold" if changed else ""), Text(entry["meaning"])
        cells = [Text(str(entry["value"])), Text(_short(entry["origin"]))]
        if wide:
            table.add_row(name, *cells, meaning)
        else:
            about = Padding(Text(entry["meaning"], style="dim"), (0, 0, 0, 2))
            table.add_row(Group(name, about) if entry["meaning"] else name, *cells)
    console.print(table)


def _short(origin: str) -> str:
    """A file by its last two parts: `breakout/config.ini`."""
    path = Path(origin)
    return "/".join(path.parts[-2:]) if path.suffix else origin
