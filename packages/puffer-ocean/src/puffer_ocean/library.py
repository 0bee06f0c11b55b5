"""Load a compiled environment and read what it declares of itself."""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi
import gymnasium
import numpy as np

from puffer_core import APIUsageError
from puffer_ocean import build
from puffer_ocean.arguments import TEXT, Argument, declared, names_of
from puffer_ocean.folders import folder_of

DTYPES = (np.uint8, np.int8, np.int16, np.int32, np.float32)  # enum puffer_dtype


@functools.cache
def contract() -> Any:
    """The C contract, read from `puffer_env.h` itself."""
    ffi = cffi.FFI()
    ffi.cdef(declarations("puffer_env.h"))
    return ffi


def declarations(header: str) -> str:
    """The part of a header that cffi reads."""
    text = (build.INCLUDE / header).read_text()
    found = re.search(r"/\* cffi: begin.*?\*/(.*)/\* cffi: end \*/", text, re.DOTALL)
    assert found is not None
    return found[1]


@dataclass(frozen=True)
class Spec:
    """The layout of one environment for given arguments; derived from the C `puffer_spec`."""

    num_agents: int
    observation_space: gymnasium.spaces.Box
    action_space: gymnasium.Space[Any]
    action_masks: bool
    max_steps: int
    render_size: int


class Library:
    """One environment's shared library.

    Attributes:
        name: the environment's name, that of its folder.
        folder: holds its source, `config.ini` and `render.py`.
        arguments: its keyword arguments by name, in declared order.
        log_fields: what a finished episode reports beside return and length.
        functions: the C table `puffer_library`.
    """

    def __init__(self, folder: Path) -> None:
        """Load the library of a folder and check that it was built against this contract.

        Raises:
            ImportError: the file is missing or older than a source outside this package, is no
                environment, has another ABI or name, or its table of arguments contradicts itself.
        """
        ffi, name, path = contract(), folder.name, build.library_in(folder)
        shipped = folder.parent == build.ENVS
        command = f"`python -m puffer_ocean {name}`" if shipped else f"`puffer build {folder}`"
        if not path.exists():
            raise ImportError(
                f"environment {name!r} is not built ({path} is missing); build it with {command}."
            )
        source = build.source_in(folder)
        if not shipped and source.exists() and source.stat().st_mtime > path.stat().st_mtime:
            raise ImportError(f"{path} is older than its source; build it with {command}.")
        try:
            self._handle = ffi.dlopen(str(path))
            table = self._handle.puffer_environment()
        except (OSError, AttributeError) as error:
            raise ImportError(f"{path} is no puffer environment: {error}") from error
        self._check_sizes(path, table)
        if (own := _text(table.name)) != name:
            raise ImportError(f"{path}: PUFFER_NAME is {own!r}, expected that of the folder.")
        self.name = name
        self.folder = folder
        self.functions = table
        try:
            self.arguments = names_of([_argument(table.args[i]) for i in range(table.num_args)])
        except ValueError as error:
            raise ImportError(f"{path}: {error}.") from error
        self.log_fields = [_text(table.log_fields[i]) for i in range(table.num_log_fields)]

    def _check_sizes(self, path: Path, table: Any) -> None:
        """The version first: a table of another one may be shorter than what would be read."""
        expected = {"abi_version": ("ABI version", self._handle.PUFFER_ABI_VERSION)}
        for struct in ("library", "arg", "spec", "buffers", "env"):
            size = contract().sizeof(f"puffer_{struct}")
            expected[f"{struct}_size"] = (f"puffer_{struct} size", size)
        for field, (what, value) in expected.items():
            if (got := getattr(table, field)) != value:
                raise ImportError(f"{path}: {what} is {got}, expected {value}; build it again.")

    def check_arguments(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """The values of all arguments in declared order, defaults filled in.

        Raises:
            APIUsageError: an unknown name (with the nearest one), a wrong type or range.
        """
        for name in keywords:
            if name not in self.arguments:
                near = difflib.get_close_matches(name, self.arguments, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {list(self.arguments)}."
                raise APIUsageError(f"{self.name} has no argument {name!r}; {hint}")
        return {
            name: argument.check(keywords[name]) if name in keywords else argument.default
            for name, argument in self.arguments.items()
        }

    def numbers(self, values: dict[str, Any]) -> list[float]:
        """Checked values of all arguments as C takes them."""
        return [argument.number(values[name]) for name, argument in self.arguments.items()]

    def texts(self, values: dict[str, Any]) -> list[Any]:
        """Checked texts as C takes them beside the numbers; the caller keeps them alive."""
        ffi = contract()
        return [
            ffi.new("char[]", values[name].encode()) if argument.kind == TEXT else ffi.NULL
            for name, argument in self.arguments.items()
        ]

    def describe(self, values: dict[str, Any]) -> Spec:
        """Spaces and sizes for these argument values.

        Raises:
            APIUsageError: the environment refuses the values; its own message.
        """
        ffi = contract()
        raw = ffi.new("puffer_spec *")
        error = self.functions.describe(self.numbers(values), raw)
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
            _action_space(raw),
            raw.action_masks,
            raw.max_steps,
            raw.render_size,
        )


def _argument(row: Any) -> Argument:
    text, help_text = (_text(p) if p else "" for p in (row.text, row.help))
    return declared(_text(row.name), row.type, row.initial, row.low, row.high, text, help_text)


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


def load(name: str) -> Library:
    """The library of an environment; `puffer_NAME` and `NAME` are the same.

    Args:
        name: as `folder_of` takes it.

    Raises:
        APIUsageError: there is no such environment (names the nearest).
        ImportError: it is not built, or was built against another contract.
    """
    return load_folder(folder_of(name))


@functools.cache
def load_folder(folder: Path) -> Library:
    """The library of a folder, loaded once. Raises what `load` raises."""
    return Library(folder)
