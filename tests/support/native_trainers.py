"""Small native trainers, and what they are compared with.

PUFFER_TEST_DEVICE=cuda makes them learn on a GPU, =emulated runs the GPU's trainer on the CPU, with
streams that are as late as they may be (see device.h).
"""

import functools
import os
import tempfile
from pathlib import Path

import torch

from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native import build, library, nvcc
from puffer_cuda.native import trainer as trainer_module
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import make

DEVICE = os.environ.get("PUFFER_TEST_DEVICE", "cpu")
ON_CPU = DEVICE == "cpu"


@functools.cache
def emulated(_device):
    folder = Path(tempfile.mkdtemp(prefix="native-emulated-"))
    source = Path(os.environ.get("PUFFER_TEST_CPP", build.SOURCE.parent)) / "api.cc"  # or a mutant
    build.compile_library(source, folder / "trainer.so", ("-O2", "-DPUFFER_GPU"))
    return library._open(folder / "trainer.so")


@functools.cache
def emulated_environment(_device, folder, version):
    """An environment of the GPU, compiled for the CPU: the same floats as its own library."""
    cpp = Path(os.environ.get("PUFFER_TEST_CPP", build.SOURCE.parent))
    target = Path(tempfile.mkdtemp(prefix="native-environment-")) / f"{folder.name}.so"
    flags = ("-O2", "-ffp-contract=off", "-DPUFFER_GPU", *nvcc.environment_flags(folder))
    build.compile_library(cpp / "environment.cc", target, flags)
    return library.open_environment(target, version)


if DEVICE == "emulated":
    library.load_cuda = emulated
    library.load_environment = emulated_environment
    trainer_module.choose_device = lambda name: torch.device("cuda:0" if name == "auto" else name)


class Mirrored(NativePuffeRL):
    """One whose arrays are those of the GPU before and after every step."""

    def evaluate(self):
        self.handle.to_device()
        super().evaluate()
        self.handle.to_host()

    def train(self):
        self.handle.to_device()
        try:
            return super().train()
        finally:
            self.handle.to_host()


def make_vecenv(name="squared", num_envs=24, **env):
    return make(env_creator(name), env_kwargs={"num_envs": num_envs, **env}, seed=3)


def policy_for(vecenv, network="mingru", hidden_size=20, num_layers=2, seed=3):
    torch.manual_seed(seed)
    config = PolicyConfig(network=network, hidden_size=hidden_size, num_layers=num_layers)
    policy = make_policy(config, vecenv)
    with torch.no_grad():  # off the special point of equal logits and biases of 0
        for parameter in policy.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return policy


def make_native(name="squared", env=None, policy=None, threads=2, vec=None, **settings):
    vecenv = make_vecenv(name, **(env or {}))
    policy = policy_for(vecenv, **(policy or {}))
    device = "cpu" if ON_CPU else "cuda:0"
    settings = {"horizon": 16, "seed": 5, "threads": threads, "device": device, **settings}
    kind = NativePuffeRL if ON_CPU else Mirrored
    return kind(TrainConfig(**settings), vecenv, policy, vec=VecConfig(**(vec or {})))
