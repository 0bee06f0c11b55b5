"""Where values come from: ini files, the command line, the configuration of an earlier run.

A layer maps dotted keys ("train.learning_rate", or "run_dir" at the top level) to raw values.
"""

from __future__ import annotations

import configparser
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puffer_cli.command_line import plain_key
from puffer_core.errors import APIUsageError

COMMAND_LINE = "command line"
MAX_BYTES = 1_000_000  # of a configuration file
TOP = "base"  # the ini section of keys without a section


@dataclass(frozen=True)
class Layer:
    """Raw values of one origin.

    Attributes:
        origin: a file, or "command line"; named in errors and kept with each value.
        values: by dotted key; texts, or typed values from Python.
    """

    origin: str
    values: Mapping[str, Any]


def read_ini(path: Path) -> Layer:
    """The keys of an ini file: `[section]`, `key = value`, comments after ` ;` or ` #`.

    Keys keep their case, dashes count as underscores, and `%` is an ordinary character.

    Raises:
        APIUsageError: the file cannot be read, or is no ini file (names file and line).
    """
    parser = configparser.RawConfigParser(
        delimiters=("=",),
        inline_comment_prefixes=(";", "#"),
        default_section="",  # no section is special; [DEFAULT] is unknown like any other
    )
    parser.optionxform = plain_key  # type: ignore[assignment]
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is no file")  # /dev/zero has no end, a named pipe no beginning
        if path.stat().st_size > MAX_BYTES:
            raise OSError(f"it is larger than {MAX_BYTES:,} bytes")
        with path.open(encoding="utf-8") as file:
            parser.read_file(file, str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise APIUsageError(f"cannot read the configuration {path}: {error}") from error
    values = {
        key if section == TOP else f"{section}.{key}": value
        for section in parser.sections()
        for key, value in parser.items(section)
    }
    return Layer(str(path), values)


def read_run(path: Path) -> tuple[str, Layer]:
    """The environment and the values of a run's `config.json`.

    Raises:
        APIUsageError: no such file, or not what `puffer train` writes.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        values = {key: entry["value"] for key, entry in document["config"].items()}
        name = values.pop("train.env")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise APIUsageError(f"{path} is no configuration of a run ({reason}).") from error
    return str(name), Layer(str(path), values)
