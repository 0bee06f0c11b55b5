"""The functions behind `pufferlib.pufferl`."""

import sys

import pytest

from puffer_core import APIUsageError
from pufferlib import pufferl


def test_the_configuration_is_a_plain_dictionary_to_change(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["script.py", "--train.seed", "7", "--own-flag"])
    args = pufferl.load_config("puffer_squared")
    sections = {"train", "policy", "vec", "eval", "selfplay", "log", "env", "rnn", "run_dir"}
    assert sections == set(args)
    assert type(args) is type(args["train"]) is dict
    assert args["train"]["seed"] == pufferl.load_config("default")["train"]["seed"]
    args["train"]["seed"] = 9
    assert pufferl.load_config("squared")["train"]["seed"] != 9


def test_a_vectorizer_of_changed_arguments():
    args = pufferl.load_config("puffer_squared")
    args["vec"]["num_envs"] = 2
    args["env"]["num_envs"] = 8
    args["env"]["size"] = 3
    vecenv = pufferl.load_env("puffer_squared", args)
    assert vecenv.num_agents == 16
    assert vecenv.single_observation_space.shape == (9,)
    vecenv.close()


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("train", "lerning_rate", 1, "train.learning_rate"),
        ("train", "learning_rate", "fast", r"got 'fast' \(args\)"),
        ("env", "sise", 3, "'size'"),
        ("rnn", "hidden_size", 7, "policy.hidden_size"),
        ("rnn", "layers", 128, "rnn.layers"),
    ],
)
def test_mistakes_are_named(section, key, value, message):
    args = pufferl.load_config("squared")
    args[section][key] = value
    with pytest.raises(APIUsageError, match=message):
        pufferl.load_env("squared", args)


def test_unknown_names_of_the_module():
    with pytest.raises(AttributeError, match="lode_config"):
        _ = pufferl.lode_config
    assert {"PuffeRL", "load_config", "load_env", "load_policy", "train"} <= set(dir(pufferl))
