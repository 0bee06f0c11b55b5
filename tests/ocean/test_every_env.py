"""What every environment must do, derived from what it declares of itself.

A new environment is tested here without a word; `ocean_samples.py` says what is special.
"""

import shutil

import pytest
from ocean_checks import CHECKS

from puffer_ocean import build, names


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", names())
def test_every_environment(name, check):
    check(name)


COUNTER = "static int32_t count; s->tick = ++count % 47;"  # shared by all copies, in no snapshot
FAULTS = [
    ("declaration", '{"score", "perf"}', '{"score", "pref"}'),
    ("declaration", '"side of the grid"', '""'),
    ("threads_and_instances", "s->tick++;", COUNTER),
    ("state", "s->tick++;", COUNTER),
    ("seeds", "puffer_randint(&env->rng, cells - 1)", "cells / 3"),
    ("episode_end", "s->row = s->column = s->size / 2;", "if (!s->tick) s->row = s->column = 5;"),
    ("episode_end", "env->terminals[0] = true;", ""),
    ("render", "out[i] = grid[i];", "out[i] = grid[i] * 0;"),
]


@pytest.mark.parametrize(("check", "old", "new"), FAULTS)
def test_a_broken_environment_is_caught(check, old, new, install):
    """Negative control: each check sees a fault of its kind, and not without the fault."""
    home = build.PACKAGE / "envs" / "squared"
    source = (home / "squared.c").read_text()
    assert old in source
    checks = {each.__name__.removeprefix("check_"): each for each in CHECKS}
    install("squared", source.replace(old, new))
    shutil.copy(home / "render.py", build.ENVS / "squared")
    with pytest.raises(AssertionError):
        checks[check]("squared")
