"""Loading: names, arguments, spaces, and libraries that do not fit."""

import re

import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv, build, config_path, env_creator, load, names
from puffer_ocean.library import Argument, Library


def test_the_shipped_environments():
    assert set(names()) >= {"breakout", "cartpole", "squared"}
    for name in names():
        library = load(name)
        assert library.name == name
        assert library.log_fields[:2] == ["score", "perf"]
        for argument in library.arguments.values():
            assert argument.help
            assert argument.check(argument.default) == argument.default


@pytest.mark.parametrize("name", ["squared", "cartpole", "breakout"])
def test_the_prefix_does_not_matter(name):
    assert OceanEnv(f"puffer_{name}").name == OceanEnv(name).name == name
    env = env_creator(f"puffer_{name}")(num_envs=2, seed=3)
    assert (env.name, env.num_agents) == (name, 2)
    assert config_path(f"puffer_{name}") == build.ENVS / name / "config.ini"


@pytest.mark.parametrize("use", [OceanEnv, load, env_creator, config_path])
def test_an_unknown_environment_names_the_nearest(use):
    with pytest.raises(APIUsageError, match="'puffer_braekout'; did you mean 'breakout'"):
        use("puffer_braekout")
    with pytest.raises(APIUsageError, match=r"'zzz'; there are .*breakout, cartpole"):
        use("zzz")


def test_an_unknown_argument_names_the_nearest():
    with pytest.raises(APIUsageError, match=r"breakout has no argument 'frame_skip'.*'frameskip'"):
        OceanEnv("breakout", frame_skip=4)
    with pytest.raises(APIUsageError, match=r"'zzz'; it takes \['frameskip', 'continuous'"):
        OceanEnv("breakout", zzz=4)


INTEGER = Argument("size", "int", 11, 2, 256, "")
NUMBER = Argument("gravity", "float", 9.8, -1, 20, "")
FLAG = Argument("continuous", "bool", False, 0, 1, "")

GOOD = [
    (INTEGER, 2, 2),
    (INTEGER, 256, 256),
    (INTEGER, 3.0, 3),
    (INTEGER, np.int64(7), 7),
    (INTEGER, np.float32(7), 7),
    (NUMBER, 3, 3),
    (NUMBER, -1, -1),
    (NUMBER, 0.25, 0.25),
    (NUMBER, np.float64(20), 20),
    (FLAG, True, 1),
    (FLAG, False, 0),
    (FLAG, 1, 1),
    (FLAG, np.bool_(True), 1),
]


@pytest.mark.parametrize(("argument", "value", "expected"), GOOD)
def test_values_that_fit(argument, value, expected):
    got = argument.check(value)
    assert (got, type(got)) == (expected, argument.type)
    assert type(argument.number(got)) is float


BAD = [
    *((INTEGER, v) for v in (1, 257, 2.5, True, np.bool_(True), "3", None, np.nan, np.inf)),
    *((INTEGER, v) for v in (10**400, -(10**400), [3], np.array([3]), 3j)),
    *((NUMBER, v) for v in (-1.01, 20.5, False, "9.8", None, np.nan, -np.inf, 10**400)),
    *((FLAG, v) for v in (2, -1, 0.5, "true", None, np.nan, 10**400)),
]


@pytest.mark.parametrize(("argument", "value"), BAD)
def test_values_that_do_not_fit_are_named_with_the_range(argument, value):
    expected = {
        "size": "size must be an integer from 2 to 256, got ",
        "gravity": "gravity must be a number from -1 to 20, got ",
        "continuous": "continuous must be true or false, got ",
    }[argument.name]
    with pytest.raises(APIUsageError, match=re.escape(expected + repr(value))):
        argument.check(value)


def test_environments_check_their_arguments():
    with pytest.raises(APIUsageError, match="frameskip must be an integer from 1 to 16, got 17"):
        OceanEnv("breakout", frameskip=17)
    with pytest.raises(APIUsageError, match="continuous must be true or false, got 'yes'"):
        OceanEnv("cartpole", continuous="yes")


