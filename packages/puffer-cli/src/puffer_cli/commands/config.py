"""`puffer config`: every setting with its value, where it came from and what it means."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.parser import ENV_HELP

HELP = "print every setting: value, origin, meaning"
KEYS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("env", metavar="ENV", help=ENV_HELP)
    parser.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")
    parser.add_argument("--changed", action="store_true", help="only what is not a default")


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Print the settings that `puffer train` would use with the same arguments."""
    from rich.console import Console

    from puffer_cli.config import DEFAULT, load_config
    from puffer_cli.environments import find
    from puffer_cli.keys import meanings
    from puffer_cli.report import to_json
    from puffer_cli.settings import print_settings

    config = load_config(options.env, values, options.config)
    texts = meanings(find(options.env))
    entries = {
        key: {**entry, "meaning": texts.get(key, "")}
        for key, entry in config.flat().items()
        if not (options.changed and entry["origin"] == DEFAULT)
    }
    if options.json:
        print(to_json({"env": config.train.env, "config": entries}))
    else:
        print_settings(Console(), entries)
    return 0
