"""`puffer eval`: evaluate a policy on environments of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import ENV_HELP, RUN_DIR_HELP, at_least, whole

HELP = "evaluate a policy"
KEYS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument(
        "--policy",
        "--load-model-path",
        default="random",
        metavar="WHICH",
        help="random (default), latest, best, or the folder of a run or checkpoint",
    )
    for name, text in (
        ("episodes", "at least so many (default: eval.episodes)"),
        ("seed", "of environments and actions (default: as in the evaluation after training)"),
        ("max-steps", "leave out longer episodes (default: eval.max_steps)"),
    ):
        parser.add_argument(f"--{name}", type=whole, metavar="N", help=text)
    parser.add_argument(
        "--save-video", metavar="FILE", type=Path, help="write a film too: out.mp4 or out.gif"
    )
    parser.add_argument(
        "--frames", type=whole, metavar="N", help="of the film (default: 250, 25 a second)"
    )
    parser.add_argument("--run-dir", metavar="DIR", help=RUN_DIR_HELP)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Evaluate and print the statistics."""
    from puffer_cli import evaluate
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.environments import find
    from puffer_cli.layers import COMMAND_LINE, Layer
    from puffer_cli.report import finish

    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    environment = find(options.env)
    for name, low in (("episodes", 1), ("seed", 0), ("max_steps", 1), ("frames", 1)):
        at_least(options, name, low)
    given = {name: getattr(options, name) for name in evaluate.Request._fields}
    request = evaluate.Request(
        **{name: value for name, value in given.items() if value is not None}
    )
    console = make_console(options.json)
    with Dashboard(console, f"puffer eval {environment.name}") as dashboard:
        changes = Layer(COMMAND_LINE, values)
        document = evaluate.evaluate(environment, request, changes, dashboard)
    return finish(console, document, options.json)
