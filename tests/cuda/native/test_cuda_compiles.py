"""nvcc compiles the very sources of the CPU trainer: warnings are errors, and few spills."""

import re

import pytest
from native_ops import compile_for_gpu

from puffer_cuda.native import nvcc
from puffer_cuda.native.build import BuildError

SPILL_BYTES = 64  # a kernel, stores and loads; 12 measured at most
STACK_BYTES = 64  # 48 measured: sizes of heads that are indexed at run time


def has_nvcc():
    try:
        return bool(nvcc.nvcc()) and bool(nvcc.includes())
    except BuildError:
        return False


@pytest.mark.skipif(not has_nvcc(), reason="no nvcc, or no headers of cuBLASLt")
@pytest.mark.parametrize(
    "architecture",
    [
        pytest.param(name, marks=() if name == "sm_90" else pytest.mark.slow)
        for name in nvcc.ARCHITECTURES
    ],
)
def test_every_operation_compiles(tmp_path, architecture):
    said = compile_for_gpu(tmp_path / "ops.o", f"-arch={architecture}", "-c", "-Xptxas", "-v")
    kernels = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", said)
    assert len(kernels) >= 20
    for stack, stores, loads in kernels:
        assert int(stack) <= STACK_BYTES
        assert int(stores) + int(loads) <= SPILL_BYTES


def test_a_machine_without_nvcc_is_told_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(nvcc, "packages", list)
    with pytest.raises(BuildError, match="no CUDA compiler"):
        nvcc.nvcc()
    with pytest.raises(BuildError, match="no libcublasLt"):
        nvcc.cublas()
