"""The checker finds every planted fault under its code, and nothing in sound environments."""

import functools
import importlib.util
import json
import sys
from pathlib import Path

import gymnasium
import pytest

from puffer_core import GymnasiumPufferEnv, check_env
from puffer_core.check import main_run, twins
from puffer_core.check.catalogue import CATALOGUE

# Test folders are no packages: what tests share is loaded by its path.
_spec = importlib.util.spec_from_file_location("faulty", Path(__file__).with_name("faulty.py"))
faulty = importlib.util.module_from_spec(_spec)
sys.modules["faulty"] = faulty
_spec.loader.exec_module(faulty)
Walk = faulty.Walk

# What a fault brings along beside its own code.
CONSEQUENCES = {
    "reset-seed": {"seed-no-effect"},
    "seed-not-reproducible": {"global-random"},
    "global-random": {"shared-state"},
    "silent-reset": {"episode-never-ends"},
    "reward-constant": {"episode-never-ends"},
}


def loud(report):
    return {finding.code for finding in report.findings if finding.severity != "note"}


@pytest.mark.parametrize(
    ("code", "severity", "cls"),
    faulty.FAULTS,
    ids=[f"{code}-{cls.__name__}" for code, _, cls in faulty.FAULTS],
)
def test_a_planted_fault_is_found(code, severity, cls, monkeypatch):
    monkeypatch.setattr(main_run, "SEARCH", 3000)  # for speed, as the next line
    monkeypatch.setattr(twins, "STEPS", 300)
    report = check_env(cls, steps=1500)
    (finding,) = [finding for finding in report.findings if finding.code == code]
    assert finding.severity == severity, str(report)
    assert finding.evidence
    assert finding.remedy == CATALOGUE[code].remedy
    assert loud(report) <= {code} | CONSEQUENCES.get(code, set()), str(report)
    assert report.ok == (not any(f.severity == "error" for f in report.findings))


def test_a_sound_environment_has_no_findings():
    report = check_env(Walk, steps=1500)
    assert report.findings == [], str(report)
    assert report.ok
    assert (report.name, report.kind, report.steps) == ("Walk", "Gymnasium", 1500)
    assert report.episodes > 20


GYMNASIUM = [
    spec.id
    for spec in gymnasium.registry.values()
    if isinstance(spec.entry_point, str)
    and spec.entry_point.startswith(("gymnasium.envs.classic_control", "gymnasium.envs.toy_text"))
]


@pytest.mark.parametrize("env_id", GYMNASIUM)
def test_nothing_above_notes_in_gymnasium(env_id):
    report = check_env(functools.partial(gymnasium.make, env_id), steps=1500)
    assert loud(report) == set(), str(report)
    assert report.steps >= 1500
    assert report.name == env_id


def test_of_an_emulated_environment_the_wrapped_one_is_checked():
    report = check_env(lambda: GymnasiumPufferEnv(faulty.TooLarge()), steps=200)
    assert (report.name, report.kind) == ("TooLarge", "Gymnasium")
    assert loud(report) == {"observation-outside"}


def test_the_registry_was_searched():
    assert {"CartPole-v1", "Pendulum-v1", "Taxi-v4", "Blackjack-v1"} & set(GYMNASIUM)
    assert len(GYMNASIUM) >= 9


def test_evidence_names_step_place_and_value():
    report = check_env(faulty.InfiniteInside, steps=200)
    (finding,) = report.errors
    assert (finding.code, finding.path, finding.step) == (
        "observation-nan",
        "observation['a'][0]",
        20,
    )
    assert "inf" in finding.evidence
    assert finding.count > 1


def test_a_reused_array_is_seen_in_the_first_step_that_changes_it():
    report = check_env(faulty.SameArrayInEpisode, steps=200)
    (finding,) = report.findings
    assert (finding.code, finding.step) == ("observation-reused", 1)


def test_ends_by_chance_are_no_time_limit():
    class Chance(Walk):
        def ends(self):
            return bool(self.np_random.random() < 0.2), False

    assert check_env(Chance, steps=1500).findings == []


def test_an_exception_is_told_with_its_line():
    report = check_env(faulty.RaisesLate, steps=200)
    (finding,) = report.errors
    assert finding.path == "step()"
    assert finding.step == 20
    assert "ZeroDivisionError: speed is 0" in finding.evidence
    assert "faulty.py" in finding.evidence
    assert "raise ZeroDivisionError" in finding.evidence


def test_values_that_raise_when_looked_at_are_a_finding():
    class Flag:
        def __bool__(self):
            raise ValueError("neither")

    class Undecided(Walk):
        def step(self, action):
            return (*super().step(action)[:2], Flag(), False, {})

    report = check_env(Undecided, steps=100)
    assert [finding.code for finding in report.errors] == ["exception"]
    assert "ValueError: neither" in report.errors[0].evidence


def test_a_hanging_step_is_interrupted():
    class Hangs(Walk):
        def step(self, action):
            while self.ticks == 5:
                pass
            return super().step(action)

    report = check_env(Hangs, steps=200, seconds=0.2)
    assert [finding.code for finding in report.errors] == ["timeout"]
    assert report.seconds < 5
    assert report.steps == 5


def test_the_seconds_bound_a_slow_environment():
    class Slow(Walk):
        def step(self, action):
            import time

            time.sleep(0.01)
            return super().step(action)

    report = check_env(Slow, seconds=0.5)
    assert report.ok, str(report)
    assert "stopped-early" in {finding.code for finding in report.findings}
    assert report.seconds < 2


def test_a_slow_constructor_is_no_hanging_call():
    class Slow(Walk):
        def __init__(self):
            import time

            super().__init__()
            time.sleep(0.4)

    report = check_env(Slow, seconds=1.5)
    assert [finding.code for finding in report.findings] == ["stopped-early"], str(report)
    assert report.seconds < 2.5


def test_few_steps_say_nothing_of_never():
    report = check_env(faulty.SameReward, steps=50)
    assert report.findings == [], str(report)


def test_the_report_as_text_and_as_json():
    report = check_env(faulty.LargeReward, steps=1000)
    document = json.loads(json.dumps(report.as_dict()))
    assert document["ok"] is True
    assert document["findings"][0]["code"] == "reward-scale"
    assert set(document) == {"name", "kind", "findings", "steps", "episodes", "seconds", "ok"}
    text = str(report)
    assert "LargeReward (Gymnasium): 1,000 steps" in text
    assert "1 note" in text
    assert CATALOGUE["reward-scale"].remedy in text
    assert not check_env(faulty.NoReward, steps=10).as_dict()["ok"]


def test_the_same_seed_gives_the_same_report():
    first, second = (check_env(faulty.TooLarge, steps=500, seed=3).as_dict() for _ in range(2))
    for document in (first, second):
        del document["seconds"]
    assert first == second


def test_the_callers_random_streams_and_alarm_are_left_alone():
    import random
    import signal

    import numpy as np

    random.seed(1)
    np.random.seed(1)
    check_env(Walk, steps=100)
    after = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    assert after == (random.random(), np.random.random())
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
