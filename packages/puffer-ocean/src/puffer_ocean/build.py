"""Compile C environments, each to its own shared library, and the pool of threads beside them.

Installing the package and `python -m puffer_ocean` call this code. It needs a C compiler only: this
file imports nothing but the standard library.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent
ENVS = PACKAGE / "envs"
LIBRARIES = PACKAGE / "lib"
INCLUDE = PACKAGE / "include"
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
POOL = LIBRARIES / f"libpuffer_pool{SUFFIX}"

# -ffp-contract=off: the same floats on every machine, with or without fused multiply-add.
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-ffp-contract=off", "-fno-math-errno")
RELEASE = ("-O3",)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
# PUFFER_DEBUG: rows of an environment apart from its neighbours'
DEBUG = ("-O1", "-g", "-DPUFFER_DEBUG", *SANITIZERS)


class BuildError(RuntimeError):
    """No compiler, or a source that does not compile; the message holds the compiler's words."""


def names() -> list[str]:
    """The shipped environments, in alphabetical order."""
    return sorted(path.name for path in ENVS.iterdir() if source(path.name).exists())


def source(name: str) -> Path:
    """The C source of a shipped environment."""
    return source_in(ENVS / name)


def library(name: str) -> Path:
    """Where the shared library of a shipped environment lies."""
    return library_in(ENVS / name)


def source_in(folder: Path) -> Path:
    """The C source of the environment in a folder of its name."""
    return folder / f"{folder.name}.c"


def library_in(folder: Path) -> Path:
    """Where the shared library of that environment lies: in the folder, but for shipped ones."""
    shelf = LIBRARIES if folder.parent == ENVS else folder
    return shelf / f"{folder.name}{SUFFIX}"


def compiler() -> list[str]:
    """The command of the C compiler: `$CC`, or the first of cc, gcc and clang on the PATH.

    Raises:
        BuildError: none of them exists.
    """
    if os.environ.get("CC"):
        command = shlex.split(os.environ["CC"])
        if shutil.which(command[0]):
            return command
        raise BuildError(f"CC={os.environ['CC']!r}, but there is no program {command[0]!r}.")
    for candidate in ("cc", "gcc", "clang"):
        if shutil.which(candidate):
            return [candidate]
    raise BuildError(
        "puffer-ocean compiles its environments and found no C compiler (looked for $CC, cc, gcc, "
        "clang). Install one (Debian/Ubuntu: `apt install gcc`, Fedora: `dnf install gcc`, macOS: "
        "`xcode-select --install`) or set CC, then install again."
    )


def compile_library(source: Path, target: Path, debug: bool = False) -> str:
    """Compile one source to one shared library, replacing `target` only on success.

    Args:
        source: the environment's C file.
        target: path of the library to write.
        debug: with AddressSanitizer and UndefinedBehaviorSanitizer instead of optimisation.

    Returns:
        The compiler's warnings.

    Raises:
        BuildError: no compiler, or the source has errors.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        command = [*compiler(), *FLAGS, *(DEBUG if debug else RELEASE)]
        command += ["-shared", "-fPIC", "-fvisibility=hidden", f"-I{INCLUDE}"]
        command += [str(source), "-o", str(built), "-lm", "-pthread"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{source} does not compile:\n{result.stderr}")
        os.replace(built, target)
        return result.stderr


def build_all(selection: list[str] | None = None) -> dict[str, str]:
    """Build shipped environments, without a selection also the pool; what is broken stops no other.

    Returns:
        The compiler's message of each that failed.

    Raises:
        BuildError: no compiler, or an unknown name.
    """
    compiler()
    for name in selection or ():
        if name not in names():
            raise BuildError(f"no environment {name!r} to build; there are {', '.join(names())}.")
    targets = {name: (source(name), library(name)) for name in selection or names()}
    if not selection:
        targets["pool"] = (PACKAGE / "pool.c", POOL)
    failures = {}
    for name, (path, target) in targets.items():
        try:
            compile_library(path, target)
        except BuildError as error:
            failures[name] = str(error)
    return failures
