"""`puffer bench`: agent steps per second, layer by layer."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP

HELP = "measure steps per second: environment alone, vectorizer, policy, learning, end to end"
KEYS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="of each repetition (default: 1)"
    )
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Measure and print."""
    from puffer_cli import bench
    from puffer_cli.config import load_config
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.report import to_json
    from puffer_core.errors import APIUsageError

    if not 0 < options.seconds < float("inf"):
        raise APIUsageError(f"--seconds must be positive, got {options.seconds}.")
    config = load_config(options.env, values, options.config)
    console = make_console(options.json)
    with Dashboard(console, f"puffer bench {config.train.env}") as dashboard:
        document = bench.bench(config, options.seconds, dashboard)
    if options.json:
        print(to_json(document))
    else:
        bench.print_bench(console, document)
    return 0
