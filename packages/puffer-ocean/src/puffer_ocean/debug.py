"""Play a debug build at random: sanitizers and the promises of the contract, every step.

The library is compiled with AddressSanitizer and UndefinedBehaviorSanitizer, which cannot be loaded
into Python without preparation; so a small C program, `contract_driver.c`, loads and plays it.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from puffer_core import APIUsageError
from puffer_ocean import build
from puffer_ocean.arguments import BOOL, ENUM, TEXT, Argument
from puffer_ocean.library import Library

DRIVER = build.PACKAGE / "contract_driver.c"
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


class Played(NamedTuple):
    """What a debug build did.

    Attributes:
        ends: ended episodes of each variant that was played to the end.
        findings: what the sanitizers or the driver say of the next one; empty: all is well.
    """

    ends: list[int]
    findings: str


def samples(argument: Argument) -> list[Any]:
    """Values to try: all choices, or the ends of the range; none of a text."""
    if argument.kind == TEXT:
        return []
    if argument.kind == ENUM:
        return list(argument.choices)
    if argument.kind == BOOL:
        return [False, True]
    return [argument.type(argument.low), argument.type(argument.high)]


def variants(
    library: Library, instead: Mapping[str, Sequence[Any]] | None = None
) -> list[dict[str, Any]]:
    """The defaults, then each sample of each argument beside the defaults of the others.

    Samples that `describe` refuses beside these defaults are left out.

    Args:
        library: of the environment.
        instead: values in place of the samples, by argument.
    """
    found: list[dict[str, Any]] = [{}]
    for name, argument in library.arguments.items():
        values = (instead or {}).get(name, samples(argument))
        found += [{name: value} for value in values if value != argument.default]
    return [given for given in found if not given or _fits(library, given)]


def _fits(library: Library, given: dict[str, Any]) -> bool:
    try:
        library.describe(library.check_arguments(given))
    except APIUsageError:
        return False
    return True


@functools.cache
def compile_driver(folder: Path) -> Path:
    """Compile the driver into a folder.

    Raises:
        BuildError: no compiler, or one without sanitizers.
    """
    program, part = folder / "contract_driver", folder / "contract_driver.o"
    compiler = build.compiler()
    # Linked with the sanitizers, whose allocator guards its buffers; its loops need no watching.
    for command in (
        [*compiler, "-O2", f"-I{build.INCLUDE}", "-c", str(DRIVER), "-o", str(part)],
        [*compiler, *build.SANITIZERS, str(part), "-o", str(program), "-ldl", "-lm"],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise build.BuildError(f"{DRIVER} does not compile:\n{result.stderr}")
    return program


def play(driver: Path, library: Path, steps: int, numbers: Sequence[Sequence[float]]) -> Played:
    """Play random steps in three copies of an environment, once for each variant.

    Args:
        driver: from `compile_driver`.
        library: built with `compile_library(..., debug=True)`.
        steps: of each variant.
        numbers: the arguments of each variant, from `Library.numbers`.
    """
    result = subprocess.run(
        [driver, library, str(steps), *(",".join(map(repr, each)) for each in numbers)],
        env=os.environ | OPTIONS,
        capture_output=True,
        text=True,
        check=False,
    )
    findings = result.stderr
    if result.returncode and not findings:
        findings = f"{library} ended with code {result.returncode} and no message"
    return Played([int(line) for line in result.stdout.split()], findings)
