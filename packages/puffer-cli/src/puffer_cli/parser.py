"""The parser of the `puffer` command, and what the commands' arguments have in common."""

from __future__ import annotations

import argparse
from typing import Any

ENV_HELP = (
    "an environment: NAME or puffer_NAME (`puffer envs` lists them), gymnasium/ID, ale/NAME, "
    "minigrid/ID, pettingzoo/FAMILY.NAME, or ./FOLDER"
)
RUN_DIR_HELP = "folder of run folders (default: runs)"


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


def at_least(options: argparse.Namespace, name: str, low: int) -> None:
    """Check the lower end of an option that takes a number.

    Raises:
        APIUsageError: the value is below `low`.
    """
    from puffer_core.errors import APIUsageError

    value = getattr(options, name)
    if value is not None and value < low:
        raise APIUsageError(f"--{name.replace('_', '-')} must be at least {low}, got {value}.")
