"""Arguments of every type, changes of them while environments run, and tables that are wrong."""

import numpy as np
import pytest
from c_sources import typed

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv

DTYPES = [
    ("PUFFER_U8", "uint8_t", np.uint8),
    ("PUFFER_I8", "int8_t", np.int8),
    ("PUFFER_I16", "int16_t", np.int16),
    ("PUFFER_I32", "int32_t", np.int32),
    ("PUFFER_F32", "float", np.float32),
]
ONE = np.zeros(1, np.int32)


@pytest.mark.parametrize(("dtype", "ctype", "expected"), DTYPES)
def test_every_dtype_of_observations(install, dtype, ctype, expected):
    install("typed", typed(dtype, ctype))
    env = OceanEnv("typed", 3, length=2)
    assert env.observations.dtype == env.single_observation_space.dtype == expected
    env.reset()
    env.step(np.zeros(3, np.int32))
    assert env.observations.tolist() == [[1, 1, 1, 4, 1, 100]] * 3
    env.step(np.zeros(3, np.int32))
    assert env.final_observations.tolist() == [[2, 1, 1, 4, 1, 100]] * 3
    assert env.observations.tolist() == [[0, 1, 1, 4, 1, 100]] * 3


def test_every_type_of_argument_arrives(install):
    install("typed", typed())
    env = OceanEnv("typed", length=1, scale=-1.5, loud=False, level="hard", map="Ägypt", size=7)
    assert env.arguments == {
        "length": 1, "scale": -1.5, "loud": False, "level": "hard", "map": "Ägypt", "size": 7
    }  # fmt: skip
    assert env.arguments_of(0) == env.arguments
    assert env.reset()[0].tolist() == [[0, 0, 2, 6, 1, 100, 0]]  # six bytes of UTF-8
    infos = env.step(ONE)[-1]
    assert env.rewards.tolist() == [-1.5]
    assert infos[0]["perf"].tolist() == [2]


