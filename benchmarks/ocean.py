"""Measure the figures of docs/ocean.md and store them in docs/ocean.json.

    uv run python benchmarks/ocean.py speed [NAME ...] [--seconds S]
    uv run python benchmarks/ocean.py learn [NAME ...]

`speed`: agent steps per second of the C code, one core, 4,096 agents, actions drawn beforehand.
`learn`: `perf` of random actions, and after `puffer train NAME` with the shipped settings.
Figures of environments that are not named stay as they are; each is stored when it is known.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environments import measure

import puffer_ocean

FIGURES = Path(__file__).parents[1] / "docs" / "ocean.json"
AGENTS = 4096


def store(name: str, figures: dict[str, float]) -> None:
    """Add figures of one environment."""
    stored = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"environments": {}}
    stored["machine"] = f"{cpu()} ({os.cpu_count()} cores)"
    rounded = {key: float(f"{value:.3g}") for key, value in figures.items()}
    stored["environments"].setdefault(name, {}).update(rounded)
    FIGURES.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def cpu() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def puffer(folder: str, *arguments: str) -> Any:
    """The JSON document of a command."""
    command = [sys.executable, "-m", "puffer_cli.main", *arguments, "--json"]
    result = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(result.stdout)


def learn(name: str) -> dict[str, float]:
    """`perf` before and after training, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        random = puffer(folder, "eval", name, "--policy", "random")
        trained = puffer(folder, "train", name)
    return {
        "random_perf": random["stats"]["perf"],
        "perf": trained["stats"]["perf"],
        "steps": trained["steps"],
        "seconds": trained["seconds"],
    }


def main() -> None:
    """Measure, store, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("speed", "learn"))
    parser.add_argument("names", metavar="NAME", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each speed")
    options = parser.parse_args()
    if options.what == "speed" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in options.names or puffer_ocean.names():
        if options.what == "speed":
            figures = {"steps_per_second": measure(name, AGENTS, options.seconds)["C"]}
        else:
            figures = learn(name)
        store(name, figures)
        print(name, *(f"{key} {value:,.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
