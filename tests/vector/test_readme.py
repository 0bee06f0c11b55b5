"""The README's programs run as they stand, but for the length of the training."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "packages" / "puffer-vector" / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
FIRST, CLUSTER, SB3, LOOP, RLLIB = BLOCKS


def test_the_first_program():
    names = {}
    exec(FIRST, names)
    assert names["observations"].shape == (8, 4)
    names["vecenv"].close()


def test_stable_baselines3():
    pytest.importorskip("stable_baselines3", reason="not installed: uv sync --group peers")
    names = {}
    exec(SB3.replace("2048", "512").replace("verbose=1", "verbose=0"), names)
    assert len(names["model"].ep_info_buffer) > 10


def test_the_loop_of_your_own():
    torch = pytest.importorskip("torch")
    pytest.importorskip("gymnasium", minversion="1.1")
    assert len(LOOP.splitlines()) < 40
    assert "range(300)" in LOOP
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    names = {}
    exec(LOOP.replace("range(300)", "range(120)"), names)
    torch.set_num_threads(threads)
    returns = names["returns"]
    assert sum(returns[:50]) / 50 < 30  # a random policy has 22
    assert sum(returns[-50:]) / 50 > 35


def test_the_cluster(cluster):
    names = {}
    exec(FIRST, names)
    names["vecenv"].close()
    exec(CLUSTER.replace("head:6379", cluster.address), names)
    assert names["vecenv"].reset()[0].shape == (64, 4)
    names["vecenv"].close()


@pytest.mark.slow
def test_rllib():
    for package in ("ray", "dm-tree", "torch"):
        pytest.importorskip(package.removeprefix("dm-"), reason="uv sync --group ray")
    assert len(RLLIB.splitlines()) < 40
    assert "range(10)" in RLLIB
    program = [sys.executable, "-c", RLLIB.replace("range(10)", "range(5)")]
    result = subprocess.run(program, capture_output=True, text=True, timeout=600)
    returns = [float(line) for line in re.findall(r"mean return: (.*)", result.stdout)]
    assert len(returns) == 5, result.stderr
    assert returns[-1] > returns[0] + 15  # a random policy has 22
