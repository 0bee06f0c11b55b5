"""`puffer export`: a trained policy as ONNX or as one C file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_cli.parser import ENV_HELP, RUN_DIR_HELP

HELP = "write a trained policy as ONNX or as one C file, checked against the policy"
EPILOG = """An ONNX file has the recurrent state as inputs and outputs, and the input `starts`,
which clears it. A C file needs no library but libm; its last part says how to call it. Both hold a
few observations with what the policy gave for them, as a self-test."""
KEYS = "env"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument(
        "--policy",
        default="latest",
        metavar="WHICH",
        help="latest (default), best, or the folder of a run or checkpoint",
    )
    parser.add_argument("--format", default="c", metavar="c|onnx", help="default: c")
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: the environment's name")
    parser.add_argument("--run-dir", metavar="DIR", help=RUN_DIR_HELP)


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Export, compare, and say how well they agree."""
    from puffer_cli import export
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.environments import find, own_keys
    from puffer_cli.report import facts_table, to_json

    own_keys("export", values)
    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    environment = find(options.env)
    console = make_console(options.json)
    with Dashboard(console, f"puffer export {environment.name}") as dashboard:
        document = export.export(
            environment, options.policy, options.format, options.out, values, dashboard
        )
    if options.json:
        print(to_json(document))
    else:
        console.print(facts_table(document))
    return 0
