"""The grammar of `--section.key` options. It imports next to nothing: `puffer --help` needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def split(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Separate `--section.key` options from the rest of a command line.

    Forms: `--section.key value`, `--section.key=value`, and for switches `--section.key` and
    `--no-section.key`, which give True and False. The last of two equal keys counts.

    Returns:
        The other arguments in order, and the values by dotted key.

    Raises:
        APIUsageError: a `--no-` switch with a value.
    """
    rest: list[str] = []
    values: dict[str, Any] = {}
    pending = list(arguments)
    while pending:
        token = pending.pop(0)
        name, equals, text = token.partition("=")
        if not name.startswith("--") or "." not in name:
            rest.append(token)
            continue
        key = plain_key(name.removeprefix("--"))
        if key.startswith("no_"):
            if equals:
                from puffer_core.errors import APIUsageError

                raise APIUsageError(f"{token}: a --no- switch takes no value.")
            values[key.removeprefix("no_")] = False
        elif equals:
            values[key] = text
        elif pending and not pending[0].startswith("--"):
            values[key] = pending.pop(0)
        else:
            values[key] = True
    return rest, values


def plain_key(text: str) -> str:
    """The one spelling of a key: `learning-rate` is `learning_rate`; case stays."""
    return text.strip().replace("-", "_")
