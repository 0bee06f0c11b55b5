"""run.sh, the script for a machine with a GPU, in its dry mode: all of it but the GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_dry_mode_measures_everything(tmp_path):
    result = subprocess.run(
        ["tests/cuda/run.sh", "--dry"],
        cwd=ROOT,
        env={**os.environ, "OUT": str(tmp_path), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert "compute-sanitizer: not run" in result.stdout
    measured = json.loads((tmp_path / "gpu.json").read_text())
    sizes = [(row["hidden"], row["layers"]) for row in measured["training"]]
    assert sizes == [(64, 2), (128, 1), (128, 4), (512, 3)]
    assert all(row["steps_per_second"] > 0 for row in measured["training"])
    assert len(measured["kernels"]) >= 6
    solved = json.loads((tmp_path / "solve_cpu.json").read_text())
    assert [row["env"] for row in solved] == ["breakout", "pong"]
    assert all(row["steps"] > 0 and row["seconds"] > 0 for row in solved)
