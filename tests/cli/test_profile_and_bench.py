"""`puffer profile` and `puffer bench`: phases that add up, rates that are of what they say."""

import json
import time

import pytest

from puffer_cli.bench import measure
from puffer_cli.main import main
from puffer_cli.profiling import chrome_trace
from puffer_cuda.profile import Profile

SMALL = ["--env.num-envs", "32", "--policy.hidden-size", "16", "--train.threads", "1"]


def document_of(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_spans_are_what_the_seconds_are_made_of():
    profile, waits = Profile(), []
    profile.spans, profile.synchronize = [], lambda: waits.append(1)
    with profile("a"), profile("a/b"):
        time.sleep(0.01)
    with profile("a"):
        pass
    assert [phase for phase, _, _ in profile.spans] == ["a/b", "a", "a"]
    seconds = sum(end - begin for phase, begin, end in profile.spans if phase == "a")
    assert seconds == pytest.approx(profile.seconds["a"])
    assert profile.seconds["a"] >= profile.seconds["a/b"] >= 0.01
    assert len(waits) == 6


def test_profile_of_both_backends(capsys, tmp_path):
    trace = tmp_path / "trace.json"
    arguments = ["--epochs", "2", "--trace", str(trace), *SMALL]
    document = document_of(capsys, "profile", "squared", *arguments)
    assert list(document["backends"]) == ["native", "torch"]
    for measured in document["backends"].values():
        phases = measured["phases"]
        assert measured["steps"] == 2 * 32 * 64  # epochs, agents, horizon
        whole = phases["rollout"] + phases["train"]
        assert measured["steps_per_second"] == pytest.approx(1e9 / whole)
        for parent in ("rollout", "train"):
            parts = [n for phase, n in phases.items() if phase.startswith(f"{parent}/")]
            assert parts
            assert sum(parts) <= phases[parent] * 1.001
    events = json.loads(trace.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert names == ["native backend", "torch backend"]
    epochs = [event for event in events if event["name"] == "train"]
    assert [event["pid"] for event in epochs] == [1, 1, 2, 2]
    assert "train/learn (s)" in epochs[0]["args"]  # the native library's own clock


def test_a_trace_has_microseconds_from_the_first_block():
    trace = chrome_trace({"torch": [("rollout", 10.0, 10.5, {}), ("train", 10.5, 12.0, {})]})
    blocks = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(b["name"], b["ts"], b["dur"]) for b in blocks] == [
        ("rollout", 0, 500_000),
        ("train", 500_000, 1_500_000),
    ]


def test_the_profile_is_a_table_for_people(capsys):
    assert main(["profile", "squared", "--slowly", *SMALL]) == 2  # an option of train
    arguments = ["--epochs", "1", "--train.backend", "torch", *SMALL]
    assert main(["profile", "squared", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "torch on cpu" in shown
    assert "native" not in shown


def test_rates_are_steps_over_time():
    rates = measure(lambda: time.sleep(0.02) or 10, 0.1)
    assert len(rates) == 3
    assert all(0 < rate < 10 / 0.02 for rate in rates)


LAYERS = ["environment", "vectorizer", "policy"]
PHASES = ["end to end", "rollout", "learning"]


def test_bench_of_an_environment_in_c(capsys):
    document = document_of(capsys, "bench", "squared", "--seconds", "0.01", *SMALL)
    rates = document["steps_per_second"]
    trainers = [f"{name}: {phase}" for name in ("native", "torch") for phase in PHASES]
    assert list(rates) == LAYERS + trainers
    assert document["agents"] == 32
    for rate in rates.values():
        assert 0 < rate["low"] <= rate["median"] <= rate["high"]
    for name in ("native", "torch"):  # a whole is slower than its parts
        assert rates[f"{name}: end to end"]["high"] <= rates[f"{name}: rollout"]["high"]


def test_bench_of_an_environment_in_python(capsys):
    arguments = ["--seconds", "0.01", "--policy.hidden-size", "16", "--vec.num-envs", "4"]
    document = document_of(capsys, "bench", "gymnasium/CartPole-v1", *arguments)
    assert list(document["steps_per_second"]) == LAYERS + [f"torch: {phase}" for phase in PHASES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "squared", "--seconds", "0"], "--seconds must be positive, got 0.0"),
        (["profile", "squared", "--epochs", "0"], "--epochs must be at least 1, got 0"),
        (["profile", "sqared"], "'squared'"),
    ],
)
def test_misuse(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
