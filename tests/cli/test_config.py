"""Layers, types and origins of the configuration."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_cli.config import SECTIONS, Config, all_keys, flatten, load_config
from puffer_core import APIUsageError


def test_every_value_knows_its_origin(tmp_path):
    file = tmp_path / "mine.ini"
    file.write_text("[train]\ngamma = 0.5\nseed = 7\n[env]\nsize = 5\n[base]\nrun_dir = here\n")
    config = load_config("squared", {"train.seed": "8", "env.num_envs": "3"}, file)
    assert (config.train.gamma, config.train.seed) == (0.5, 8)
    assert config.env == {"num_envs": 3, "size": 5}
    assert config.run_dir == "here"
    assert config.origins["train.gamma"] == config.origins["env.size"] == str(file)
    assert config.origins["run_dir"] == str(file)
    assert config.origins["train.seed"] == config.origins["env.num_envs"] == "command line"
    assert config.origins["train.weight_decay"] == "default"
    assert set(config.origins) == set(flatten(config.nested())) == set(config.flat())


def test_the_environments_own_file_is_a_layer():
    config = load_config("breakout")
    from_file = {key for key, origin in config.origins.items() if origin.endswith("config.ini")}
    assert from_file
    assert all("breakout" in config.origins[key] for key in from_file)


def test_default_has_the_defaults_and_no_environment():
    config = load_config("default")
    assert config.env == {}
    assert set(config.origins.values()) == {"default"}
    for name, model in SECTIONS.items():
        assert getattr(config, name) == model()


@pytest.mark.parametrize("name", ["squared", "puffer_squared"])
def test_both_names_are_the_same_environment(name):
    assert load_config(name).train.env == "squared"


def test_gymnasium_has_its_own_settings():
    config = load_config("gymnasium/CartPole-v1", {"env.max_episode_steps": "10"})
    assert config.env == {"max_episode_steps": 10}
    assert config.train.env == "gymnasium/CartPole-v1"
    assert config.origins["train.threads"].endswith("gymnasium.ini")
    assert config.origins["train.total_timesteps"].endswith("classic_control.ini")


def test_free_arguments_are_literals_or_texts():
    raw = {"a": "1.5", "b": "yes", "c": "rgb_array", "d": "(1, 2)", "eE": "None", "f": "false"}
    config = load_config("gymnasium/CartPole-v1", {f"env.{key}": raw[key] for key in raw})
    assert config.env == {
        "a": 1.5,
        "b": True,
        "c": "rgb_array",
        "d": (1, 2),
        "eE": None,
        "f": False,
    }


# Names


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("train.lerning_rate", "train.learning_rate"),
        ("train.num_workers", "vec.num_workers"),
        ("trian.seed", "'train'"),
        ("learning_rate", "train.learning_rate"),
        ("rundir", "run_dir"),
        ("env.sise", "'size'"),
        ("train.env", "puffer train ENV"),
        ("origins.x", "unknown section"),
        ("origins", "unknown key"),
        ("env", "unknown key env "),
        ("train", "unknown key train "),
    ],
)
def test_unknown_names_are_errors_with_the_nearest(key, message, tmp_path):
    with pytest.raises(APIUsageError, match=r"\(command line\)") as error:
        load_config("squared", {key: "1"})
    assert message in str(error.value)
    section, _, name = key.rpartition(".")
    file = tmp_path / "mine.ini"
    file.write_text(f"[{section or 'base'}]\n{name} = 1\n")
    with pytest.raises(APIUsageError, match=r"mine\.ini") as error:
        load_config("squared", file=file)
    assert message in str(error.value)


def test_keys_keep_their_case():
    with pytest.raises(APIUsageError, match=r"train\.Seed"):
        load_config("squared", {"train.Seed": "1"})


def test_default_is_no_special_section(tmp_path):
    file = tmp_path / "mine.ini"
    file.write_text("[DEFAULT]\nseed = 1\n")
    with pytest.raises(APIUsageError, match="unknown section 'DEFAULT'"):
        load_config("default", file=file)


def test_the_names_that_messages_offer_are_real():
    assert "train.env" not in all_keys()
    for key in all_keys():
        value = load_config("default").flat()[key]["value"]
        assert load_config("default", {key: str(value)}).flat()[key] == {
            "value": value,
            "origin": "command line",
        }


# Files


def test_comments_percent_signs_and_dashes(tmp_path):
    file = tmp_path / "mine.ini"
    file.write_text("; one\n[base]\nrun-dir = 100%(x)s ; two\n[train]\ngamma = 0.5 # three\n")
    config = load_config("default", file=file)
    assert config.run_dir == "100%(x)s"
    assert config.train.gamma == 0.5


@pytest.mark.parametrize(
    "text",
    [
        b"gamma = 1\n",  # before any section
        b"[train]\ngamma\n",  # torn
        b"[train\ngamma = 1\n",
        b"[train]\ngamma = 1\ngamma = 2\n",
        b"[train]\nmin-lr-ratio = 1\nmin_lr_ratio = 0\n",
        b"[train]\ngamma = \xff\n",
    ],
)
def test_broken_files_are_named(text, tmp_path):
    file = tmp_path / "mine.ini"
    file.write_bytes(text)
    with pytest.raises(APIUsageError, match=r"mine\.ini"):
        load_config("default", file=file)


def test_missing_files_are_named(tmp_path):
    for path in (tmp_path / "none.ini", tmp_path):
        with pytest.raises(APIUsageError, match=str(path)):
            load_config("default", file=path)


# Types


@pytest.mark.parametrize(
    ("text", "value"),
    [(text, True) for text in ("true", "1", "yes", "True", True)]
    + [(text, False) for text in ("false", "0", "no", "False", False)],
)
def test_switches(text, value):
    assert load_config("default", {"train.anneal_lr": text}).train.anneal_lr is value
    assert load_config("breakout", {"env.continuous": text}).env["continuous"] is value


@given(st.integers(0, 2**53))
def test_whole_numbers(number):
    for spelling in (str(number), f"{number:_}", f"{number}.0", number):
        assert load_config("default", {"train.seed": spelling}).train.seed == number


@given(st.integers(0, 999), st.integers(0, 12))
def test_whole_numbers_with_exponents(digits, exponent):
    number = digits * 10**exponent
    for text in (f"{digits}e{exponent}", f"{digits // 10}.{digits % 10}E+{exponent + 1}"):
        assert load_config("default", {"train.seed": text}).train.seed == number


@pytest.mark.parametrize("text", ["1.5", "1e-3", "one", "", "nan", "inf", "0x10", True, 2.5])
@pytest.mark.parametrize("key", ["train.seed", "env.size"])
def test_no_whole_number(key, text):
    with pytest.raises(APIUsageError, match=key):
        load_config("squared", {key: text})


@given(st.floats(0, 1))
def test_numbers_arrive_exactly(number):
    for spelling in (repr(number), number):
        assert load_config("default", {"train.gamma": spelling}).train.gamma == number


def test_a_type_error_names_key_expectation_value_and_origin():
    with pytest.raises(APIUsageError) as error:
        load_config("default", {"train.learning_rate": "fast", "train.optimizer": "sgd"})
    first, second = str(error.value).splitlines()
    assert {"train.optimizer", "train.learning_rate"} == {
        line.partition(":")[0] for line in (first, second)
    }
    assert "train.learning_rate: expected a valid number, got 'fast' (command line)." in str(
        error.value
    )
    assert "'muon' or 'adamw', got 'sgd' (command line)." in str(error.value)


def test_the_environment_checks_its_range():
    with pytest.raises(APIUsageError, match=r"env.size must be .* from 2 to 256, got 1"):
        load_config("squared", {"env.size": "1"})


def test_assignment_is_checked_too():
    config = load_config("default")
    with pytest.raises(ValueError, match="gamma"):
        config.train.gamma = 2
    assert math.isclose(config.train.gamma, Config.model_validate(config.nested()).train.gamma)
