"""Suggestions: legal, distinct, reproducible, and never an exception."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from puffer_protein import (
    ParetoGenetic,
    Protein,
    Random,
    Space,
    SweepError,
    choice,
    integer,
    log,
    power_of_two,
    uniform,
)
from puffer_protein.early_stop import EarlyStop
from puffer_protein.front import hypervolume
from puffer_protein.importance import slices
from puffer_protein.study import Trial

METHODS = [Protein, Random, ParetoGenetic]


def small():
    return Space(
        {
            "steps": log(1e3, 1e6, scale="time", integer=True),
            "x": uniform(0, 1),
            "width": power_of_two(8, 64),
            "kind": choice("a", "b"),
        }
    )


def task(values, rng):
    """Score rises with steps and has its optimum at x = 0.7, width = 32, kind b; cost = steps."""
    quality = math.exp(-8 * (values["x"] - 0.7) ** 2 - 0.2 * math.log2(values["width"] / 32) ** 2)
    quality *= 1.0 if values["kind"] == "b" else 0.6
    score = quality * (1 - (1 + values["steps"] / 2e4) ** -0.7)
    noise = 0.0 if rng is None else 0.01 * rng.standard_normal()
    return score + noise, values["steps"] / 1e3


def run(tuner, trials, seed=0):
    rng = np.random.default_rng(seed)
    suggestions = []
    for _ in range(trials):
        values = tuner.suggest()
        score, cost = task(values, rng)
        half = values["steps"] / 2
        tuner.observe(values, score, cost, curve=[(half, score * 0.8, cost / 2)])
        suggestions.append(values)
    return suggestions


def noiseless_volume(tuner):
    """Of the front that the tuner names, from its settings alone."""
    found = [task(p.values, None) for p in tuner.front()]
    return hypervolume(*np.array(found).T, 0.0, 1.0, 1e3)


def test_protein_finds_the_optimum_and_more_of_the_front_than_random_search():
    def mean_volume(method):
        tuners = [method(small(), seed=s, max_trial_cost=1e3, max_runs=40) for s in range(3)]
        for seed, tuner in enumerate(tuners):
            run(tuner, 40, seed)
        return np.mean([noiseless_volume(tuner) for tuner in tuners]), tuners[0]

    volume, tuner = mean_volume(Protein)
    # The best possible: x = 0.7, width 32 and kind b at every cost.
    steps = np.geomspace(1e3, 1e6, 500)
    best = hypervolume(1 - (1 + steps / 2e4) ** -0.7, steps / 1e3, 0.0, 1.0, 1e3)
    assert mean_volume(Random)[0] < 0.78 * best
    assert volume > 0.85 * best
    point = tuner.recommend()
    assert point.values["kind"] == "b"
    assert point.values["x"] == pytest.approx(0.7, abs=0.15)
    assert point.sd > 0


@pytest.mark.parametrize("method", METHODS)
def test_pending_trials_are_distinct_and_results_may_come_in_any_order(method):
    tuner = method(small(), seed=1)
    rng = np.random.default_rng(0)
    pending = []
    for _ in range(6):
        while len(pending) < 8:
            pending.append(tuner.suggest())
        assert len({json.dumps(v) for v in pending}) == 8
        for _ in range(4):
            values = pending.pop(int(rng.integers(len(pending))))
            tuner.observe(values, *task(values, rng))
            assert len(tuner.pending) == len(pending)


@pytest.mark.parametrize("method", METHODS)
def test_a_space_smaller_than_the_number_of_workers_does_not_stall(method):
    tuner = method(Space({"kind": choice("a", "b")}), seed=0)
    values = [tuner.suggest() for _ in range(6)]
    for each in values:
        tuner.observe(each, 1.0, 1.0)
    assert tuner.suggest()["kind"] in ("a", "b")


NUMBERS = st.one_of(
    st.floats(-1, 1),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e300, -1e300, 1e-300, 5.0]),
)
COSTS = st.one_of(st.floats(0.1, 100), st.sampled_from([0.0, 1e-9, 1e9, 1.0]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(NUMBERS, COSTS, st.booleans()), min_size=1, max_size=14), st.booleans())
def test_no_result_breaks_the_tuner(results, same):
    tuner = Protein(small(), seed=0)
    first = None
    for score, cost, failed in results:
        values = tuner.suggest()
        first = first or values
        tuner.observe(first if same else values, score, cost, failed=failed)
        tuner.pending = []
    values = tuner.suggest()
    assert np.isfinite(tuner.space.encode(values)).all()
    for point in tuner.front():
        assert math.isfinite(point.score)


@pytest.mark.parametrize("scores", [[1.0] * 20, [math.nan] * 20, [0.0, 1.0] * 10])
def test_equal_scores_and_failures_alone(scores):
    tuner = Protein(small(), seed=0)
    for score in scores:
        tuner.observe(tuner.suggest(), score, 1.0)
    assert tuner.suggest()
    if math.isnan(scores[0]):
        assert tuner.front() == []
        assert tuner.recommend() is None


def test_fifty_identical_observations():
    tuner = Protein(small(), seed=0)
    values = tuner.suggest()
    for _ in range(50):
        tuner.observe(values, 0.5, 2.0)
    (point,) = tuner.front()
    assert tuner.pending == []
    assert point.values == values
    assert point.score == pytest.approx(0.5, abs=1e-3)
    assert tuner.suggest() != values


def test_replicates_average():
    """A lucky run does not stay on the front: the mean of its repeats counts."""
    tuner = Protein(Space({"x": uniform(0, 1)}), seed=0)
    rng = np.random.default_rng(0)
    for x in (0.1, 0.3, 0.5, 0.7, 0.9) * 6:
        tuner.observe({"x": x}, x + 0.3 * rng.standard_normal(), 1.0)
    point = tuner.recommend()
    assert point.values["x"] == 0.9
    assert point.score == pytest.approx(0.9, abs=0.2)
    assert max(o.score for o in tuner.outcomes) > 1.2  # the luckiest of them


def test_minimise_is_maximise_of_the_negative():
    up, down = Protein(small(), seed=3), Protein(small(), seed=3, goal="minimize")
    rng = np.random.default_rng(0)
    for _ in range(25):
        a, b = up.suggest(), down.suggest()
        assert a == b
        score, cost = task(a, rng)
        up.observe(a, score, cost, curve=[(10, score / 2, cost / 3)])
        down.observe(b, -score, cost, curve=[(10, -score / 2, cost / 3)])
    for one, other in zip(up.front(), down.front(), strict=True):
        assert (one.values, one.score, one.sd) == (other.values, -other.score, other.sd)


def test_same_seed_same_suggestions_in_two_processes():
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from test_protein import run, small\nfrom puffer_protein import Protein\n"
        "print(json.dumps(run(Protein(small(), seed=int(sys.argv[2])), 20)))"
    )

    def suggestions(seed):
        folder = __file__.rpartition("/")[0]
        line = [sys.executable, "-c", code, folder, str(seed)]
        return json.loads(subprocess.run(line, capture_output=True, check=True, text=True).stdout)

    assert suggestions(5) == suggestions(5) == run(Protein(small(), seed=5), 20)
    assert suggestions(5) != suggestions(6)


def test_the_default_comes_first_and_caps_hold():
    default = {"steps": 5000, "x": 0.5, "width": 16, "kind": "a"}
    tuner = Protein(small(), seed=0, default=default, max_trial_cost=50.0)
    assert tuner.suggest() == default
    tuner.observe(default, *task(default, np.random.default_rng(0)))
    later = run(tuner, 30)[12:]
    assert all(values["steps"] / 1e3 < 60 for values in later)  # 50 s, and the model's error


def test_failures_are_avoided_but_do_not_lower_scores():
    tuner = Protein(small(), seed=0)
    rng = np.random.default_rng(0)
    failed = 0
    for number in range(50):
        values = tuner.suggest()
        bad = values["x"] > 0.8
        failed += bad and number >= 25
        tuner.observe(values, *task(values, rng), failed=bad)
    assert failed <= 5  # 20 % of the space fails: by chance 5 of 25
    assert all(point.values["x"] <= 0.8 for point in tuner.front())


def test_constraints_hold_for_every_suggestion():
    space = Space(
        {"a": integer(1, 8), "b": integer(1, 8), "c": uniform(0, 1)},
        [lambda values: values["a"] <= values["b"]],
    )
    tuner = Protein(space, seed=0)
    for _ in range(25):
        values = tuner.suggest()
        assert values["a"] <= values["b"]
        tuner.observe(values, values["a"] - values["c"], 1.0)


def test_an_early_end_is_no_result_of_the_full_length():
    tuner = Protein(small(), seed=0)
    run(tuner, 12)
    values = tuner.suggest()
    tuner.observe(values, 9.0, 0.01, stopped_at=100)
    assert all(point.score < 2 for point in tuner.front())
    assert tuner.pending == []


def test_wrong_use():
    with pytest.raises(SweepError, match="goal must be"):
        Protein(small(), goal="max")
    with pytest.raises(SweepError, match="max_trial_cost must be above 0"):
        Protein(small(), max_trial_cost=0)
    tuner = Protein(small())
    values = tuner.suggest()
    with pytest.raises(SweepError, match="cost must be 0 or more"):
        tuner.observe(values, 1.0, -1.0)


def test_importance_names_what_matters():
    space = Space({"x": uniform(0, 1), "idle": uniform(0, 1), "kind": choice("a", "b")})
    tuner = Protein(space, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        point = space.decode(space.sample(rng))
        tuner.observe(point, 3 * point["x"] + (point["kind"] == "b"), 1.0)
    found = {each.name: each for each in slices(tuner)}
    assert next(iter(found)) == "x"
    assert found["idle"].importance < 0.02
    # variances along the slices: 9/12 and 1/4
    assert found["x"].importance == pytest.approx(0.75, abs=0.08)
    assert found["x"].scores[-1] - found["x"].scores[0] == pytest.approx(3, abs=0.3)
    assert found["kind"].values == ["a", "b"]


def test_import_is_cheap_and_needs_no_torch():
    code = "import puffer_protein, sys; print([m for m in ('torch', 'scipy') if m in sys.modules])"
    line = [sys.executable, "-c", code]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def trial(number, score, cost, curve):
    fields = dict.fromkeys(Trial.__dataclass_fields__)
    fields |= {"id": number, "state": "done", "score": score, "cost": cost, "curve": curve}
    return Trial(**fields)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_early_stopping_rule_by_hand(sign):
    # Every curve rises by 0.01 ... 0.2 in its second half; the front at cost 10 is 1.0.
    trials = [
        trial(i, sign * (0.05 * i + 0.01 * i), 10.0, ((5, sign * 0.05 * i, 5.0), (10, 0, 10.0)))
        for i in range(1, 21)
    ]
    rule = EarlyStop(trials, sign)
    assert rule.gain(0.5) == pytest.approx(np.quantile(0.01 * np.arange(1, 21), 0.95))
    best = 0.06 * 20
    assert not rule.hopeless(0.5, sign * (best - rule.gain(0.5) + 0.01), 5.0)
    assert rule.hopeless(0.5, sign * (best - rule.gain(0.5) - 0.01), 5.0)
    assert not rule.hopeless(0.2, sign * 0.0, 2.0)  # too early
    assert not rule.hopeless(0.5, sign * 0.0, 4.0)  # ends at cost 8: nothing to compare with
    assert not EarlyStop(trials[:10], sign).hopeless(0.5, sign * 0.0, 5.0)  # too few curves
