"""Compile the native trainer for the CPU, once for each generation of processors.

Installing the package and `python -m puffer_cuda.native.build` call this code. It needs a C++
compiler only: this file imports nothing but the standard library.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent
SOURCE = PACKAGE / "cpp" / "api.cc"
LIBRARIES = PACKAGE / "lib"

FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-pthread")
# Neither changes a result: no code here looks at errno or at the flags of the floating-point unit.
RELEASE = ("-O3", "-fno-math-errno", "-fno-trapping-math")

# Level -> flags; the loader takes the highest that is built and that the processor can run.
X86_LEVELS = {
    "v4": ("-march=x86-64-v4", "-mprefer-vector-width=512"),
    "v3": ("-march=x86-64-v3",),
    "base": (),
}


class BuildError(RuntimeError):
    """No compiler, or one that cannot compile the trainer; the message holds its words."""


def levels() -> dict[str, tuple[str, ...]]:
    """The levels of this kind of processor, the highest first."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return X86_LEVELS if x86 else {"base": ()}


def library(level: str) -> Path:
    """Where the library of a level lies."""
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return LIBRARIES / f"puffer_native_{level}.{suffix}"


def compiler() -> list[str]:
    """The command of the C++ compiler: `$CXX`, or the first of c++, g++ and clang++ on the PATH.

    Raises:
        BuildError: none of them exists.
    """
    if os.environ.get("CXX"):
        command = shlex.split(os.environ["CXX"])
        if shutil.which(command[0]):
            return command
        raise BuildError(f"CXX={os.environ['CXX']!r}, but there is no program {command[0]!r}.")
    for candidate in ("c++", "g++", "clang++"):
        if shutil.which(candidate):
            return [candidate]
    raise BuildError(
        "no C++ compiler (looked for $CXX, c++, g++, clang++). Install one (Debian/Ubuntu: "
        "`apt install g++`, Fedora: `dnf install gcc-c++`, macOS: `xcode-select --install`) or set "
        "CXX, then install again"
    )


def compile_library(source: Path, target: Path, flags: tuple[str, ...]) -> None:
    """Compile one source to one shared library, replacing `target` only on success.

    Raises:
        BuildError: no compiler, or the source has errors.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        command = [*compiler(), *FLAGS, *flags, "-shared", str(source), "-o", str(built)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{source} does not compile for {target.name}:\n{result.stderr}")
        os.replace(built, target)


def build_all() -> dict[str, str]:
    """Build every level; an older compiler may not know the highest.

    Returns:
        The compiler's message of each level that failed.

    Raises:
        BuildError: no compiler, or not even the base level compiles.
    """
    failures = {}
    for level, flags in levels().items():
        try:
            compile_library(SOURCE, library(level), (*RELEASE, *flags))
        except BuildError as error:
            if level == "base":
                raise
            failures[level] = str(error)
    return failures


if __name__ == "__main__":
    for failed, message in build_all().items():
        print(f"level {failed}: {message}", file=sys.stderr)
