"""Training steps per second: native trainer, Torch trainer, and the bound of matrix products.

`uv run python benchmarks/native.py [--json]`: for each case and number of threads the best of a few
epochs. The bound is the time of the matrix products alone, of the same shapes and from the same
BLAS, one core times the threads. Copies of the environment and settings are the shipped ones.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import cffi
import numpy as np
import torch

from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.native import library
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import make

CASES = [
    ("breakout", "mingru", 128),
    ("breakout", "mlp", 128),
    ("squared", "mlp", 128),
    ("cartpole", "mlp", 32),
]
NUM_ENVS, HORIZON, ROWS = 1024, 64, 256
SECONDS = 2.0


def best_of(call: Callable[[], Any], seconds: float) -> float:
    """The shortest time of one call within about `seconds`."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def product_seconds(m: int, n: int, k: int, transposed: str) -> float:
    """Seconds of C (m, n) = A B with inner size k, as `nt`, `nn` or `tn`."""
    ffi = cffi.FFI()
    matrices = "float, void *, int, void *, int, float, void *, int"
    sgemm = ffi.cast(f"void (*)(int, int, int, int, int, int, {matrices})", library.sgemm())
    a, b, c = (np.ones(size, np.float32) for size in (m * k, k * n, m * n))
    pointers = [ffi.cast("void *", x.ctypes.data) for x in (a, b, c)]
    ta, tb = (112 if letter == "t" else 111 for letter in transposed)
    lda, ldb = (m if transposed[0] == "t" else k), (k if transposed[1] == "t" else n)

    def calls() -> None:
        for _ in range(10):
            sgemm(
                101, ta, tb, m, n, k, 1.0, pointers[0], lda, pointers[1], ldb, 0.0, pointers[2], n
            )

    return best_of(calls, 0.1) / 10


def bound(network: str, hidden: int, obs: int, outputs: int) -> float:
    """Agent steps per second of one core, if nothing but matrix products took time."""
    wide = 3 * hidden if network == "mingru" else hidden
    seconds = 0.0
    for n, k, is_first in ((hidden, obs, True), (wide, hidden, False), (outputs, hidden, False)):
        forward = product_seconds(ROWS, n, k, "nt")
        seconds += 2 * forward + product_seconds(n, k, ROWS, "tn")  # rollout, learning
        if not is_first:
            seconds += product_seconds(ROWS, k, n, "nn")
    return ROWS / seconds


def measure(trainer_class: Any, name: str, network: Any, hidden: int, threads: int) -> float:
    """Agent steps per second of the best epoch."""
    kwargs = {"num_envs": NUM_ENVS, "num_threads": threads}
    vecenv = make(env_creator(name), env_kwargs=kwargs)
    policy = make_policy(PolicyConfig(network=network, hidden_size=hidden), vecenv)
    config = TrainConfig(
        total_timesteps=10**9, horizon=HORIZON, threads=threads, prio_alpha=0, device="cpu"
    )
    trainer = trainer_class(config, vecenv, policy)

    def epoch() -> None:
        trainer.evaluate()
        trainer.train()

    epoch()
    best = best_of(epoch, SECONDS)
    trainer.close()
    return NUM_ENVS * HORIZON / best


def main() -> None:
    """Measure all cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    results = []
    for name, network, hidden in CASES:
        env = make(env_creator(name))
        obs = int(np.prod(env.single_observation_space.shape))
        outputs = int(getattr(env.single_action_space, "n", 1)) + 1
        one_core = bound(network, hidden, obs, outputs)
        for threads in options.threads:
            torch.manual_seed(0)
            native = measure(NativePuffeRL, name, network, hidden, threads)
            result = {
                "env": name,
                "network": network,
                "hidden": hidden,
                "threads": threads,
                "native": native,
                "torch": measure(PuffeRL, name, network, hidden, threads),
                "bound": one_core * threads,
            }
            results.append(result)
            if not options.json:
                print(
                    f"{name:9} {network:6} {hidden:4} x{threads}  native {native / 1e3:7,.0f} k/s  "
                    f"torch {result['torch'] / 1e3:5,.0f} k/s ({native / result['torch']:4.1f}x)  "
                    f"bound {result['bound'] / 1e3:7,.0f} k/s ({native / result['bound']:4.0%})",
                    flush=True,
                )
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
