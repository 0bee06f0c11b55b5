"""`puffer envs`: the environments that are known by name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

HELP = "list the environments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command has no arguments of its own."""


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Print the list."""
    from puffer_cli.dashboard import make_console
    from puffer_cli.envs import list_environments, print_environments
    from puffer_cli.report import to_json

    found = list_environments()
    if options.json:
        print(to_json({"environments": found}))
    else:
        print_environments(make_console(False), found)
    return 0
