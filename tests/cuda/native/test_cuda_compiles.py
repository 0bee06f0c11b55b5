"""nvcc compiles the very sources of the CPU trainer: warnings are errors, and few spills."""

import re

import pytest
from native_ops import TESTS, compile_for_gpu

from puffer_cuda.native import build, library, nvcc
from puffer_cuda.native.build import BuildError
from puffer_ocean import build as ocean

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


# Whatever reads files, or what <string.h> has for the CPU alone, stays there.
CPU_ONLY = {"g2048"}


@pytest.mark.skipif(not has_nvcc(), reason="no nvcc, or no headers of cuBLASLt")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("breakout", "snake") else pytest.mark.slow)
        for name in ocean.names()
        if name not in CPU_ONLY
    ],
)
def test_environments_compile(tmp_path, name):
    flags = (*nvcc.environment_flags(ocean.ENVS / name), *nvcc.ENVIRONMENT_FLAGS)
    target = tmp_path / "compiled.so"
    compile_for_gpu(nvcc.ENVIRONMENT, target, "-arch=sm_90", "-shared", *flags)
    table = library.declarations().dlopen(str(target)).puffer_native_on_gpu()
    assert table.size == library.declarations().sizeof("puffer_native_environment")


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
