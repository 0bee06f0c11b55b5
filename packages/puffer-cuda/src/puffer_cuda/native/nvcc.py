"""Compile the native trainer for a GPU, with the nvcc of the machine or of a package.

The sources are those of the CPU's trainer. The library lies in a cache of the user's, named by a
hash of sources and compiler, so that an update of either compiles anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from puffer_cuda.native.build import SOURCE, BuildError

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
FLAGS = ("-std=c++17", "-O3", "--extended-lambda", "-Werror", "all-warnings")
HOST_FLAGS = "-fPIC,-fvisibility=hidden,-Wall,-Wextra"


def nvcc() -> str:
    """The compiler: of CUDA_HOME, of the package nvidia-cuda-nvcc, or on the PATH.

    Raises:
        BuildError: there is none.
    """
    home = os.environ.get("CUDA_HOME")
    places = [Path(home, "bin", "nvcc")] if home else []
    places += [folder / "bin" / "nvcc" for folder in packages()]
    found = next((str(path) for path in places if path.exists()), shutil.which("nvcc"))
    if found is None:
        raise BuildError(
            "no CUDA compiler (looked for nvcc in CUDA_HOME, in the package nvidia-cuda-nvcc and "
            "on the PATH)"
        )
    return found


def packages() -> list[Path]:
    """The folders of NVIDIA's Python packages that hold include/ and lib/, as torch brings them."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return [folder for root in roots for folder in sorted(root.glob("cu*")) if folder.is_dir()]


def includes() -> list[str]:
    """Flags for the headers of cuBLASLt."""
    return [f"-I{folder / 'include'}" for folder in packages()]


def cublas() -> Path:
    """The cuBLASLt library to link, which torch's packages bring.

    Raises:
        BuildError: there is none.
    """
    for folder in packages():
        for path in sorted((folder / "lib").glob("libcublasLt.so*")):
            return path
    raise BuildError("no libcublasLt in NVIDIA's Python packages; install torch with CUDA")


def missing() -> str:
    """Why nothing can be compiled for a GPU here; empty if it can."""
    try:
        nvcc()
        cublas()
    except BuildError as error:
        return str(error)
    return ""


def command(source: Path, target: Path, *flags: str) -> list[str]:
    """The call of nvcc that compiles `source` to `target`.

    Raises:
        BuildError: there is no nvcc.
    """
    host = ["-Xcompiler", HOST_FLAGS, *includes(), f"-I{SOURCE.parent}"]
    return [nvcc(), *FLAGS, *host, *flags, "-x", "cu", str(source), "-o", str(target)]


def linked() -> list[str]:
    """Flags that link cuBLASLt where it lies.

    Raises:
        BuildError: there is none.
    """
    path = cublas()
    return ["-shared", "-Xlinker", str(path), "-Xlinker", f"-rpath={path.parent}"]


def library(architecture: str) -> Path:
    """Where the library for an architecture (sm_90, say) lies once it is compiled."""
    digest = hashlib.sha256(repr((FLAGS, HOST_FLAGS, nvcc(), str(cublas()))).encode())
    for source in sorted(SOURCE.parent.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "puffer"
    return cache / f"puffer_native_{architecture}_{digest.hexdigest()[:16]}.so"


def build_library(architecture: str, say: Callable[[str], None]) -> Path:
    """The library for an architecture, compiled if it is not there yet.

    Args:
        architecture: as nvcc names it, sm_90 say.
        say: gets one line before a compilation that takes a minute or two.

    Raises:
        BuildError: no compiler, or the sources do not compile.
    """
    target = library(architecture)
    if target.exists():
        return target
    say(f"compiling the native trainer for {architecture} with {nvcc()} (a minute or two, once)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        call = command(SOURCE, built, f"-arch={architecture}", *linked())
        result = subprocess.run(call, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(
                f"the native trainer does not compile for {architecture}:\n"
                f"{result.stdout}{result.stderr}"
            )
        os.replace(built, target)
    return target
