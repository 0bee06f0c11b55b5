"""Every environment under AddressSanitizer and UndefinedBehaviorSanitizer, in every variant.

A C driver (`contract_driver.c`) loads a library that `compile_library(debug=True)` built, plays at
random on buffers of exactly the right size, and checks what the contract promises at every step:
finite observations inside the space, `perf` in 0..1, an allowed choice in every head.
"""

import re
from types import SimpleNamespace

import pytest
from ocean_samples import variants

from puffer_core import APIUsageError
from puffer_ocean import build, debug, load, names


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return debug.compile_driver(tmp_path_factory.mktemp("driver"))


def numbers(name):
    """The arguments of every variant as C takes them."""
    library = load(name)
    return [library.numbers(library.check_arguments(variant)) for variant in variants(name)]


@pytest.mark.parametrize("steps", [400, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", names())
def test_random_play_is_clean_in_every_variant(name, steps, driver, tmp_path):
    target = tmp_path / f"{name}.so"
    build.compile_library(build.source(name), target, debug=True)
    ends, findings = debug.play(driver, target, steps, numbers(name))
    assert findings == "", variants(name)[len(ends)]
    assert len(ends) == len(variants(name))
    assert steps < 10_000 or sum(ends) > 5  # episodes ended, so resets ran too


OVERFLOW = "heap-buffer-overflow"
FAULTS = [
    (OVERFLOW, "grid[s->target] = TARGET;", "grid[s->target + cells] = TARGET;"),
    (OVERFLOW, "env->rewards[0] = reward;", "env->rewards[1] = reward;"),  # its neighbour's
    (OVERFLOW, "env->rewards[0] = reward;", "env->rewards[-1] = reward;"),
    (OVERFLOW, "env->terminals[0] = true;", "env->terminals[0] = env->masks[1] = true;"),
    (OVERFLOW, "log[1] = reward > 0;", "log[2] = reward > 0;"),
    ("index .* out of bounds", "DOWN[action]", "DOWN[action + 1]"),
    ("signed integer overflow", "s->tick++;", "s->tick += INT32_MAX, s->tick++;"),
    ("perf is in 0..1", "log[1] = reward > 0;", "log[1] = 2 * (reward > 0);"),
    ("observations are finite and inside", "grid[s->target] = TARGET;", "grid[s->target] = 3;"),
    ("score", "log[0] = reward;", "log[0] = 0.0 / (reward - reward);"),
    ("rewards are finite", "env->rewards[0] = reward;", "env->rewards[0] = reward * INFINITY;"),
    ("heap-use-after-free", "    free(vec);\n}", "    free(vec);\n    vec->num_envs = 0;\n}"),
]


@pytest.mark.parametrize(("finding", "old", "new"), FAULTS)
def test_a_broken_environment_is_caught(finding, old, new, driver, shelf, tmp_path):
    """Negative control: the same run does see faults."""
    home = build.PACKAGE / "envs" / "squared" / "squared.c"
    harness = tmp_path / "include" / "puffer_harness.h"
    texts = {tmp_path / "broken.c": home.read_text(), harness: harness.read_text()}
    assert sum(text.count(old) for text in texts.values()) >= 1
    for path, text in texts.items():
        path.write_text(
            text.replace(old, new).replace("<string.h>", "<string.h>\n#include <math.h>")
        )
    build.compile_library(tmp_path / "broken.c", tmp_path / "broken.so", debug=True)
    findings = debug.play(driver, tmp_path / "broken.so", 400, [[11.0]]).findings
    assert re.search(finding, findings), findings


def test_what_describe_refuses_is_left_out():
    def describe(values):
        if values.get("gems") == 200:
            raise APIUsageError("more gems than there is room for")

    size = SimpleNamespace(kind="int", type=int, default=5, low=3, high=9)
    gems = SimpleNamespace(kind="int", type=int, default=5, low=1, high=200)
    arguments = {"size": size, "gems": gems}
    library = SimpleNamespace(arguments=arguments, check_arguments=dict, describe=describe)
    assert debug.variants(library) == [{}, {"size": 3}, {"size": 9}, {"gems": 1}]
