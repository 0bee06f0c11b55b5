"""The `puffer` command. It only parses; what a command does is in `puffer_cli.commands`."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any

from puffer_cli.command_line import plain_key, split
from puffer_cli.commands import NAMES
from puffer_cli.parser import Parser

EXIT_FAILURE, EXIT_USAGE = 1, 2
COMPLETE = "complete"  # of shells' scripts, not for people: `puffer complete -- WORDS`
EXIT_SIGNAL = 128  # plus the number of the signal, as shells count


def module_of(command: str) -> Any:
    """The module of a command, by the command's name."""
    return import_module(f"puffer_cli.commands.{command.replace('-', '_')}")


def make_parser() -> Parser:
    """The grammar of the command, but for `--section.key` options."""
    parser = Parser(prog="puffer", description="Train and evaluate reinforcement-learning agents.")
    version = metadata.version("puffer-cli")
    parser.add_argument("--version", action="version", version=f"puffer {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name in NAMES:
        module = module_of(name)
        keys = getattr(module, "KEYS", None)
        command = commands.add_parser(
            name, help=module.HELP, epilog=getattr(module, "EPILOG", None), keys=keys is True
        )
        module.add_arguments(command)
        command.add_argument(
            "--json", action="store_true", help="print one JSON document on stdout, logs on stderr"
        )
        # Without this the list of options comes before the environment, and hides it.
        positionals = "".join(f" {a.metavar}" for a in command._actions if not a.option_strings)
        options = " [options]" + (" [--env.KEY VALUE]" if keys == "env" else "")
        command.usage = f"puffer {name}{positionals}{options}"
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
    if arguments[0] == COMPLETE:
        from puffer_cli.completion import candidates

        print("\n".join(candidates(parser, list(arguments[2:]))))
        return 0
    rest, values = split(arguments)
    options, unknown = parser.parse_known_args(rest)  # prints help, and ends the program
    from puffer_core.errors import APIUsageError  # brings gymnasium, which help need not wait for

    if unknown:
        raise APIUsageError(_unknown(unknown[0], options))
    if options.command is None:
        raise APIUsageError(f"a command is missing; there are {', '.join(NAMES)}.")
    module = module_of(options.command)
    if values and not hasattr(module, "KEYS"):
        raise APIUsageError(f"puffer {options.command} takes no --{next(iter(values))}.")
    with _old_keys_on_stderr():
        code: int = module.run(options, values)
    return code


@contextmanager
def _old_keys_on_stderr() -> Iterator[None]:
    """Show in plain words which keys of a configuration file are PufferLib's."""
    from puffer_cli.old_keys import OldKeys

    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, OldKeys):
                print(f"puffer: {message}", file=sys.stderr)
            else:
                usual(message, category, *rest)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("default", OldKeys)  # once, though files are read again
        yield


def _unknown(argument: str, options: argparse.Namespace) -> str:
    """What to say of an argument that the command does not have."""
    from puffer_cli.config import all_keys
    from puffer_cli.nearest import did_you_mean

    if not argument.startswith("-"):
        return f"unexpected argument {argument!r}; see `puffer {options.command} --help`."
    name = argument.partition("=")[0]
    # By the last part: `--learning-rate` is meant for `--train.learning-rate`.
    keys = {key.rpartition(".")[2]: key for key in all_keys()}
    own = {key: key for key in vars(options) if key not in ("command", "env")}
    shown = {key: f"--{full.replace('_', '-')}" for key, full in {**keys, **own}.items()}
    return f"unknown option {name!r}; {did_you_mean(plain_key(name.lstrip('-')), shown)}"


if __name__ == "__main__":
    sys.exit(main())
