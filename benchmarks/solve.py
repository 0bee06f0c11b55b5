"""Time to solve C environments with the native trainer and their own tuned settings.

    uv run python benchmarks/solve.py [breakout pong] [--device auto] [--vec-device cpu] [--json F]

Solved: the mean `perf` of the episodes that ended in ten epochs reaches the target, 0.9 of 1.
Seconds begin when everything is built and created, and end with that epoch; the graphs of a GPU are
recorded within them. Without a solution a run ends after `--limit` seconds or the tuned number of
steps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from pathlib import Path
from typing import Any

import torch

from puffer_cli.config import load_config
from puffer_cli.vectorize import make_vecenv
from puffer_cuda.native.trainer import NativePuffeRL
from puffer_cuda.policy import make_policy

EPOCHS = 10  # of which the mean counts


def solve(name: str, device: str, vec_device: str, target: float, limit: float) -> dict[str, Any]:
    """Train until solved; what it took."""
    values = {"train.backend": "native", "train.device": device, "vec.device": vec_device}
    config = load_config(name, values)
    torch.manual_seed(config.train.seed)
    vecenv = make_vecenv(config)
    trainer = NativePuffeRL(
        config.train, vecenv, make_policy(config.policy, vecenv), vec=config.vec
    )
    recent: deque[tuple[float, float]] = deque(maxlen=EPOCHS)  # sum of perf, episodes
    perf, start, spent = 0.0, time.perf_counter(), 0.0
    while trainer.epoch < trainer.total_epochs and spent < limit and perf < target:
        trainer.evaluate()
        logs = trainer.train()
        spent = time.perf_counter() - start
        if "environment/n" in logs:
            recent.append((logs["environment/perf"] * logs["environment/n"], logs["environment/n"]))
        if len(recent) == EPOCHS:
            perf = sum(total for total, _ in recent) / sum(count for _, count in recent)
    steps = trainer.global_step
    trainer.close()
    return {
        "env": name,
        "environments_on": vec_device,
        "solved": perf >= target,
        "perf": perf,
        "seconds": spent,
        "steps": steps,
    }


def main() -> None:
    """Solve, print a table, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("envs", nargs="*", default=["breakout", "pong"])
    parser.add_argument("--device", default="auto", help="as train.device")
    parser.add_argument("--vec-device", choices=("cpu", "gpu"), default="cpu", help="as vec.device")
    parser.add_argument("--target", type=float, default=0.9, help="perf that counts as solved")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of one environment")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    options = parser.parse_args()
    rows = []
    print("environment, where it steps, solved, perf, seconds, steps")
    for name in options.envs:
        row = solve(name, options.device, options.vec_device, options.target, options.limit)
        rows.append(row)
        print(
            f"{name:12} {row['environments_on']:4} {row['solved']!s:6} {row['perf']:6.3f} "
            f"{row['seconds']:8.2f} {row['steps']:13,}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
