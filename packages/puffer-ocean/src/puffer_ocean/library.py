"""Load a compiled environment and read what it declares of itself."""

from __future__ import annotations

import difflib
import functools
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi
import gymnasium
import numpy as np

from puffer_core import APIUsageError
from puffer_ocean import build

DTYPES = (np.uint8, np.int8, np.int16, np.int32, np.float32)  # enum puffer_dtype
TYPES = (int, float, bool)  # enum puffer_arg_type


@functools.cache
def contract() -> Any:
    """The C contract, read from `puffer_env.h` itself."""
    text = (build.INCLUDE / "puffer_env.h").read_text()
    declarations = re.search(r"/\* cffi: begin.*?\*/(.*)/\* cffi: end \*/", text, re.DOTALL)
    assert declarations is not None
    ffi = cffi.FFI()
    ffi.cdef(declarations[1])
    return ffi


@dataclass(frozen=True)
class Argument:
    """A keyword argument of an environment, as its ARGS table declares it."""

    name: str
    type: type
    default: float
    low: float
    high: float
    help: str

    def check(self, value: Any) -> float:
        """`value` as the double that C gets.

        Raises:
            APIUsageError: wrong type, not finite, or out of range.
        """
        kind = {int: "an integer", float: "a number", bool: "true or false"}[self.type]
        expected = f"{self.name} must be {kind}"
        if self.type is not bool:
            expected += f" from {self.low:g} to {self.high:g}"
        fits = isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))
        if self.type is bool:
            fits = fits and value in (0, 1)
        elif isinstance(value, (bool, np.bool_)):
            fits = False
        # the range first: math.isfinite cannot take an integer beyond the floats
        if not fits or not self.low <= value <= self.high or not math.isfinite(value):
            raise APIUsageError(f"{expected}, got {value!r}.")
        if self.type is int and int(value) != value:
            raise APIUsageError(f"{expected}, got {value!r}.")
        return float(value)


@dataclass(frozen=True)
class Spec:
    """The layout of one environment for given arguments; derived from the C `puffer_spec`."""

    num_agents: int
    observation_space: gymnasium.spaces.Box
    action_space: gymnasium.Space[Any]
    render_size: int


class Library:
    """One environment's shared library.

    Attributes:
        name: the environment's name.
        arguments: its keyword arguments by name, in declared order.
        log_fields: what a finished episode reports beside return and length.
        functions: the C table `puffer_library`.
    """

    def __init__(self, name: str, path: Path) -> None:
        """Load `path` and check that it was built against this contract.

        Raises:
            ImportError: the file is missing, is no environment, or has another ABI.
        """
        ffi = contract()
        if not path.exists():
            raise ImportError(
                f"environment {name!r} is not built ({path} is missing); "
                f"build it with `python -m puffer_ocean {name}`."
            )
        try:
            self._handle = ffi.dlopen(str(path))
            table = self._handle.puffer_environment()
        except (OSError, AttributeError) as error:
            raise ImportError(f"{path} is no puffer environment: {error}") from error
        sizes = {
            "ABI version": (table.abi_version, self._handle.PUFFER_ABI_VERSION),
            "puffer_library size": (table.library_size, ffi.sizeof("puffer_library")),
            "puffer_spec size": (table.spec_size, ffi.sizeof("puffer_spec")),
            "puffer_buffers size": (table.buffers_size, ffi.sizeof("puffer_buffers")),
            "puffer_env size": (table.env_size, ffi.sizeof("puffer_env")),
        }
        for what, (got, expected) in sizes.items():
            if got != expected:
                raise ImportError(f"{path}: {what} is {got}, expected {expected}; build it again.")
        self.name = name
        self.functions = table
        self.arguments = {
            argument.name: argument
            for argument in (self._argument(table.args[i]) for i in range(table.num_args))
        }
        self.log_fields = [_text(table.log_fields[i]) for i in range(table.num_log_fields)]

    @staticmethod
    def _argument(entry: Any) -> Argument:
        kind = TYPES[entry.type]
        return Argument(
            _text(entry.name), kind, kind(entry.initial), entry.low, entry.high, _text(entry.help)
        )

    def check_arguments(self, keywords: dict[str, Any]) -> list[float]:
        """The values of all arguments in declared order, defaults filled in.

        Raises:
            APIUsageError: an unknown name (with the nearest one), a wrong type or range.
        """
        for name in keywords:
            if name not in self.arguments:
                near = difflib.get_close_matches(name, self.arguments, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {list(self.arguments)}."
                raise APIUsageError(f"{self.name} has no argument {name!r}; {hint}")
        return [
            argument.check(keywords[name]) if name in keywords else argument.default
            for name, argument in self.arguments.items()
        ]

    def describe(self, values: list[float]) -> Spec:
        """Spaces and sizes for these argument values.

        Raises:
            APIUsageError: the environment refuses the values; its own message.
        """
        ffi = contract()
        raw = ffi.new("puffer_spec *")
        error = self.functions.describe(values, raw)
        if error != ffi.NULL:
            raise APIUsageError(f"{self.name}: {_text(error)}")
        dtype: Any = np.dtype(DTYPES[raw.obs_dtype])
        shape = tuple(size for size in raw.obs_shape if size)
        low, high = raw.obs_low, raw.obs_high
        if low == high:
            limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
            low, high = limits.min, limits.max
        return Spec(
            raw.num_agents,
            gymnasium.spaces.Box(low, high, shape, dtype.type),
            self._action_space(raw),
            raw.render_size,
        )

    @staticmethod
    def _action_space(raw: Any) -> gymnasium.Space[Any]:
        if raw.action_dims:
            low, high = np.float32(raw.action_low), np.float32(raw.action_high)
            return gymnasium.spaces.Box(low, high, (raw.action_dims,), np.float32)
        heads = list(raw.head_sizes)[: raw.num_heads]
        if len(heads) == 1:
            return gymnasium.spaces.Discrete(heads[0])
        return gymnasium.spaces.MultiDiscrete(heads)


def _text(pointer: Any) -> str:
    value = contract().string(pointer)
    assert isinstance(value, bytes)
    return value.decode()


@functools.cache
def load(name: str) -> Library:
    """The library of a shipped environment; `puffer_NAME` and `NAME` are the same.

    Raises:
        APIUsageError: there is no such environment (names the nearest).
        ImportError: it is not built, or was built against another contract.
    """
    short = name.removeprefix("puffer_")
    if short not in build.names():
        near = difflib.get_close_matches(short, build.names(), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(build.names())}."
        raise APIUsageError(f"unknown environment {name!r}; {hint}")
    return Library(short, build.library(short))
