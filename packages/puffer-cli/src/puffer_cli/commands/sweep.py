"""`puffer sweep`: tune an environment's settings; `puffer sweep report` shows a sweep."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from puffer_cli.parser import ENV_HELP

if TYPE_CHECKING:
    from puffer_protein.space import Constraint
    from puffer_protein.study import Study

HELP = "tune settings on the front of cost and score; `puffer sweep report` shows what was found"
KEYS = True
REPORT = "report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV|report", help=f"{ENV_HELP}; or report")
    parser.add_argument(
        "which",
        metavar="SWEEP",
        nargs="?",
        help="of report: an environment (its latest sweep), a sweep's folder or its study.sqlite",
    )
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")
    parser.add_argument(
        "--resume", metavar="SWEEP", help="go on with a sweep: latest, or its folder"
    )
    parser.add_argument("--png", metavar="FILE", help="of report: also draw a picture (matplotlib)")
    parser.add_argument(
        "--export", metavar="FILE", help="of report: also write all trials (.csv, .json, .parquet)"
    )


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Run a sweep, or report one; the code is 128 + signal where a signal stopped it."""
    from puffer_core.errors import APIUsageError
    from puffer_protein.errors import SweepError

    if options.env != REPORT and (options.which or options.png or options.export):
        raise APIUsageError("SWEEP, --png and --export belong to `puffer sweep report SWEEP`.")
    try:
        if options.env == REPORT:
            return _report(options, values)
        return _sweep(options, values)
    except SweepError as error:
        raise APIUsageError(str(error)) from error


def _sweep(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    from puffer_cli.layers import COMMAND_LINE
    from puffer_cli.sweep.open import create_study, find_study
    from puffer_cli.sweep.settings import read_sweep
    from puffer_core.errors import APIUsageError

    sweep = read_sweep(options.env, values, options.config, COMMAND_LINE)
    if options.resume is None:
        study = create_study(sweep)
    else:
        changes = {k.removeprefix("sweep.") for k in values}
        if options.config or changes - {"max_runs", "max_cost", "workers", "max_failures"}:
            raise APIUsageError(
                "--resume goes on with the sweep's own settings; only sweep.max_runs, max_cost, "
                "workers and max_failures may change."
            )
        study = find_study(options.resume, sweep.env)
        changed = {k: getattr(sweep.settings, k) for k in changes}
        study.change(sweep=study.settings["sweep"] | changed)
        sweep.base = study.settings["base"]
    return execute(study, sweep.possible, options.json)


def execute(study: Study, constraint: Constraint, json_output: bool) -> int:
    """Run a study's trials and print what was found; the code as `run`."""
    from puffer_cli.dashboard import make_console
    from puffer_cli.report import to_json
    from puffer_cli.sweep.driver import Driver, Interrupted
    from puffer_cli.sweep.open import make_tuner
    from puffer_cli.sweep.report import document, print_report
    from puffer_cli.sweep.settings import SweepConfig
    from puffer_cli.sweep.show import SweepPage

    settings = SweepConfig(**study.settings["sweep"])
    tuner = make_tuner(study, constraint)
    console = make_console(json_output)
    console.print(f"sweep folder: {study.path.parent}", style="dim", highlight=False)
    try:
        with SweepPage(console, f"puffer sweep {study.settings['env']}") as page:
            Driver(study, tuner, settings, page).run()
    except Interrupted as stop:
        print(f"puffer: {stop}", file=sys.stderr)
        return 128 + stop.signal
    result = document(study, tuner)
    if json_output:
        print(to_json(result))
    else:
        print_report(console, result)
    return 0


def _report(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    from rich.console import Console

    from puffer_cli.report import to_json
    from puffer_cli.sweep.open import find_study, make_tuner
    from puffer_cli.sweep.report import document, draw, print_report
    from puffer_core.errors import APIUsageError
    from puffer_protein.exchange import export

    if options.which is None or values or options.resume or options.config:
        raise APIUsageError("usage: puffer sweep report SWEEP [--png FILE] [--export FILE]")
    study = find_study(options.which)
    tuner = make_tuner(study)
    result = document(study, tuner)
    if options.png:
        draw(study, tuner, result, options.png)
    if options.export:
        export(study, options.export)
    if options.json:
        print(to_json(result))
    else:
        print_report(Console(), result)
    return 0
