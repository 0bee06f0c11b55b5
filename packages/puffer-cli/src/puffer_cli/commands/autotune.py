"""`puffer autotune`: find the vectorizer settings that step an environment fastest here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP, at_least, whole

HELP = "measure vectorizer settings on this machine and name the best"
KEYS = "env"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    for name, default, text in (
        ("seconds", 30, "time for everything (default: 30)"),
        ("num-envs", None, "environments of every plan (default: several numbers)"),
        ("max-envs", 1024, "most environments to try (default: 1,024)"),
        ("max-memory", None, "bytes that a plan may take (default: 80 % of what is free)"),
        ("seed", 0, "of environments and actions (default: 0)"),
    ):
        parser.add_argument(
            f"--{name}", type=whole, default=default, metavar="N", help=text.replace("%", "%%")
        )


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Measure and print; what the environment raises ends the command."""
    import functools

    from rich.console import Console

    from puffer_cli.autotune import print_tuning, settings_text
    from puffer_cli.environments import find, own_keys
    from puffer_cli.layers import COMMAND_LINE
    from puffer_cli.report import to_json
    from puffer_vector import Trial, autotune

    for name in ("seconds", "num_envs", "max_envs", "max_memory"):
        at_least(options, name, 1)
    at_least(options, "seed", 0)
    environment = find(options.env)
    raw = own_keys("autotune", values)
    arguments = environment.arguments(raw, dict.fromkeys(raw, COMMAND_LINE))
    log = Console(stderr=True, highlight=False)

    def report(trial: Trial) -> None:
        line = f"{settings_text(trial)}: {trial.steps_per_second:,.0f} steps/s"
        log.print(line, style="dim", soft_wrap=True)

    tuning = autotune(
        functools.partial(environment.creator(), **arguments),
        num_envs=options.num_envs,
        max_envs=options.max_envs,
        max_memory=options.max_memory,
        seconds=options.seconds,
        seed=options.seed,
        report=report,
    )
    if options.json:
        print(to_json({"env": environment.name, **tuning.as_dict()}))
    else:
        print_tuning(Console(), environment.name, tuning)
    return 0
