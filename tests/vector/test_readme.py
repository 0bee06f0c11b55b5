"""The README's programs run as they stand, but for the length of the training."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "packages" / "puffer-vector" / "README.md"
FIRST, SB3, LOOP = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


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
