"""The native trainer on a GPU: steps per second, and its kernels against the memory's speed.

    uv run python benchmarks/gpu.py [--device cuda] [--seconds 10] [--json FILE]

Breakout's environments step on the CPU, and on the GPU. Steps per second are of whole epochs,
rollout and update, after two that record the graphs. A kernel's bytes are those that it must read
and write, its speed a share of what a plain copy reaches on the same device. `--device cpu`
exercises the script.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from puffer_cuda.config import PolicyConfig, TrainConfig, VecConfig
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy
from puffer_ocean import env_creator
from puffer_vector import make

SIZES = [(64, 2), (128, 1), (128, 4), (512, 3)]  # hidden size, layers
PRECISIONS = {"cuda": ("float32", "bfloat16"), "cpu": ("float32",)}
STEPPED = {"cuda": ("gpu", "cpu"), "cpu": ("cpu",)}  # where environments are


def train_speed(
    device: str, stepped: Any, precision: str, hidden: int, layers: int, seconds: float
) -> Any:
    """Steps per second of whole epochs, and the share of time in rollouts."""
    envs = 4096 if device == "cuda" else 256
    vecenv = make(env_creator("breakout"), env_kwargs={"num_envs": envs}, seed=1)
    torch.manual_seed(1)
    shape = PolicyConfig(network="mingru", hidden_size=hidden, num_layers=layers)
    config = TrainConfig(device=device, precision=precision, horizon=64, minibatch_size=16_384)
    vec = VecConfig(device=stepped)
    trainer = NativePuffeRL(config, vecenv, make_policy(shape, vecenv), vec=vec)
    for _ in range(2):
        trainer.evaluate()
        trainer.train()
    first, rollout, start = trainer.global_step, 0.0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        before = time.perf_counter()
        trainer.evaluate()
        rollout += time.perf_counter() - before
        trainer.train()
    spent = time.perf_counter() - start
    trainer.close()
    return {
        "hidden": hidden,
        "layers": layers,
        "precision": precision,
        "environments_on": stepped,
        "steps_per_second": (trainer.global_step - first) / spent,
        "rollout_share": rollout / spent,
    }


def seconds_of(call: Callable[[], Any], repeats: int = 20) -> float:
    """The median time of a call that waits for the device."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def kernel_table(device: str) -> list[dict[str, Any]]:
    """Time, bytes and speed of the kernels that move most of the data."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from native_ops import Ops

    ops = Ops("-O3", "-fno-math-errno", "-fno-trapping-math")
    scale = 16 if device == "cuda" else 1

    def array(*shape: int, dtype: Any = np.float32) -> Any:
        values = ops.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        values[:] = 0
        return values.view(dtype).reshape(shape)

    segments, time_, n, pieces = 32 * scale, 64, 128, 8
    rows = segments * time_
    gates, x, y = array(rows, 3 * n), array(rows, n), array(rows, n)
    states, starts = array(rows, n), array(rows, dtype=np.uint8)
    initial, ends, decays = array(segments, n), *(array(segments, pieces, n) for _ in range(2))
    count = 4_000_000 * scale // 4
    step, settings = np.array([0.1, 1, 1, 1, 0], np.float32), np.full(5, 0.5, np.float32)
    a, b, c, d = (array(count) for _ in range(4))
    observations = array(count, dtype=np.uint8)
    cell = (segments, time_, n)
    cases: dict[str, tuple[int, Callable[[], Any]]] = {
        "copy": (8 * count, lambda: ops.encode(4, count, a, b)),
        "encode u8": (5 * count, lambda: ops.encode(0, count, observations, b)),
        "bias_relu": (8 * rows * n, lambda: ops.bias_relu(rows, n, initial, x)),
        "mingru_forward": (
            36 * rows * n,
            lambda: ops.mingru_forward(*cell, gates, x, starts, n, initial, states, y),
        ),
        "mingru_scan": (
            36 * rows * n,
            lambda: ops.mingru_scan(
                *cell, pieces, gates, x, starts, n, initial, states, y, ends, decays
            ),
        ),
        "adamw": (28 * count, lambda: ops.adamw(count, step, settings, a, b, c, d)),
    }
    table, copied = [], 0.0
    for name, (size, call) in cases.items():
        call()
        spent = seconds_of(call)
        speed = size / spent / 1e9
        copied = copied or speed
        table.append({"kernel": name, "microseconds": spent * 1e6, "gb_per_second": speed,
                      "share_of_copy": speed / copied})  # fmt: skip
    return table


def main() -> None:
    """Measure, print both tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each training speed")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device == "cuda" else "the CPU"
    document: dict[str, Any] = {"device": name, "training": [], "kernels": []}
    print(
        f"Breakout on {name}: hidden x layers, precision, where environments step, steps per "
        "second, share of rollouts"
    )
    for precision, stepped in itertools.product(
        PRECISIONS[options.device], STEPPED[options.device]
    ):
        for hidden, layers in SIZES:
            row = train_speed(options.device, stepped, precision, hidden, layers, options.seconds)
            document["training"].append(row)
            print(
                f"{hidden:5} x {layers}  {precision:9} {stepped:4} "
                f"{row['steps_per_second']:14,.0f}  {row['rollout_share']:5.0%}"
            )
    print("kernel, microseconds, GB/s, share of a copy")
    for row in kernel_table(options.device):
        document["kernels"].append(row)
        print(
            f"{row['kernel']:16} {row['microseconds']:10.1f} {row['gb_per_second']:10.1f}"
            f"  {row['share_of_copy']:5.0%}"
        )
    if options.json:
        options.json.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
