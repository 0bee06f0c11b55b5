"""Name the nearest valid spelling in an error message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """The end of an error message about an unknown name: a suggestion, or all choices."""
    known = sorted(choices)
    lower = {choice.lower(): choice for choice in known}
    near = difflib.get_close_matches(name.lower(), lower, 1, 0.5)
    if near:
        return f"did you mean {lower[near[0]]!r}?"
    return f"there are {', '.join(known)}." if known else "there are none."
