"""A search space: named parameters, conditions and constraints, and its map to vectors.

A point is a vector of the unit cube with one entry per parameter, in order. `features` are what
models see: numeric entries as they are, one entry per choice of a categorical parameter, and
neutral values where a parameter has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from puffer_protein.errors import SweepError
from puffer_protein.parameters import CATEGORICAL, SCALES, Array, Parameter

Values = dict[str, Any]
Constraint = Callable[[Values], bool]
ATTEMPTS = 10_000  # random points before constraints are called unsatisfiable
NEUTRAL = 0.5
DIGITS = 10  # of unit values, so that encode(decode(point)) is the point, bit for bit


class Space:
    """A search space.

    Attributes:
        parameters: by name, in order.
        time: name of the parameter that is the length of a run (`scale = time`), or None.
    """

    def __init__(
        self, parameters: Mapping[str, Parameter], constraints: Sequence[Constraint] = ()
    ) -> None:
        """Check the parameters.

        Args:
            parameters: by name.
            constraints: predicates on native values; points that one of them refuses are never
                suggested.

        Raises:
            SweepError: no parameters, a range that cannot be searched, or a wrong condition.
        """
        if not parameters:
            raise SweepError("a search space needs at least one parameter, got none.")
        self.parameters = dict(parameters)
        self.names = list(self.parameters)
        self._constraints = list(constraints)
        times = [name for name, p in self.parameters.items() if p.scale == "time"]
        if len(times) > 1:
            raise SweepError(f"scale = time marks the one length of a run, got {times}.")
        self.time = times[0] if times else None
        for name, parameter in self.parameters.items():
            parameter.check(name)
            self._check_condition(name, parameter)

    def _check_condition(self, name: str, parameter: Parameter) -> None:
        if parameter.when is None:
            return
        other, wanted = parameter.when
        # Earlier ones only: no circles, and one pass decides who has an effect.
        if other not in self.names[: self.names.index(name)]:
            raise SweepError(
                f"{name}: `when` must name a parameter that stands before it, got {other!r}."
            )
        condition = self.parameters[other]
        for value in wanted:
            if condition.kind != CATEGORICAL:
                raise SweepError(f"{name}: `when` needs a categorical parameter, not {other!r}.")
            try:
                condition.position(value)
            except SweepError as error:
                raise SweepError(f"{name}: when {other}: {error}") from None

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        integers: Sequence[str] = (),
        constraints: Sequence[Constraint] = (),
    ) -> Space:
        """A space from nested tables of the sweep grammar, as they stand in ini files.

        A table with the key `distribution` is a parameter: `min`, `max`, `scale` (auto, time or a
        number), for categorical ones `choices` (a list, or text with commas), and `when` as
        `other = a, b`. `mean` is accepted and has no effect: the first trial is the default
        configuration. Texts are converted.

        Args:
            config: e.g. {"train": {"learning_rate": {"distribution": "log_normal", ...}}}.
            integers: dotted names whose native values must be ints whatever the distribution.
            constraints: as in the constructor.

        Raises:
            SweepError: an entry that is no parameter, an unknown key, or a wrong range.
        """
        parameters: dict[str, Parameter] = {}
        _collect(config, "", parameters, set(integers))
        return cls(parameters, constraints)

    def as_config(self) -> dict[str, dict[str, Any]]:
        """The parameters as JSON-like tables by name; `Space.from_config` reads them."""
        tables = {}
        for name, p in self.parameters.items():
            table: dict[str, Any] = {"distribution": p.kind}
            if p.kind == CATEGORICAL:
                table["choices"] = list(p.choices)
            else:
                table |= {"min": p.low, "max": p.high, "scale": p.scale, "integer": p.integer}
            if p.when is not None:
                table["when"] = [p.when[0], list(p.when[1])]
            tables[name] = table
        return tables

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, values: Mapping[str, Any]) -> Array:
        """Native values -> point (d,). Values of parameters without effect may be missing.

        Raises:
            SweepError: a missing or unknown name, or a value that is no number or choice.
        """
        unknown = set(values) - set(self.names)
        if unknown:
            raise SweepError(f"unknown parameters {sorted(unknown)}; there are {self.names}.")
        point = np.full(len(self), NEUTRAL)
        for index, (name, parameter) in enumerate(self.parameters.items()):
            if name in values:
                try:
                    point[index] = parameter.to_unit(values[name])
                except (TypeError, ValueError) as error:
                    raise SweepError(f"{name}: {error}") from None
                if np.isnan(point[index]):
                    raise SweepError(f"{name}: expected a number, got {values[name]!r}.")
            elif self._active(name, values):
                raise SweepError(f"{name} is missing in {dict(values)!r}.")
        snapped: Array = self.snap(point[None])[0]
        return snapped

    def decode(self, point: Array) -> Values:
        """Point (d,) -> legal native values of the parameters that have an effect."""
        values: Values = {}
        for entry, (name, parameter) in zip(point, self.parameters.items(), strict=True):
            if self._active(name, values):
                values[name] = parameter.native(float(entry))
        return values

    def _active(self, name: str, values: Mapping[str, Any]) -> bool:
        when = self.parameters[name].when
        if when is None:
            return True
        other, wanted = when
        return other in values and any(
            self.parameters[other].position(values[other]) == self.parameters[other].position(w)
            for w in wanted
        )

    def snap(self, points: Array) -> Array:
        """Points (n, d) moved to legal values; entries without effect become neutral.

        Two points that decode to the same values become equal.
        """
        snapped = np.empty_like(points)
        active: dict[str, Any] = {}
        for index, (name, parameter) in enumerate(self.parameters.items()):
            column = np.round(parameter.snap(points[:, index]), DIGITS)
            active[name] = np.ones(len(points), bool)
            if parameter.when is not None:
                other, wanted = parameter.when
                condition = self.parameters[other]
                at = snapped[:, self.names.index(other)]
                allowed = np.round([condition.to_unit(value) for value in wanted], DIGITS)
                active[name] = np.isin(at, allowed) & active[other]
            snapped[:, index] = np.where(active[name], column, NEUTRAL)
        return snapped

    def features(self, points: Array) -> Array:
        """What models see of snapped points (n, d): (n, number of features)."""
        columns = []
        for index, parameter in enumerate(self.parameters.values()):
            column = points[:, index]
            if parameter.kind == CATEGORICAL:
                chosen = np.floor(column * len(parameter.choices))
                one_hot = chosen[:, None] == np.arange(len(parameter.choices))
                columns.append(one_hot * np.sqrt(0.5))  # two choices have distance 1
            else:
                columns.append(column[:, None])
        return np.concatenate(columns, axis=1)

    def allows(self, point: Array) -> bool:
        """Whether every constraint accepts the point."""
        if not self._constraints:
            return True
        values = self.decode(point)
        return all(constraint(values) for constraint in self._constraints)

    def sample(self, rng: np.random.Generator) -> Array:
        """A random legal point (d,).

        Raises:
            SweepError: constraints that next to nothing satisfies.
        """
        for _ in range(ATTEMPTS):
            point: Array = self.snap(rng.random((1, len(self))))[0]
            if self.allows(point):
                return point
        raise SweepError(f"{ATTEMPTS:,} random points, and the constraints refuse all of them.")


KEYS = ("distribution", "min", "max", "mean", "scale", "choices", "when", "integer")


def _collect(
    table: Mapping[str, Any], path: str, found: dict[str, Parameter], integers: set[str]
) -> None:
    """Put the parameters below `path` into `found`."""
    if "distribution" in table:
        found[path] = _parse(path, table, path in integers)
        return
    for key, inner in table.items():
        name = f"{path}.{key}" if path else str(key)
        if not isinstance(inner, Mapping):
            raise SweepError(
                f"{name}: expected a table with the keys distribution, min and max, got {inner!r}."
            )
        _collect(inner, name, found, integers)


def _parse(name: str, table: Mapping[str, Any], integer: bool) -> Parameter:
    for key in table:
        if key not in KEYS:
            raise SweepError(f"{name}: unknown key {key!r}; there are {', '.join(KEYS)}.")
    kind = str(table["distribution"])
    when = None
    if "when" in table:
        when = _condition(name, table["when"])
    if kind == CATEGORICAL:
        choices = table.get("choices", ())
        if isinstance(choices, str):
            choices = [_typed(text) for text in choices.split(",")]
        return Parameter(kind, choices=tuple(choices), when=when)
    bounds = []
    for key in ("min", "max"):
        if key not in table:
            raise SweepError(f"{name}: {key} is missing.")
        bounds.append(_number(f"{name}: {key}", table[key]))
    scale = table.get("scale", "auto")
    if scale not in SCALES:
        scale = _number(f"{name}: scale", scale)
    integer = integer or str(table.get("integer", False)).lower() == "true"
    low, high = bounds
    return Parameter(kind, low, high, integer=integer, scale=scale, when=when)


def _condition(name: str, value: Any) -> tuple[str, tuple[Any, ...]]:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([\w.]+)\s*=\s*(.+)", value)
        if match:
            return match[1], tuple(_typed(text) for text in match[2].split(","))
    elif isinstance(value, Sequence) and len(value) == 2:
        return str(value[0]), tuple(value[1])
    raise SweepError(f"{name}: when must read `other = value, value`, got {value!r}.")


def _number(what: str, value: Any) -> float:
    number = _typed(value) if isinstance(value, str) else value
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return number
    raise SweepError(f"{what}: expected a number, got {value!r}.")


def _typed(text: str) -> Any:
    """The int, float or bool that a text spells, or the text."""
    text = text.strip()
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)
