"""What `puffer train`, `eval` and `envs` do with their options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from puffer_cli import evaluate, train
from puffer_cli.config import RUN_DIR, all_keys, load_config
from puffer_cli.dashboard import Dashboard, make_console
from puffer_cli.environments import find
from puffer_cli.envs import list_environments, print_environments
from puffer_cli.layers import COMMAND_LINE, Layer
from puffer_cli.nearest import did_you_mean
from puffer_cli.report import print_result, to_json
from puffer_core.errors import APIUsageError

EPISODES = 128


def run(options: argparse.Namespace, unknown: list[str], values: Mapping[str, Any]) -> int:
    """Run a parsed command line and return the exit code.

    Args:
        options: of the command.
        unknown: arguments that the command does not have.
        values: of `--section.key` options.

    Raises:
        APIUsageError: unknown arguments, or keys for a command that takes none.
    """
    keys = [f"--{key.replace('_', '-')}" for key in all_keys() if "." in key]
    if unknown:
        own = [f"--{name.replace('_', '-')}" for name in vars(options)]
        # `--learning-rate` is nearer to `--train.learning-rate` than its spelling tells.
        same = [key for key in keys if key.endswith("." + unknown[0].partition("=")[0].lstrip("-"))]
        hint = f"did you mean {same[0]!r}?" if same else did_you_mean(unknown[0], own + keys)
        raise APIUsageError(f"unknown argument {unknown[0]!r}; {hint}")
    if options.command is None:
        raise APIUsageError("a command is missing; there are train, eval, envs.")
    if options.command == "envs":
        return _envs(options, values)
    if options.run_dir is not None:
        values = {**values, "run_dir": options.run_dir}
    command = _train if options.command == "train" else _eval
    return command(options, values)


def _train(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    config = load_config(options.env, values, options.config)
    console = make_console(options.json)
    try:
        with Dashboard(console, f"puffer train {config.train.env}") as dashboard:
            document = train.train(config, dashboard)
    except train.Stopped as stop:
        print(f"puffer: {stop}", file=sys.stderr)
        return 128 + stop.signal
    return _finish(console, document, options.json)


def _eval(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    environment = find(options.env)
    checkpoint = None
    if options.policy == evaluate.RANDOM:
        config = load_config(options.env, values)
    else:
        run_dir = options.run_dir or RUN_DIR
        checkpoint = evaluate.find_checkpoint(run_dir, environment.name, options.policy)
        config = evaluate.run_config(environment, checkpoint, Layer(COMMAND_LINE, values))
    episodes = EPISODES if options.episodes is None else options.episodes
    seed = evaluate.evaluation_seed(config) if options.seed is None else options.seed
    max_steps = evaluate.MAX_STEPS if options.max_steps is None else options.max_steps
    for name, value, low in (
        ("episodes", episodes, 1),
        ("seed", seed, 0),
        ("max-steps", max_steps, 1),
    ):
        if value < low:
            raise APIUsageError(f"--{name} must be at least {low}, got {value}.")
    console = make_console(options.json)
    with Dashboard(console, f"puffer eval {environment.name}") as dashboard:
        dashboard.print(f"policy: {checkpoint or 'random (uniform actions)'}")
        document = evaluate.evaluate(config, checkpoint, episodes, seed, max_steps, dashboard)
    return _finish(console, document, options.json)


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
