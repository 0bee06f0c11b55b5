"""nvcc compiles the very sources of the CPU trainer: warnings are errors, and few spills."""

import re

import pytest
from native_ops import TESTS, compile_for_gpu

from puffer_cuda.native import build, library, nvcc
from puffer_cuda.native.build import BuildError

SPILL_BYTES = 64  # a kernel, stores and loads; 12 measured at most
STACK_BYTES = 64  # 48 measured: sizes of heads that are indexed at run time


def has_nvcc():
    try:
        return bool(nvcc.nvcc()) and bool(nvcc.includes())
    except BuildError:
        return False


@pytest.mark.skipif(not has_nvcc(), reason="no nvcc, or no headers of cuBLASLt")
@pytest.mark.parametrize("source", [TESTS / "ops.cc", build.SOURCE], ids=lambda path: path.name)
@pytest.mark.parametrize(
    "architecture",
    [
        pytest.param(name, marks=() if name == "sm_90" else pytest.mark.slow)
        for name in nvcc.ARCHITECTURES
    ],
)
def test_everything_compiles(tmp_path, source, architecture):
    flags = (f"-arch={architecture}", "-c", "-Xptxas", "-v")
    said = compile_for_gpu(source, tmp_path / "compiled.o", *flags)
    kernels = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", said)
    assert len(kernels) >= 20
    for stack, stores, loads in kernels:
        assert int(stack) <= STACK_BYTES
        assert int(stores) + int(loads) <= SPILL_BYTES


@pytest.mark.skipif(not has_nvcc(), reason="no nvcc, or no headers of cuBLASLt")
@pytest.mark.slow
def test_the_library_is_compiled_once_and_loads(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = []
    path = nvcc.build_library("sm_90", said.append)
    assert len(said) == 1
    assert "sm_90" in said[0]
    assert nvcc.build_library("sm_90", said.append) == path
    assert len(said) == 1
    opened = library._open(path)
    assert library.declarations().string(opened.puffer_native_target()) == b"cuda"
    config = library.declarations().new("puffer_native_config *")
    assert opened.puffer_native_create(config) == library.declarations().NULL
    message = library.declarations().string(opened.puffer_native_error()).decode()
    assert "another size or ABI version" in message


def test_a_machine_without_nvcc_is_told_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(nvcc, "packages", list)
    with pytest.raises(BuildError, match="no CUDA compiler"):
        nvcc.nvcc()
    with pytest.raises(BuildError, match="no libcublasLt"):
        nvcc.cublas()
