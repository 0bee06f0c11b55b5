"""`puffer train`: train a policy, then evaluate it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP, RUN_DIR_HELP

HELP = "train a policy and evaluate it"
KEYS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")
    parser.add_argument("--run-dir", metavar="DIR", help=RUN_DIR_HELP)
    parser.add_argument(
        "--slowly", action="store_true", help="on torch: the same as --train.backend torch"
    )
    parser.add_argument(
        "--resume",
        metavar="WHICH",
        help="go on with a run: latest, best, or the folder of a run or checkpoint",
    )


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Train and print the result; the code is 128 + signal where a signal stopped it."""
    from puffer_cli import resume, train
    from puffer_cli.checkpoints import run_layer
    from puffer_cli.config import load_config
    from puffer_cli.dashboard import Dashboard, make_console
    from puffer_cli.environments import find
    from puffer_cli.layers import COMMAND_LINE, Layer
    from puffer_cli.report import finish
    from puffer_core.errors import APIUsageError
    from puffer_cuda.launch import rank

    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    if options.slowly:
        values = {**values, "train.backend": "torch"}
    changed: list[str] = []
    checkpoint = None
    if options.resume is None:
        config = load_config(options.env, values, options.config)
    else:
        if options.config is not None:
            raise APIUsageError("--resume goes on with the run's own settings, without --config.")
        environment, changes = find(options.env), Layer(COMMAND_LINE, values)
        config, checkpoint = resume.resume_config(environment, options.resume, changes)
        changed = resume.differences(run_layer(environment, checkpoint), config)
    console = make_console(options.json)
    console.quiet = rank() > 0  # the first process speaks for all
    try:
        with Dashboard(console, f"puffer train {config.train.env}") as dashboard:
            for line in changed:
                dashboard.print(line)
            document = train.train(config, dashboard, resume=checkpoint)
    except train.Stopped as stop:
        print(f"puffer: {stop}", file=sys.stderr)
        return 128 + stop.signal
    return 0 if rank() else finish(console, document, options.json)
