"""Means, standard errors, JSON."""

import json
import math

import numpy as np
import pytest
from rich.console import Console

from puffer_cli.report import duration, print_result, summarize, to_json


def test_mean_and_standard_error():
    scores = [1.0, 2.0, 3.0, 6.0]  # deviations -2 -1 0 3, variance 14 / 3
    stats = summarize({"x": np.arange(4), "score": np.array(scores), "agent_id": np.arange(4)})
    assert list(stats) == ["episodes", "score", "score_se", "x", "x_se"]
    assert stats["episodes"] == 4
    assert stats["score"] == 3.0
    assert stats["score_se"] == pytest.approx(math.sqrt(14 / 3 / 4))


def test_one_episode_has_no_error_and_none_has_no_mean():
    assert summarize({"score": np.array([2.0])}) == {
        "episodes": 1,
        "score": 2.0,
        "score_se": None,
    }
    assert summarize({}) == summarize({"score": np.array([])}) == {"episodes": 0}


def test_json_is_strict():
    text = to_json({"a": math.nan, "b": [math.inf, 1], "c": {"d": 2.5}, "e": None})
    assert json.loads(text) == {"a": None, "b": [None, 1], "c": {"d": 2.5}, "e": None}
    assert "\n" not in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (75.2, "1:15"), (3599.8, "1:00:00"), (7262, "2:01:02")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_table_shows_what_the_document_holds(capsys):
    document = {"steps": 1234, "seconds": 2.0, "steps_per_second": 617.0, "run": "runs/[x]/1"}
    document["stats"] = {"episodes": 2, "score": 1.5, "score_se": 0.5, "y": 1.0, "y_se": None}
    print_result(Console(width=80), document)
    shown = capsys.readouterr().out
    for part in ("1,234", "2.0 s", "617", "1.5", "± 0.5", "runs/[x]/1"):
        assert part in shown
    assert shown.count("±") == 1