def test_spaces_follow_the_arguments():
    for size in (2, 11, 256):
        env = OceanEnv("squared", size=size)
        assert env.single_observation_space == spaces.Box(0, 2, (size * size,), np.uint8)
        assert env.single_action_space == spaces.Discrete(5)
    pole = OceanEnv("cartpole", 3)
    assert (pole.single_observation_space.shape, pole.actions.shape) == ((4,), (3,))
    assert pole.single_action_space == spaces.Discrete(2)
    bounds = pole.single_observation_space
    assert (bounds.high == np.finfo(np.float32).max).all()
    assert (bounds.low == np.finfo(np.float32).min).all()
    pole = OceanEnv("cartpole", 3, continuous=True)
    assert pole.single_action_space == spaces.Box(-1, 1, (1,), np.float32)
    assert (pole.actions.shape, pole.actions.dtype) == ((3, 1), np.float32)
    game = OceanEnv("breakout")
    assert game.single_observation_space == spaces.Box(-1, 1, (118,), np.float32)
    assert game.single_action_space == spaces.Discrete(3)
    game = OceanEnv("breakout", continuous=True)
    assert game.single_action_space == spaces.Box(-1, 1, (1,), np.float32)


def test_defaults_are_the_declared_ones():
    assert OceanEnv("squared").arguments == {"size": 11}
    assert OceanEnv("cartpole").arguments == {"continuous": 0, "max_steps": 200}
    expected = {"frameskip": 4, "continuous": 0, "max_steps": 20000}
    assert OceanEnv("breakout").arguments == expected


OTHER_HEADERS = {
    "ABI version is 1, expected 2": ("ABI_VERSION 2", "ABI_VERSION 1"),
    "puffer_spec size": ("int32_t render_size;", "int32_t render_size; double more;"),
    "puffer_arg size": ("const char *help;\n", "const char *help;\n    double step;\n"),
    "puffer_buffers size": ("bool *masks;\n    bool *action_masks; /*", "bool *action_masks; /*"),
    "puffer_env size": ("uint64_t rng;", "uint64_t rng[2];"),
    "puffer_library size": ("void (*close)(", "void (*more)(void); void (*close)("),
}


@pytest.mark.parametrize("message", OTHER_HEADERS)
def test_a_library_of_another_contract_is_refused(message, shelf, add_source):
    """Built against a changed header, as an old library would be."""
    old, new = OTHER_HEADERS[message]
    header = shelf / "include" / "puffer_env.h"
    text = header.read_text()
    assert old in text
    header.write_text(text.replace(old, new))
    source = SMALL
    if "rng[2]" in new:
        for name in ("puffer_harness.h", "puffer_snapshot.h"):
            part = shelf / "include" / name
            part.write_text(part.read_text().replace("].rng", "].rng[0]"))
    if "buffers" in message:
        harness = shelf / "include" / "puffer_episode.h"
        lines = harness.read_text().splitlines(keepends=True)
        harness.write_text("".join(line for line in lines if "b->masks" not in line))
    build.compile_library(add_source("small", source), build.library("small"))
    with pytest.raises(ImportError, match=rf"small.so: {message}.*build it again"):
        OceanEnv("small")


SMALL = r"""
#include "puffer_env.h"
static const puffer_arg ARGS[] = {PUFFER_INT("unused", 1, 1, 1, "nothing")};
static const char *const LOG_FIELDS[] = {"score"};
typedef struct { int32_t tick; } State;
static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    spec->obs_shape[0] = spec->num_heads = spec->head_sizes[0] = 1;
    return NULL;
}
static void reset(puffer_env *env, State *s) { (void)env; (void)s; }
static void step(puffer_env *env, State *s) { (void)env; (void)s; }
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env; (void)s; (void)out;
}
#define PUFFER_NAME "small"
#include "puffer_harness.h"
"""


def test_the_small_environment_of_these_tests_is_sound(install):
    install("small", SMALL)
    env = OceanEnv("small", 2)
    env.reset()
    env.step(np.zeros(2, np.int32))
    assert env.single_observation_space.dtype == np.uint8


def test_a_library_without_the_symbol_is_refused(install):
    install("empty", "int nothing(void);\nint nothing(void) { return 0; }\n")
    with pytest.raises(
        ImportError, match=r"empty\.so is no puffer environment.*puffer_environment"
    ):
        OceanEnv("empty")


def test_a_file_that_is_no_library_is_refused(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    build.library_in(folder).write_text("this is text")
    with pytest.raises(ImportError, match=r"text\.so is no puffer environment"):
        Library(folder)


def test_a_missing_library_says_how_to_build_it(add_source):
    add_source("small", SMALL)
    with pytest.raises(ImportError, match=r"'small' is not built.*python -m puffer_ocean small"):
        OceanEnv("small")
