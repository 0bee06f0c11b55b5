"""Which device a configuration gets, and what is said where it gets none."""

import pytest

from puffer_core import APIUsageError
from puffer_cuda import backend
from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native import library, nvcc
from puffer_cuda.native.build import BuildError
from puffer_cuda.native.library import NotBuiltError


def chosen(**settings):
    return backend.choose(TrainConfig(**settings), PolicyConfig(), VecConfig(), native_env=True)


def test_a_gpu_without_a_compiler_says_so(monkeypatch):
    monkeypatch.setattr(nvcc, "missing", lambda: "no CUDA compiler")
    with pytest.raises(APIUsageError, match=r"no CUDA compiler; use train\.backend = torch"):
        chosen(device="cuda:1", backend="native")
    assert chosen(device="cpu") == ("native", "")  # which needs none


def test_a_gpu_trains_natively_when_asked(monkeypatch):
    monkeypatch.setattr(nvcc, "missing", lambda: "")
    assert chosen(device="cuda", backend="native") == ("native", "")
    assert chosen(device="cuda", backend="native", precision="bfloat16") == ("native", "")
    name, reason = chosen(device="cuda")
    assert name == "torch"
    assert "only when asked: train.backend = native" in reason


def test_the_cpu_multiplies_in_float32_only():
    name, reason = chosen(device="cpu", precision="bfloat16")
    assert name == "torch"
    assert "precision = bfloat16" in reason


def test_other_devices_are_torchs():
    name, reason = chosen(device="mps")
    assert name == "torch"
    assert "a CPU or an NVIDIA GPU, and train.device = mps" in reason


def test_what_nvcc_says_reaches_the_user(monkeypatch):
    def fails(architecture, say):
        raise BuildError(f"the native trainer does not compile for {architecture}:\nerror 7")

    monkeypatch.setattr(library, "gpu_architecture", lambda device=0: "sm_90")
    monkeypatch.setattr(nvcc, "build_library", fails)
    with pytest.raises(NotBuiltError, match="does not compile for sm_90:\nerror 7"):
        library.load_cuda(41)


def test_threads_that_differ_are_torchs():
    train = TrainConfig(device="cpu", threads=2)
    name, reason = backend.choose(train, PolicyConfig(), VecConfig(num_threads=3), True)
    assert name == "torch"
    assert "vec.num_threads = 3 is not train.threads = 2" in reason
    for threads in (0, 2):
        vec = VecConfig(num_threads=threads)
        assert backend.choose(train, PolicyConfig(), vec, True) == ("native", "")
