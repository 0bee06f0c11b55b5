"""`puffer completion`: a script that completes commands, environments and options in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from puffer_cli.completion import SHELLS

HELP = "print a shell's completion script"
EPILOG = """bash: eval "$(puffer completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after
compinit. fish: puffer completion fish > ~/.config/fish/completions/puffer.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("shell", metavar="|".join(SHELLS), choices=list(SHELLS))


def run(options: argparse.Namespace, values: Mapping[str, Any]) -> int:
    """Print the script."""
    from puffer_cli.report import to_json

    script = SHELLS[options.shell]
    if options.json:
        print(to_json({"shell": options.shell, "script": script}))
    else:
        print(script, end="")
    return 0