BAD = [
    ({"level": "hrad"}, "level must be one of 'easy', 'normal', 'hard', got 'hrad'"),
    ({"level": 1}, "level must be one of .* got 1"),
    ({"level": "easy|normal"}, "level must be one of"),
    ({"map": 3}, "map must be a string, got 3"),
    ({"map": "a\0b"}, "map must be a string"),
    ({"map": "ninechars"}, "typed: map has more than eight letters"),
    ({"scale": 1.25}, r"typed: scale must not be 1\.25"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_values_that_do_not_fit_are_refused(install, arguments, message):
    install("typed", typed())
    with pytest.raises(APIUsageError, match=message):
        OceanEnv("typed", 2, **arguments)


TABLES = [
    ('PUFFER_INT("length", 3,', 'PUFFER_INT("length", 51,', "length must be an integer from 1 to"),
    ('PUFFER_INT("length",', 'PUFFER_INT("num_envs",', "'num_envs': the name must be"),
    ('PUFFER_INT("length",', 'PUFFER_INT("two words",', "'two words': the name must be"),
    ('PUFFER_INT("size", 6,', 'PUFFER_INT("length", 6,', "two arguments have the same name"),
    ('"level", 1,', '"level", 3,', "there is no choice 3 in 'easy"),
    ("easy|normal|hard", "easy|easy|hard", "must be different words"),
    ("easy|normal|hard", "easy||hard", "must be different words"),
]


@pytest.mark.parametrize(("old", "new", "message"), TABLES)
def test_a_table_that_contradicts_itself_is_refused(install, old, new, message):
    assert old in typed()
    install("typed", typed().replace(old, new))
    with pytest.raises(ImportError, match=f"typed.so: .*{message}"):
        OceanEnv("typed")


SPECS = [
    ("spec->obs_shape[0] = (int32_t)args[SIZE];", "", r"obs_shape\[0\] must be at least 1"),
    ("puffer_discrete(spec, 2);", "", "either num_heads or action_dims"),
    ("puffer_discrete(spec, 2);", "puffer_continuous(spec, 1, 1, 1);", "action_low must be below"),
    ("puffer_discrete(spec, 2);", "puffer_discrete(spec, 0);", "head_sizes must be at least 1"),
    ("DTYPE, 0, 0", "DTYPE, 1, 0", "obs_low is above obs_high"),
    ("puffer_discrete(spec, 2);", "puffer_discrete(spec, 2); spec->max_steps = -1;", "max_steps"),
    (
        "puffer_discrete(spec, 2);",
        "puffer_continuous(spec, 1, 0, 1); spec->action_masks = true;",
        "action_masks need num_heads",
    ),
    (
        "puffer_discrete(spec, 2);",
        "for (int i = 0; i < 17; i++) puffer_discrete(spec, 2);",
        "more heads than PUFFER_MAX_HEADS",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), SPECS)
def test_a_layout_that_cannot_be_is_refused(install, old, new, message):
    source = typed().replace("DTYPE", "PUFFER_U8")
    old, new = old.replace("DTYPE", "PUFFER_U8"), new.replace("DTYPE", "PUFFER_U8")
    assert old in source
    install("typed", source.replace(old, new))
    with pytest.raises(APIUsageError, match=f"typed: describe: .*{message}"):
        OceanEnv("typed")


def lengths(env, steps=30):
    """Lengths of the episodes of each environment, in order."""
    found = [[] for _ in range(env.num_envs)]
    for _ in range(steps):
        for info in env.step(np.zeros(env.num_agents, np.int32))[-1]:
            for agent, length in zip(info["agent_id"], info["episode_length"], strict=True):
                found[agent].append(int(length))
    return found


def test_set_params_takes_effect_at_the_next_reset_of_each(install):
    install("typed", typed())
    env = OceanEnv("typed", 3, num_threads=2)
    env.reset()
    env.step(np.zeros(3, np.int32))
    env.set_params(1, length=5)
    env.set_params([0, 2], level="hard", scale=2)
    env.set_params(2, length=7)  # on top of what waits
    assert env.arguments_of(1)["length"] == 3
    assert env.arguments["length"] == 3
    env.step(np.zeros(3, np.int32))
    assert env.rewards.tolist() == [0.5, 0.5, 0.5]
    env.step(np.zeros(3, np.int32))  # the third step ends all
    assert env.rewards.tolist() == [0.5, 0.5, 0.5]
    assert env.observations[:, 2].tolist() == [2, 1, 2]
    assert env.observations[:, 4].tolist() == [1, 1, 1]  # a fresh State, initialised anew
    assert env.arguments_of(2) == {**env.arguments, "level": "hard", "scale": 2.0, "length": 7}
    assert lengths(env, 14) == [[3] * 4, [5, 5], [7, 7]]
    env.set_params(length=2)
    env.reset()
    assert lengths(env, 4) == [[2, 2]] * 3
    assert env.arguments_of(0)["level"] == "hard"


def test_set_params_moves_the_harness_limit(install):
    source = typed().replace("s->tick == (int32_t)env->args[LENGTH]", "false")
    source = source.replace(
        "puffer_discrete(spec, 2);",
        "puffer_discrete(spec, 2); spec->max_steps = (int32_t)args[LENGTH];",
    )
    install("typed", source)
    env = OceanEnv("typed", 2)
    env.reset()
    env.set_params(0, length=4)
    assert lengths(env, 12) == [[3, 4, 4], [3] * 4]


REFUSED = [
    ({"lenght": 5}, "typed has no argument 'lenght'; did you mean 'length'"),
    ({"length": 51}, "length must be an integer from 1 to 50, got 51"),
    ({"level": 2}, "level must be one of"),
    ({"map": "else"}, "map is read once and cannot change"),
    ({"size": 7}, "size would change observations or actions"),
    ({"scale": 1.25}, r"typed: scale must not be 1\.25"),
]


@pytest.mark.parametrize(("params", "message"), REFUSED)
def test_set_params_refuses_and_changes_nothing(install, params, message):
    install("typed", typed())
    env = OceanEnv("typed", 2)
    env.reset()
    for call in (env.set_params, env.check_params):
        with pytest.raises(APIUsageError, match=message):
            call(**{"loud": False, **params})
    with pytest.raises(APIUsageError, match=r"index must be in 0\.\.1, got 2"):
        env.set_params([0, 2], loud=False)
    env.reset()
    assert env.arguments_of(0)["loud"] is True
    assert env.observations[:, 4].tolist() == [1, 1]


def test_changed_arguments_are_saved_and_restored(install):
    install("typed", typed())
    env = OceanEnv("typed", 3, map="abc")
    env.reset()
    env.set_params(0, length=2)
    lengths(env, 4)
    env.set_params(1, length=4)  # waits
    state = env.get_state()
    expected = lengths(env)
    other = OceanEnv("typed", 3, map="abc")
    other.set_state(state)
    assert lengths(other) == expected
    assert len({len(found) for found in expected}) == 3
    for arguments in ({"map": "abd"}, {"map": "abc", "length": 4}):
        with pytest.raises(APIUsageError, match="of other arguments"):
            OceanEnv("typed", 3, **arguments).set_state(state)


def test_a_refused_state_leaves_everything_as_it_was(install):
    install("typed", typed())
    env, other = OceanEnv("typed", 2), OceanEnv("typed", 2, map="else")
    other.reset()
    env.reset()
    before = env.observations.copy()
    with pytest.raises(APIUsageError, match="of other arguments"):
        env.set_state(other.get_state())
    assert (env.observations == before).all()
