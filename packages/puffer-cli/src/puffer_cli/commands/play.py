"""`puffer play`: play an environment with the keyboard."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP, at_least, whole

HELP = "play an environment with the keyboard"
EPILOG = """The keys are those that the environment's render.py declares; escape ends the game."""
KEYS = "env"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument(
        "--fps",
        type=whole,
        metavar="N",
        help="steps a second; 0: one for each key (default: what render.py says, or 15)",
    )
    parser.add_argument("--seed", type=whole, metavar="N", help="of the episodes (default: 0)")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Play until the window is closed; print every episode."""
    from puffer_cli import play
    from puffer_cli.environments import find
    from puffer_cli.report import to_json

    for name in ("fps", "seed"):
        at_least(options, name, 0)
    episodes = play.play(find(options.env), values, options.fps, options.seed or 0)
    if options.json:
        print(to_json({"episodes": episodes}))
    for episode in [] if options.json else episodes:
        print("  ".join(f"{name} {value:g}" for name, value in episode.items()))
    return 0
