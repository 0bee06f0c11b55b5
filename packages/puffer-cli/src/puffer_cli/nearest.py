"""Name the nearest valid spelling in an error message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

MANY = 30  # choices that no message should list


def did_you_mean(name: str, choices: Iterable[str] | Mapping[str, str]) -> str:
    """The end of an error message about an unknown name: a suggestion, or all choices.

    Args:
        name: what was given.
        choices: valid names; a mapping gives the form in which the message shows each.
    """
    shown = choices if isinstance(choices, Mapping) else {choice: choice for choice in choices}
    lower = {choice.lower(): form for choice, form in shown.items()}
    near = difflib.get_close_matches(name.lower(), lower, 1, 0.5)
    if near:
        return f"did you mean {lower[near[0]]!r}?"
    if len(shown) > MANY:
        return f"none of the {len(shown)} there are is near."
    return f"there are {', '.join(sorted(shown.values()))}."
