import pytest
import torch

import puffer_cuda.device


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Small tensors: more threads only wait for each other."""
    monkeypatch.setattr(puffer_cuda.device, "available_cpus", lambda: 1)
    torch.set_num_threads(1)
