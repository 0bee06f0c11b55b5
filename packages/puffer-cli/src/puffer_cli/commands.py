"""What `puffer train`, `eval`, `check` and `envs` do with their options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from puffer_cli import evaluate, resume, train
from puffer_cli.checkpoints import run_layer
from puffer_cli.command_line import plain_key
from puffer_cli.config import all_keys, load_config
from puffer_cli.dashboard import Dashboard, make_console
from puffer_cli.environments import find
from puffer_cli.envs import list_environments, print_environments
from puffer_cli.layers import COMMAND_LINE, Layer
from puffer_cli.nearest import did_you_mean
from puffer_cli.report import print_result, to_json
from puffer_core.errors import APIUsageError


def run(options: argparse.Namespace, unknown: list[str], values: Mapping[str, Any]) -> int:
    """Run a parsed command line and return the exit code.

    Args:
        options: of the command.
        unknown: arguments that the command does not have.
        values: of `--section.key` options.

    Raises:
        APIUsageError: unknown arguments, or keys for a command that takes none.
    """
    if unknown:
        raise APIUsageError(_unknown(unknown[0], options))
    if options.command is None:
        raise APIUsageError("a command is missing; there are train, eval, check, envs.")
    if options.command == "envs":
        return _envs(options, values)
    if options.command == "check":
        return _check(options, values)
    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    command = _train if options.command == "train" else _eval
    return command(options, values)


def _unknown(argument: str, options: argparse.Namespace) -> str:
    """What to say of an argument that the command does not have."""
    if not argument.startswith("-"):
        return f"unexpected argument {argument!r}; see `puffer {options.command} --help`."
    name = argument.partition("=")[0]
    # By the last part: `--learning-rate` is meant for `--train.learning-rate`.
    keys = {key.rpartition(".")[2]: key for key in all_keys()}
    own = {key: key for key in vars(options) if key not in ("command", "env")}
    shown = {key: f"--{full.replace('_', '-')}" for key, full in {**keys, **own}.items()}
    return f"unknown option {name!r}; {did_you_mean(plain_key(name.lstrip('-')), shown)}"


def _train(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    changed: list[str] = []
    checkpoint = None
    if options.slowly:
        values = {**values, "train.backend": "torch"}
    if options.resume is None:
        config = load_config(options.env, values, options.config)
    else:
        if options.config is not None:
            raise APIUsageError("--resume goes on with the run's own settings, without --config.")
        environment, changes = find(options.env), Layer(COMMAND_LINE, values)
        config, checkpoint = resume.resume_config(environment, options.resume, changes)
        changed = resume.differences(run_layer(environment, checkpoint), config)
    console = make_console(options.json)
    try:
        with Dashboard(console, f"puffer train {config.train.env}") as dashboard:
            for line in changed:
                dashboard.print(line)
            document = train.train(config, dashboard, resume=checkpoint)
    except train.Stopped as stop:
        print(f"puffer: {stop}", file=sys.stderr)
        return 128 + stop.signal
    return _finish(console, document, options.json)


def _eval(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    environment = find(options.env)
    for name, low in (("episodes", 1), ("seed", 0), ("max_steps", 1)):
        _at_least(options, name, low)
    given = {name: getattr(options, name) for name in evaluate.Request._fields}
    request = evaluate.Request(
        **{name: value for name, value in given.items() if value is not None}
    )
    console = make_console(options.json)
    with Dashboard(console, f"puffer eval {environment.name}") as dashboard:
        changes = Layer(COMMAND_LINE, values)
        document = evaluate.evaluate(environment, request, changes, dashboard)
    return _finish(console, document, options.json)


def _check(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    from puffer_cli import check
    from puffer_core import check_env

    for name, low in (("steps", 1), ("seed", 0), ("seconds", 1)):
        _at_least(options, name, low)
    creator = check.creator(find(options.env), values)
    report = check_env(creator, options.steps, options.seed, options.seconds)
    if options.json:
        print(to_json(report.as_dict()))
    else:
        check.print_report(Console(), report)  # tables need all the width there is
    return 0 if report.ok else 1


def _at_least(options: argparse.Namespace, name: str, low: int) -> None:
    value = getattr(options, name)
    if value is not None and value < low:
        raise APIUsageError(f"--{name.replace('_', '-')} must be at least {low}, got {value}.")


def _envs(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    if values:
        raise APIUsageError(f"puffer envs takes no {next(iter(values))}.")
    found = list_environments()
    if options.json:
        print(to_json({"environments": found}))
    else:
        print_environments(make_console(False), found)
    return 0


def _finish(console: Console, document: Mapping[str, Any], json_output: bool) -> int:
    if json_output:
        print(to_json(document))
    else:
        print_result(console, document)
    return 0
