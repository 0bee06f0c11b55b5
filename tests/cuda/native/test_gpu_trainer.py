"""The GPU's trainer, run on the CPU: it passes the tests of the CPU's, and agrees with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import native_trainers
import pytest
import torch

from puffer_cuda.config import TrainConfig, VecConfig
from puffer_cuda.native import build, library

HERE = Path(__file__).parent
EMULATED = {**os.environ, "PUFFER_TEST_DEVICE": "emulated"}


@pytest.mark.parametrize(
    "module", ["test_golden.py", pytest.param("test_trainer.py", marks=pytest.mark.slow)]
)
def test_the_gpus_trainer_passes_the_tests_of_the_cpus(module):
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", str(HERE / module)],
        env=EMULATED,
        cwd=HERE.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.parametrize("buffers", [1, 2, 5, 24])
def test_rollouts_agree_with_the_cpus(monkeypatch, buffers):
    monkeypatch.setattr(library, "load_cuda", native_trainers.emulated)
    monkeypatch.setattr(native_trainers.trainer_module, "choose_device", torch.device)

    def rollouts(device, kind):
        # poles that fall at different times: episodes are cut at different ones, too
        vecenv = native_trainers.make_vecenv("cartpole", max_steps=14)
        config = TrainConfig(device=device, horizon=32, seed=5, threads=2)
        vec = VecConfig(num_buffers=buffers)
        trained = kind(config, vecenv, native_trainers.policy_for(vecenv), vec=vec)
        for _ in range(3):  # states and clocks go on from one to the next
            trained.evaluate()
            yield {name: tensor.clone() for name, tensor in vars(trained.rollout).items()}

    ours = rollouts("cuda:0", native_trainers.Mirrored)
    theirs = rollouts("cpu", native_trainers.NativePuffeRL)
    for mine, other in zip(ours, theirs, strict=True):
        cut = other["truncations"]
        assert cut.any()
        assert not cut.all(0).any()
        for name, tensor in other.items():
            if name in ("ratios", "advantages"):
                continue
            difference = (mine[name].double() - tensor.double()).abs()
            if name == "final_values":
                difference = difference[cut]  # elsewhere nobody reads them
            assert float(difference.max()) < 1e-5, name


def test_prioritized_updates_agree_with_the_cpus(monkeypatch):
    monkeypatch.setattr(library, "load_cuda", native_trainers.emulated)
    monkeypatch.setattr(native_trainers.trainer_module, "choose_device", torch.device)

    def learnt(device, kind):
        vecenv = native_trainers.make_vecenv("squared", size=3)
        config = TrainConfig(device=device, horizon=16, minibatch_size=96, seed=5, threads=2)
        trained = kind(config, vecenv, native_trainers.policy_for(vecenv))
        trained.evaluate()
        trained.train()  # four minibatches, each with a draw of its own
        return trained.handle.tensors["weights"]

    ours = learnt("cuda:0", native_trainers.Mirrored)
    theirs = learnt("cpu", native_trainers.NativePuffeRL)
    assert float((ours - theirs).abs().max()) < 1e-3


# What only a stream or a graph can get wrong: (file, what it says, what a careless hand writes).
LATE = [
    ("gpu_rollout.h", "synchronize(b.stream);\n", ";\n"),  # actions are read before they are there
    ("gpu_buffer.h", "now->t++, now->step++", "now->t++"),
    ("gpu_rollout.h", "copy(b.stream, rollout.begins + b.first", "copy(b.stream, host.begins"),
    ("gpu_rollout.h", "if (count == 0) return;", "return;"),
    ("gpu_rollout.h", "!host.truncations[agent", "!rollout.truncations[agent"),  # on the GPU
    ("gpu_rollout.h", "states[agents[i] * size + j]", "states[i * size + j]"),
    ("gpu_update.h", "now->draw++", "(void)now"),
    ("gpu_update.h", "copy(stream, progress, host_progress, 1);", ";"),
    ("gpu_update.h", "fill_with_ones(agents * c.horizon, on_gpu.ratios);", ";"),
    ("gpu_update.h", "clear_bytes(stream, on_gpu.gradients,", "clear_bytes(stream, sums, 0 *"),
    ("gpu_update.h", "m.stride = stride, m.count++;", "m.count++;"),
    ("gpu_environments.h", "to.starts[at] = to.begins[agent];", ""),
    ("gpu_environments.h", "            clip_actions();", ""),
    ("gpu_environments.h", "(t + 1) % limit == 0 || ", ""),
    ("gpu_environments.h", "steps[i] = -1; });", "(void)steps; });"),
    ("gpu_environments.h", "table.unpack(c.vec, packed);", ""),
    ("environment.cc", "host.envs[i].rng = envs[i].rng;", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "old", "new"), LATE)
def test_a_careless_hand_is_caught(tmp_path, file, old, new):
    folder = tmp_path / "cpp"
    shutil.copytree(build.SOURCE.parent, folder)
    source = (folder / file).read_text()
    assert old in source
    (folder / file).write_text(source.replace(old, new))
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", "not gpus_trainer",
         *(str(HERE / name) for name in ("test_gpu_trainer.py", "test_golden.py")),
         str(HERE / "test_gpu_environments.py"),
         str(HERE / "test_trainer.py")],
        env={**EMULATED, "PUFFER_TEST_CPP": str(folder)},
        cwd=HERE.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode != 0
    assert "does not compile" not in result.stdout
