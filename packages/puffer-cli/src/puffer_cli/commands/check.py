"""`puffer check`: explain what in an environment would not learn."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP, at_least, whole

HELP = "run an environment with random actions and explain what would not learn"
EPILOG = "The exit code is 1 if there is an error; warnings and notes leave it 0."
KEYS = "env"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    for name, default, text in (
        ("steps", 10_000, "random steps (default: 10,000)"),
        ("seed", 0, "of the environment and the actions (default: 0)"),
        ("seconds", 60, "stop after this time (default: 60)"),
    ):
        parser.add_argument(f"--{name}", type=whole, default=default, metavar="N", help=text)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Check and print the findings; the code is 1 if one of them is an error."""
    from rich.console import Console

    from puffer_cli import check
    from puffer_cli.environments import find
    from puffer_cli.report import to_json
    from puffer_core import check_env

    for name, low in (("steps", 1), ("seed", 0), ("seconds", 1)):
        at_least(options, name, low)
    creator = check.creator(find(options.env), values)
    report = check_env(creator, options.steps, options.seed, options.seconds)
    if options.json:
        print(to_json(report.as_dict()))
    else:
        check.print_report(Console(), report)  # tables need all the width there is
    return 0 if report.ok else 1
