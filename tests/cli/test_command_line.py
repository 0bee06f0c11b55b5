"""The grammar of `--section.key` options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_cli.command_line import split
from puffer_core import APIUsageError


def test_all_forms():
    line = ["train", "breakout", "--train.seed", "3", "--env.size=5", "--json"]
    line += ["--train.anneal-lr", "--no-env.fast", "--config", "a.ini"]
    rest, values = split(line)
    assert rest == ["train", "breakout", "--json", "--config", "a.ini"]
    assert values == {
        "train.seed": "3",
        "env.size": "5",
        "train.anneal_lr": True,
        "env.fast": False,
    }


def test_an_option_before_the_environment_does_not_swallow_it():
    rest, values = split(["train", "--train.seed", "3", "breakout"])
    assert rest == ["train", "breakout"]
    assert values == {"train.seed": "3"}


def test_negative_numbers_are_values():
    assert split(["--env.low", "-0.5"])[1] == {"env.low": "-0.5"}


def test_a_file_with_a_dot_is_no_option():
    assert split(["--config", "my.ini"]) == (["--config", "my.ini"], {})


def test_the_last_value_counts():
    assert split(["--train.seed", "1", "--train.seed", "2"])[1] == {"train.seed": "2"}


def test_a_switch_that_is_turned_off_takes_no_value():
    with pytest.raises(APIUsageError, match=r"--no-train\.anneal-lr=1"):
        split(["--no-train.anneal-lr=1"])


names = st.text(alphabet="abcXYZ_-", min_size=1).filter(lambda name: name[0] not in "_-")


@given(names, st.text().filter(lambda value: not value.startswith("--")))
def test_both_spellings_of_a_value_are_one(name, value):
    spaced = split([f"--env.{name}", value])
    joined = split([f"--env.{name}={value}"])
    assert spaced == joined == ([], {f"env.{name.replace('-', '_')}": value})
