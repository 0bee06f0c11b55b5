"""The CUDA compiler and the headers and libraries it needs, from the machine or from packages."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from puffer_cuda.native.build import BuildError

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
FLAGS = ("-std=c++17", "-O3", "--extended-lambda", "-Werror", "all-warnings")


def nvcc() -> str:
    """The compiler: of CUDA_HOME, on the PATH, or of the package nvidia-cuda-nvcc.

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
