"""`puffer match`: two trained policies against each other."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import RUN_DIR_HELP, at_least, whole

HELP = "play two trained policies of one environment against each other"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    for name, text in (("first", "A"), ("second", "B")):
        parser.add_argument(
            name, metavar=text, help="the folder of a run or checkpoint, or ENV: its latest"
        )
    for name, text in (
        ("games", "at least so many (default: 1024)"),
        ("seed", "of environments and actions (default: 0)"),
    ):
        parser.add_argument(f"--{name}", type=whole, metavar="N", help=text)
    parser.add_argument("--run-dir", metavar="DIR", help=RUN_DIR_HELP)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Play, and print wins, draws, losses and the difference in rating."""
    from puffer_cli import match
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.report import facts_table, to_json

    for name, low in (("games", 1), ("seed", 0)):
        at_least(options, name, low)
    console = make_console(options.json)
    with Dashboard(console, "puffer match") as dashboard:
        document = match.match(
            options.first,
            options.second,
            1024 if options.games is None else options.games,
            options.seed or 0,
            options.run_dir,
            dashboard,
        )
    if options.json:
        print(to_json(document))
    else:
        console.print(facts_table(document))
    return 0
