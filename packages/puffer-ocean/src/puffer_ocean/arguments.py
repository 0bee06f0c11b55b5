"""The keyword arguments of an environment, as the ARGS table of its C source declares them."""

from __future__ import annotations

import keyword
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_core import APIUsageError

BOOL, ENUM, TEXT = "bool", "enum", "text"
KINDS = ("int", "float", BOOL, ENUM, TEXT)  # enum puffer_arg_type
PYTHON_TYPES = {"int": int, "float": float, BOOL: bool, ENUM: str, TEXT: str}
TAKEN = ("name", "num_envs", "num_threads", "render_mode", "buf", "seed")  # by OceanEnv itself


@dataclass(frozen=True)
class Argument:
    """A keyword argument of an environment.

    Attributes:
        kind: one of KINDS.
        default: the value it has if none is given, in its Python type.
        low: of integers and floats.
        high: of integers and floats, inclusive.
        choices: of an enum.
    """

    name: str
    kind: str
    default: Any
    low: float
    high: float
    help: str
    choices: tuple[str, ...] = ()

    @property
    def type(self) -> type:
        """The Python type of its values."""
        return PYTHON_TYPES[self.kind]

    @property
    def expected(self) -> str:
        """What fits, in words."""
        if self.kind == ENUM:
            return f"one of {', '.join(map(repr, self.choices))}"
        words = {"int": "an integer", "float": "a number", BOOL: "true or false", TEXT: "a string"}
        ranged = f" from {self.low:g} to {self.high:g}" if self.kind in ("int", "float") else ""
        return words[self.kind] + ranged

    def check(self, value: Any) -> Any:
        """`value` in the argument's Python type.

        Raises:
            APIUsageError: wrong type, not finite, out of range, or no choice.
        """
        if not self._fits(value):
            raise APIUsageError(f"{self.name} must be {self.expected}, got {value!r}.")
        return self.type(value)

    def _fits(self, value: Any) -> bool:
        if self.kind == ENUM:
            return isinstance(value, str) and value in self.choices
        if self.kind == TEXT:
            return isinstance(value, str) and "\0" not in value
        if not isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
            return False
        if self.kind == BOOL:
            return bool(value in (0, 1))
        # the range first: math.isfinite cannot take an integer beyond the floats
        if isinstance(value, (bool, np.bool_)) or not self.low <= value <= self.high:
            return False
        return math.isfinite(value) and (self.kind == "float" or int(value) == value)

    def number(self, value: Any) -> float:
        """A checked value as the double that C gets; 0 for a text."""
        if self.kind == ENUM:
            return float(self.choices.index(value))
        return 0.0 if self.kind == TEXT else float(value)

    def value(self, number: float) -> Any:
        """The value that C has as a double; texts have none."""
        return self.choices[int(number)] if self.kind == ENUM else self.type(number)


def declared(
    name: str, kind: int, initial: float, low: float, high: float, text: str, help_text: str
) -> Argument:
    """An argument from its row in the C table.

    Raises:
        ValueError: the row contradicts itself; the message says how.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name in TAKEN:
        raise ValueError(f"argument {name!r}: the name must be an identifier that is not taken")
    if not 0 <= kind < len(KINDS):
        raise ValueError(f"argument {name!r}: unknown type {kind}")
    word = KINDS[kind]
    choices = tuple(text.split("|")) if word == ENUM else ()
    if word == ENUM and (len({*choices}) < len(choices) or "" in choices):
        raise ValueError(f"argument {name!r}: the choices {text!r} must be different words")
    if word == ENUM and not (initial % 1 == 0 and 0 <= initial < len(choices)):
        raise ValueError(f"argument {name!r}: there is no choice {initial:g} in {text!r}")
    default = text if word == TEXT else choices[int(initial)] if word == ENUM else initial
    argument = Argument(name, word, default, low, high, help_text, choices)
    try:
        checked = argument.check(default)
    except APIUsageError as error:
        raise ValueError(f"argument {name!r}: the default does not fit: {error}") from error
    return Argument(name, word, checked, low, high, help_text, choices)


def names_of(arguments: Sequence[Argument]) -> dict[str, Argument]:
    """Arguments by name, in declared order.

    Raises:
        ValueError: two have the same name.
    """
    named = {argument.name: argument for argument in arguments}
    if len(named) < len(arguments):
        raise ValueError(f"two arguments have the same name: {[a.name for a in arguments]}")
    return named
