"""The `puffer` command: train, eval, check, envs. Heavy modules are imported where used."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from puffer_cli.command_line import split

EXIT_FAILURE, EXIT_USAGE = 1, 2
EXIT_SIGNAL = 128  # plus the number of the signal, as shells count

ENV_HELP = "an environment: NAME or puffer_NAME (`puffer envs` lists them), or gymnasium/ID"


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations, whose help ends with the configuration keys."""

    def __init__(self, keys: bool = False, **keywords: Any) -> None:
        super().__init__(allow_abbrev=False, **keywords)
        self._keys = keys

    def format_help(self) -> str:
        """The usual help, and the keys where the command takes them."""
        if not self._keys:
            return super().format_help()
        from puffer_cli.keys import describe_keys

        return super().format_help() + "\n" + describe_keys()


def whole(text: str) -> int:
    """A whole number from 1e3 or 10_000, as in the configuration."""
    from pydantic import TypeAdapter

    from puffer_cuda.config import Whole

    number: int = TypeAdapter(Whole).validate_python(text)
    return number


def make_parser() -> Parser:
    """The grammar of the command, but for `--section.key` options."""
    parser = Parser(prog="puffer", description="Train and evaluate reinforcement-learning agents.")
    version = metadata.version("puffer-cli")
    parser.add_argument("--version", action="version", version=f"puffer {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    train = commands.add_parser(
        "train",
        help="train a policy and evaluate it",
        keys=True,
        usage="puffer train ENV [options]",
    )
    train.add_argument("env", metavar="ENV", help=ENV_HELP)
    train.add_argument("--config", metavar="FILE", help="an ini file over the environment's own")
    train.add_argument("--run-dir", metavar="DIR", help="folder of run folders (default: runs)")

    train.add_argument(
        "--slowly", action="store_true", help="on torch: the same as --train.backend torch"
    )
    train.add_argument(
        "--resume",
        metavar="WHICH",
        help="go on with a run: latest, or the folder of a run or checkpoint",
    )

    evaluation = commands.add_parser(
        "eval", help="evaluate a policy", keys=True, usage="puffer eval ENV [options]"
    )
    evaluation.add_argument("env", metavar="ENV", help=ENV_HELP)
    evaluation.add_argument(
        "--policy",
        "--load-model-path",
        default="random",
        metavar="WHICH",
        help="random (default), latest, or the folder of a run or checkpoint",
    )
    for name, text in (
        ("episodes", "how many (default: 128)"),
        ("seed", "of environments and actions (default: as in the evaluation after training)"),
        ("max-steps", "leave out longer episodes (default: 100,000)"),
    ):
        evaluation.add_argument(f"--{name}", type=whole, metavar="N", help=text)
    evaluation.add_argument(
        "--run-dir", metavar="DIR", help="folder of run folders (default: runs)"
    )

    check = commands.add_parser(
        "check",
        help="run an environment with random actions and explain what would not learn",
        usage="puffer check ENV [options] [--env.KEY VALUE]",
        epilog="The exit code is 1 if there is an error; warnings and notes leave it 0.",
    )
    check.add_argument("env", metavar="ENV", help=ENV_HELP)
    for name, default, text in (
        ("steps", 10_000, "random steps (default: 10,000)"),
        ("seed", 0, "of the environment and the actions (default: 0)"),
        ("seconds", 60, "stop after this time (default: 60)"),
    ):
        check.add_argument(f"--{name}", type=whole, default=default, metavar="N", help=text)

    envs = commands.add_parser("envs", help="list the environments")
    for command in (train, evaluation, check, envs):
        command.add_argument(
            "--json", action="store_true", help="print one JSON document on stdout, logs on stderr"
        )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 (failure), 2 (usage) or 128 + signal."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        print("puffer: interrupted", file=sys.stderr)
        return EXIT_SIGNAL + 2
    except BrokenPipeError:  # `puffer envs | head`; keep the interpreter from flushing once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except (RuntimeError, OSError, ImportError) as error:
        from puffer_core.errors import APIUsageError

        print(f"puffer: error: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, APIUsageError) else EXIT_FAILURE


def _main(arguments: Sequence[str]) -> int:
    parser = make_parser()
    if not arguments:
        parser.print_help()
        return EXIT_USAGE
    rest, values = split(arguments)
    options, unknown = parser.parse_known_args(rest)
    from puffer_cli import commands

    return commands.run(options, unknown, values)


if __name__ == "__main__":
    sys.exit(main())
