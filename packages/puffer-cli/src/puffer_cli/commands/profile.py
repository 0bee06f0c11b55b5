"""`puffer profile`: where the time of a training step goes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import ENV_HELP, at_least, whole

HELP = "show where a training step's time goes, for each backend"
KEYS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument("--epochs", type=whole, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--trace", metavar="FILE", type=Path, help="write a trace for chrome://tracing or Perfetto"
    )
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Train a little, and print the phases."""
    from puffer_cli import profiling
    from puffer_cli.config import load_config
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.report import to_json

    at_least(options, "epochs", 1)
    config = load_config(options.env, values, options.config)
    console = make_console(options.json)
    with Dashboard(console, f"puffer profile {config.train.env}") as dashboard:
        document = profiling.profile(config, options.epochs, options.trace, dashboard)
    if options.json:
        print(to_json(document))
    else:
        profiling.print_profile(console, document)
    return 0
