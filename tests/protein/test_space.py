"""Search spaces: the grammar, and that every point is legal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_protein import Space, SweepError, choice, integer, log, logit, power_of_two, uniform
from puffer_protein.parameters import Parameter

MIXED = Space(
    {
        "steps": log(1e4, 1e7, scale="time", integer=True),
        "lr": log(1e-5, 0.1),
        "gamma": logit(0.8, 0.9999),
        "horizon": power_of_two(16, 64),
        "layers": integer(1, 3),
        "clip": uniform(-1.0, 2.0),
        "network": choice("mlp", "lstm", True, 1),
        "memory": integer(8, 9, when=("network", ("lstm", True))),
    }
)


def test_transforms_by_hand():
    # u = (log value - log low) / (log high - log low) and its kin; powers of two by exponent
    assert MIXED.parameters["horizon"].to_unit(32) == 0.5
    assert log(1e-5, 0.1).to_unit(0.01) == pytest.approx(0.75)
    expected = (math.log(0.2) - math.log(0.02)) / (math.log(0.2) - math.log(0.0001))
    assert logit(0.8, 0.9999).to_unit(0.98) == pytest.approx(expected)
    assert uniform(-1, 3).to_unit(0) == 0.25
    assert uniform(-1, 3).native(0.25) == 0.0
    assert power_of_two(16, 64).native(0.3) == 32
    assert integer(1, 3).native(0.2) == 1


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_every_point_decodes_to_legal_values(entries):
    point = MIXED.snap(np.array([entries]))[0]
    values = MIXED.decode(point)
    assert type(values["steps"]) is int
    assert 1e4 <= values["steps"] <= 1e7
    assert 1e-5 <= values["lr"] <= 0.1
    assert 0.8 <= values["gamma"] <= 0.9999
    assert values["horizon"] in (16, 32, 64)
    assert type(values["horizon"]) is int
    assert values["layers"] in (1, 2, 3)
    assert values["network"] in ("mlp", "lstm", True, 1)
    active = values["network"] == "lstm" or values["network"] is True
    assert ("memory" in values) == active
    assert np.array_equal(MIXED.encode(values), point)
    assert np.array_equal(MIXED.snap(point[None])[0], point)


def test_values_without_effect_make_no_difference():
    entries = np.full((2, 8), 0.5)
    entries[:, 6] = 0.1  # mlp
    entries[:, 7] = [0.0, 1.0]
    a, b = MIXED.snap(entries)
    assert np.array_equal(a, b)
    assert np.array_equal(MIXED.features(entries[:1]).shape, (1, 11))


def test_the_grammar_of_ini_files():
    space = Space.from_config(
        {
            "train": {
                "total_timesteps": {
                    "distribution": "log_normal",
                    "min": "5e7",
                    "max": "1e10",
                    "mean": "2e8",
                    "scale": "time",
                },
                "horizon": {
                    "distribution": "uniform_pow2",
                    "min": "16",
                    "max": "64",
                    "scale": "auto",
                },
            },
            "policy.network": {"distribution": "categorical", "choices": "mlp, lstm"},
            "policy.width": {
                "distribution": "int_uniform",
                "min": 1,
                "max": 4,
                "when": "policy.network = lstm",
            },
        },
        integers=["train.total_timesteps"],
    )
    assert space.names == [
        "train.total_timesteps",
        "train.horizon",
        "policy.network",
        "policy.width",
    ]
    assert space.time == "train.total_timesteps"
    point = space.snap(np.full((1, 4), 0.9))[0]
    assert type(space.decode(point)["train.total_timesteps"]) is int
    assert Space.from_config(space.as_config()).as_config() == space.as_config()


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (uniform(1, 1), "min must be below max"),
        (log(0, 1), "above 0"),
        (logit(0.5, 1.0), "below 1"),
        (power_of_two(3, 8), "a power of two"),
        (integer(0.5, 3), "a whole number"),
        (uniform(0, math.inf), "finite"),
        (uniform(math.nan, 1), "finite"),
        (uniform("a", 1), "finite"),
        (choice("a"), "at least two different choices"),
        (choice("a", "a"), "at least two different choices"),
        (Parameter("normal"), "expected a distribution"),
        (uniform(0.1, 0.9, integer=True), "no whole number"),
        (uniform(0, 1, scale="fast"), "scale must be"),
        (uniform(0, 1, when=("later", (1,))), "stands before it"),
    ],
)
def test_a_range_that_cannot_be_searched(parameter, message):
    with pytest.raises(SweepError, match=rf"^x: .*{message}"):
        Space({"x": parameter})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "at least one parameter"),
        ({"train": {"match": 3}}, "train.match: expected a table"),
        ({"x": {"distribution": "uniform", "min": 0}}, "x: max is missing"),
        ({"x": {"distribution": "uniform", "min": 0, "max": "one"}}, "x: max: expected a number"),
        ({"x": {"distribution": "uniform", "lo": 0}}, "x: unknown key 'lo'"),
    ],
)
def test_a_config_that_is_no_space(config, message):
    with pytest.raises(SweepError, match=message):
        Space.from_config(config)


def test_values_that_are_not_of_the_space():
    space = Space({"x": uniform(0, 1)})
    with pytest.raises(SweepError, match="unknown parameters"):
        space.encode({"x": 0.5, "y": 1})
    with pytest.raises(SweepError, match="x is missing"):
        space.encode({})
    with pytest.raises(SweepError, match="x: expected a number"):
        space.encode({"x": math.nan})
    with pytest.raises(SweepError, match="expected one of"):
        MIXED.encode(MIXED.decode(np.full(8, 0.5)) | {"network": "gru"})


def test_constraints():
    space = Space({"x": uniform(0, 1), "y": uniform(0, 1)}, [lambda v: v["x"] < v["y"]])
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = space.decode(space.sample(rng))
        assert values["x"] < values["y"]
    with pytest.raises(SweepError, match="refuse all of them"):
        Space({"x": uniform(0, 1)}, [lambda v: False]).sample(rng)
