"""Compile the core: natively, and to WebAssembly where clang and lld are present.

Installing the package calls this file by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "core.c"
LIBRARY = FOLDER / "lib" / f"core{'.dylib' if sys.platform == 'darwin' else '.so'}"
WASM = FOLDER / "lib" / "core.wasm"

# -ffp-contract=off: the same numbers natively, in WebAssembly and in JavaScript.
FLAGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-ffp-contract=off", "-fno-math-errno")
NATIVE = ("-shared", "-fPIC", "-fvisibility=hidden")
WASM32 = (
    "--target=wasm32",
    "-Os",  # a third smaller than -O2, as fast
    "-msimd128",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-fno-builtin",
    "-fvisibility=hidden",
    "-nostdlib",
    "-Wl,--no-entry,--export-dynamic,--export=__heap_base,--strip-all",
)


class BuildError(RuntimeError):
    """No compiler, or a source that does not compile; the message holds the compiler's words."""


def build_native(target: Path = LIBRARY) -> None:
    """Compile the library that Python loads.

    Raises:
        BuildError: no C compiler (`$CC`, cc, gcc, clang), or it failed.
    """
    command = shlex.split(os.environ.get("CC", "")) or next(
        ([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), []
    )
    if not command or not shutil.which(command[0]):
        raise BuildError(
            "Constellation compiles its core and found no C compiler (looked for $CC, cc, gcc, "
            "clang). Install one (Debian/Ubuntu: `apt install gcc`) or set CC, then install again."
        )
    _compile([*command, *FLAGS, *NATIVE], target)


def build_wasm(target: Path = WASM) -> bool:
    """Compile the module that the page loads; False without clang and wasm-ld.

    Without it the page uses the same functions in JavaScript.

    Raises:
        BuildError: the compiler failed.
    """
    if not shutil.which("clang") or not shutil.which("wasm-ld"):
        return False
    _compile(["clang", *FLAGS, *WASM32], target)
    return True


def _compile(command: list[str], target: Path) -> None:
    """Write `target` whole, or leave what it was."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        result = subprocess.run(
            [*command, str(SOURCE), "-o", str(built)], capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise BuildError(f"{SOURCE} does not compile:\n{result.stderr}")
        os.replace(built, target)
