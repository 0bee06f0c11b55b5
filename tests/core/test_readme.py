"""The examples of the README run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "packages/puffer-core/README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, capsys):
    exec(example, {})
    printed = capsys.readouterr().out
    for comment in re.findall(r"print\(.*# (?:a view: )?(\S+)", example):
        assert comment.strip("{}[](),") in printed
