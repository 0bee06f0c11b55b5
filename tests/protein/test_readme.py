"""The README's programs run as they stand."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "packages" / "puffer-protein" / "README.md"
TEN_LINES, STUDY = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_ten_lines_tune_a_function():
    names = {}
    exec(TEN_LINES, names)
    best = names["tuner"].recommend(max_cost=5)
    assert best.cost <= 5
    assert abs(best.values["x"] - 0.7) < 0.15


def test_the_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(STUDY, names)
    assert names["study"].counts() == {"done": 20}
    assert abs(names["tuner"].recommend().values["x"] - 0.3) < 0.1
