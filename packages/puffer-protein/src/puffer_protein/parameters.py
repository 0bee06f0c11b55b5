"""Tuned parameters: their kinds, their ranges, and the map between native and unit values.

Every numeric kind is a monotone function of a uniform variable u in [0, 1]:

| kind           | native value          | linear in            |
|----------------|-----------------------|----------------------|
| `uniform`      | a float               | v                    |
| `int_uniform`  | an int                | v, rounded           |
| `uniform_pow2` | a power of two        | log2 v, rounded      |
| `log_normal`   | a float above 0       | log v                |
| `logit_normal` | a float below 1       | log(1 - v)           |
| `categorical`  | one of the choices    | its position         |

The names of the distributions are PufferLib's; like there, values are uniform in the mapped range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from puffer_protein.errors import SweepError

Array = npt.NDArray[np.float64]


class Kind(NamedTuple):
    """A numeric kind.

    Attributes:
        forward: native -> mapped, increasing in u.
        inverse: mapped -> native.
        valid: whether a bound can be mapped.
        domain: what `valid` asks for, in words.
        whole: "" (floats), "value" (native values are integers) or "mapped" (exponents are).
    """

    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    valid: Callable[[float], bool] = math.isfinite
    domain: str = "finite"
    whole: str = ""


def _same(value: Any) -> Any:
    return value


def _power_of_two(value: float) -> bool:
    return value > 0 and math.isfinite(value) and math.log2(value).is_integer()


KINDS = {
    "uniform": Kind(_same, _same),
    "int_uniform": Kind(_same, _same, lambda v: float(v).is_integer(), "a whole number", "value"),
    "uniform_pow2": Kind(np.log2, np.exp2, _power_of_two, "a power of two", "mapped"),
    "log_normal": Kind(np.log, np.exp, lambda v: 0 < v < math.inf, "above 0"),
    "logit_normal": Kind(
        lambda v: -np.log1p(-v), lambda m: -np.expm1(-m), lambda v: -math.inf < v < 1, "below 1"
    ),
}
CATEGORICAL = "categorical"
SCALES = ("auto", "time")


@dataclass(frozen=True)
class Parameter:
    """One tuned value.

    Attributes:
        kind: a key of KINDS, or "categorical".
        low: smallest value.
        high: largest value.
        choices: of a categorical parameter, at least two.
        integer: native values are ints; always so for `int_uniform` and whole powers of two.
        scale: "time" marks the length of a run, of which learning curves are a function; a number
            (half-width of a local change in [-1, 1]) and "auto" are what PufferLib's files hold.
        when: (name of another parameter, its values) under which this one has an effect.
    """

    kind: str
    low: float = 0.0
    high: float = 1.0
    choices: tuple[Any, ...] = ()
    integer: bool = False
    scale: float | str = "auto"
    when: tuple[str, tuple[Any, ...]] | None = None

    def check(self, name: str) -> None:
        """Raise SweepError for a range that cannot be searched."""
        if self.kind == CATEGORICAL:
            if len(self.choices) < 2 or len(set(map(repr, self.choices))) < len(self.choices):
                raise SweepError(
                    f"{name}: expected at least two different choices, got {self.choices!r}."
                )
            return
        if self.kind not in KINDS:
            known = ", ".join([*KINDS, CATEGORICAL])
            raise SweepError(f"{name}: expected a distribution of {known}, got {self.kind!r}.")
        kind = KINDS[self.kind]
        for label, bound in (("min", self.low), ("max", self.high)):
            number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
            if not number or not math.isfinite(bound) or not kind.valid(bound):
                raise SweepError(
                    f"{name}: {label} of {self.kind} must be {kind.domain}, got {bound!r}."
                )
        if not self.low < self.high:
            raise SweepError(
                f"{name}: min must be below max, got min = {self.low!r}, max = {self.high!r}; "
                "leave the parameter out to keep it fixed."
            )
        if self.integer and math.ceil(self.low) > math.floor(self.high):
            raise SweepError(f"{name}: no whole number is between {self.low} and {self.high}.")
        if self.scale not in SCALES and not (
            isinstance(self.scale, (int, float)) and 0 < self.scale < math.inf
        ):
            raise SweepError(
                f"{name}: scale must be auto, time or a number above 0, got {self.scale!r}."
            )

    @property
    def whole(self) -> bool:
        """Whether native values are ints."""
        kind = KINDS[self.kind]
        return self.integer or kind.whole == "value" or (kind.whole == "mapped" and self.low >= 1)

    @property
    def mapped(self) -> tuple[float, float]:
        """The bounds on the mapped scale."""
        forward = KINDS[self.kind].forward
        return float(forward(self.low)), float(forward(self.high))

    def to_unit(self, value: Any) -> Any:
        """Native values (scalar or array) -> [0, 1]; values outside the bounds give the bounds."""
        if self.kind == CATEGORICAL:
            return (self.position(value) + 0.5) / len(self.choices)
        low, high = self.mapped
        clipped = np.clip(np.asarray(value, np.float64), self.low, self.high)
        return np.clip((KINDS[self.kind].forward(clipped) - low) / (high - low), 0.0, 1.0)

    def position(self, value: Any) -> int:
        """The index of a choice; 1, 1.0 and True are different ones.

        Raises:
            SweepError: no such choice.
        """
        for index, choice in enumerate(self.choices):
            if choice == value and isinstance(choice, bool) == isinstance(value, bool):
                return index
        raise SweepError(f"expected one of {self.choices!r}, got {value!r}.")

    def numbers(self, unit: Array) -> Array:
        """Unit values -> legal native values of a numeric kind, as float64."""
        kind = KINDS[self.kind]
        low, high = self.mapped
        mapped = low + np.clip(unit, 0.0, 1.0) * (high - low)
        if kind.whole == "mapped":
            mapped = np.round(mapped)
        value = np.clip(kind.inverse(mapped), self.low, self.high)
        if self.whole:
            value = np.clip(np.round(value), math.ceil(self.low), math.floor(self.high))
        return np.asarray(value, np.float64)

    def snap(self, unit: Array) -> Array:
        """The unit values of the nearest legal native values."""
        if self.kind == CATEGORICAL:
            count = len(self.choices)
            return np.asarray((np.minimum(np.floor(unit * count), count - 1) + 0.5) / count)
        if not self.whole and not KINDS[self.kind].whole:
            return unit
        return np.asarray(self.to_unit(self.numbers(unit)))

    def native(self, unit: float) -> Any:
        """The legal native value of one unit value: an int, a float or a choice."""
        if self.kind == CATEGORICAL:
            return self.choices[min(int(unit * len(self.choices)), len(self.choices) - 1)]
        value = float(self.numbers(np.asarray(unit, np.float64)))
        return round(value) if self.whole else value


def uniform(low: float, high: float, **keywords: Any) -> Parameter:
    """A float, uniform in [low, high]."""
    return Parameter("uniform", low, high, **keywords)


def integer(low: int, high: int, **keywords: Any) -> Parameter:
    """A whole number, uniform in [low, high]."""
    return Parameter("int_uniform", low, high, **keywords)


def power_of_two(low: float, high: float, **keywords: Any) -> Parameter:
    """A power of two in [low, high], uniform in its exponent."""
    return Parameter("uniform_pow2", low, high, **keywords)


def log(low: float, high: float, **keywords: Any) -> Parameter:
    """A float above 0, uniform in its logarithm; `scale="time"` marks the length of a run."""
    return Parameter("log_normal", low, high, **keywords)


def logit(low: float, high: float, **keywords: Any) -> Parameter:
    """A float below 1 such as a discount, uniform in log(1 - value)."""
    return Parameter("logit_normal", low, high, **keywords)


def choice(*choices: Any, **keywords: Any) -> Parameter:
    """One of the choices."""
    return Parameter(CATEGORICAL, choices=choices, **keywords)
