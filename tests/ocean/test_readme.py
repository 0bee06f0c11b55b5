"""The README's programs run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "packages" / "puffer-ocean" / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_run(program):
    if "puffer_vector" in program:
        pytest.importorskip("puffer_vector")  # a layer above this package
    names = {}
    exec(program, names)
    if "vecenv" in names:
        assert names["vecenv"].reset(seed=0)[0].shape == (1024, 118)
        names["vecenv"].close()
    else:
        assert names["observations"].shape == (1024, 118)
