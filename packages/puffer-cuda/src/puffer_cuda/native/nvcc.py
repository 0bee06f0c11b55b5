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
from collections.abc import Callable, Iterable
from pathlib import Path

from puffer_cuda.native.build import SOURCE, BuildError
from puffer_ocean import build as ocean

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
FLAGS = ("-std=c++17", "-O3", "--extended-lambda", "-Werror", "all-warnings")
HOST_FLAGS = "-fPIC,-fvisibility=hidden,-Wall,-Wextra"
ENVIRONMENT = SOURCE.parent / "environment.cc"
# As the CPU's libraries are compiled: no fused multiply-add.
ENVIRONMENT_FLAGS = ("-fmad=false", "--expt-relaxed-constexpr")


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
    return _folders("cu*")


def nccl() -> list[Path]:
    """The same of NCCL, which several GPUs need; none: the library is compiled without."""
    return [folder for folder in _folders("nccl") if list(folder.glob("lib/libnccl.so*"))]


def _folders(pattern: str) -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return [folder for root in roots for folder in sorted(root.glob(pattern)) if folder.is_dir()]


def includes() -> list[str]:
    """Flags for the headers of cuBLASLt, NVTX and NCCL."""
    return [f"-I{folder / 'include'}" for folder in (*packages(), *nccl())]


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
    """Flags that link cuBLASLt, and NCCL if there is one, where they lie.

    Raises:
        BuildError: there is no cuBLASLt.
    """
    flags = ["-shared"]
    for path in (cublas(), *(sorted(f.glob("lib/libnccl.so*"))[0] for f in nccl()[:1])):
        flags += ["-Xlinker", str(path), "-Xlinker", f"-rpath={path.parent}"]
    return flags


def library(architecture: str) -> Path:
    """Where the library for an architecture (sm_90, say) lies once it is compiled."""
    return _cached(f"native_{architecture}", repr(linked()), SOURCE.parent.iterdir())


def environment_library(folder: Path, architecture: str) -> Path:
    """Where the environment of a folder lies, compiled for an architecture."""
    sources = [ocean.source_in(folder), *ocean.INCLUDE.iterdir(), *SOURCE.parent.iterdir()]
    return _cached(f"{folder.name}_{architecture}", repr(ENVIRONMENT_FLAGS), sources)


def _cached(name: str, more: str, sources: Iterable[Path]) -> Path:
    """A file in the user's cache whose name tells what it was compiled from."""
    digest = hashlib.sha256(repr((FLAGS, HOST_FLAGS, nvcc(), more)).encode())
    for source in sorted(sources):
        digest.update(source.name.encode() + source.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "puffer"
    return cache / f"puffer_{name}_{digest.hexdigest()[:16]}.so"


def build_library(architecture: str, say: Callable[[str], None]) -> Path:
    """The library for an architecture, compiled if it is not there yet.

    Args:
        architecture: as nvcc names it, sm_90 say.
        say: gets one line before a compilation that takes a minute or two.

    Raises:
        BuildError: no compiler, or the sources do not compile.
    """
    target = library(architecture)
    if not target.exists():
        what = f"the native trainer for {architecture}"
        say(f"compiling {what} with {nvcc()} (a minute or two, once)")
        _compile(what, SOURCE, target, f"-arch={architecture}", *linked())
    return target


def build_environment(folder: Path, architecture: str, say: Callable[[str], None]) -> Path:
    """The library that steps an environment on a GPU, compiled if it is not there yet.

    Args:
        folder: of the environment, with its C source.
        architecture: as nvcc names it, sm_90 say.
        say: gets one line before a compilation that takes some seconds.

    Raises:
        BuildError: no compiler, no source, or it does what a GPU cannot.
    """
    if not ocean.source_in(folder).exists():
        raise BuildError(f"there is no {ocean.source_in(folder)} to compile for the GPU")
    target = environment_library(folder, architecture)
    if not target.exists():
        what = f"{folder.name} for {architecture}"
        say(f"compiling {what} with {nvcc()} (some seconds, once)")
        flags = (*environment_flags(folder), *ENVIRONMENT_FLAGS)
        _compile(what, ENVIRONMENT, target, f"-arch={architecture}", "-shared", *flags)
    return target


def environment_flags(folder: Path) -> tuple[str, ...]:
    """Flags with which `environment.cc` takes in the environment of a folder."""
    return (f'-DPUFFER_SOURCE="{ocean.source_in(folder).resolve()}"', f"-I{ocean.INCLUDE}")


def _compile(what: str, source: Path, target: Path, *flags: str) -> None:
    """Compile to `target`, which appears only on success."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        call = command(source, built, *flags)
        result = subprocess.run(call, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{what} does not compile:\n{result.stdout}{result.stderr}")
        os.replace(built, target)
