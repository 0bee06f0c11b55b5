"""The study file: nothing lost, nothing twice, the same suggestions after a resume."""

import importlib.util
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from puffer_protein import Protein, Study, SweepError, exchange

WORKER = Path(__file__).with_name("study_worker.py")
spec = importlib.util.spec_from_file_location("study_worker", WORKER)
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)


def create(path, **settings):
    return Study.create(path, worker.space(), **{"seed": 4, "default": None, **settings})


def finish(study, trial, score=None):
    cost = trial.values["steps"] / 100
    score = trial.values["x"] * cost if score is None else score
    return study.tell(trial.id, "done", score, cost, [(trial.values["steps"] / 2, 0.1, cost / 2)])


def test_a_trial_goes_through_its_states(tmp_path):
    study = create(tmp_path / "study.sqlite", default={"steps": 100.0, "x": 0.5})
    tuner = worker.make_tuner(study)
    trial = study.ask(tuner)
    assert (trial.id, trial.kind, trial.state, trial.pid) == (1, "default", "running", os.getpid())
    assert trial.values == pytest.approx({"steps": 100.0, "x": 0.5})
    assert finish(study, trial)
    assert not study.tell(1, "failed", error="late and wrong")  # the first result stays
    assert study.trial(1).state == "done"
    assert study.trials()[0].curve[0] == pytest.approx((50.0, 0.1, 0.5))
    second = study.ask(tuner)
    assert second.kind == "suggested"
    assert study.counts() == {"done": 1, "running": 1}
    assert study.ask(tuner, max_runs=2) is None
    with pytest.raises(SweepError, match="has no trial 9"):
        study.tell(9, "done", 1.0, 1.0)


def test_a_score_that_is_not_finite_is_a_divergence(tmp_path):
    study = create(tmp_path / "study.sqlite")
    trial = study.ask(worker.make_tuner(study))
    study.tell(trial.id, "done", float("nan"), 1.0)
    assert study.trial(1).state == "diverged"
    assert "nan" in study.trial(1).error


def test_resuming_gives_the_same_suggestions(tmp_path):
    def suggestions(path, reopen):
        study = create(path)
        tuner = worker.make_tuner(study)
        found, open_trials = [], []
        for number in range(24):
            if reopen and number % 5 == 3:
                study.close()
                study = Study(path)
                tuner = worker.make_tuner(study)
            trial = study.ask(tuner)
            found.append(trial.values)
            open_trials.append(trial)
            if number % 2:  # two at a time, the younger one first
                finish(study, open_trials.pop())
                finish(study, open_trials.pop())
        return found

    whole = suggestions(tmp_path / "a.sqlite", False)
    assert suggestions(tmp_path / "b.sqlite", True) == whole


def test_a_lost_trial_runs_again_once_with_the_same_values(tmp_path):
    study = create(tmp_path / "study.sqlite")
    tuner = worker.make_tuner(study)
    first = study.ask(tuner)
    assert study.lost(first.id, "killed by SIGKILL")
    assert not study.claim(first.id, first.attempt)  # the old process is too late
    again = study.ask(tuner)
    assert (again.id, again.values, again.attempt) == (first.id, first.values, 2)
    assert not study.lost(again.id, "killed by SIGKILL")
    assert study.trial(1).state == "failed"
    assert study.trial(1).error == "killed by SIGKILL"
    assert study.ask(tuner).id == 2


def test_preempted_trials_run_again_as_often_as_need_be(tmp_path):
    study = create(tmp_path / "study.sqlite")
    tuner = worker.make_tuner(study)
    values = study.ask(tuner).values
    for attempt in range(2, 6):
        study.preempt(1)
        trial = study.ask(tuner)
        assert (trial.id, trial.values, trial.attempt) == (1, values, attempt)
    study.preempt(1)
    assert finish(study, trial)  # a late result is accepted
    assert study.counts() == {"done": 1}


def test_recovery_tells_the_dead_from_the_living(tmp_path):
    study = create(tmp_path / "study.sqlite")
    tuner = worker.make_tuner(study)
    study.ask(tuner)
    assert study.recover() == []  # this process lives
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import study_worker as w\n"
        "study = w.Study(sys.argv[2]); study.ask(w.make_tuner(study))"
    )
    line = [sys.executable, "-c", code, str(WORKER.parent), str(study.path)]
    subprocess.run(line, check=True)
    assert study.recover() == [2]
    assert study.trial(2).state == "preempted"


def kill_at_random(tmp_path, runs, kills, seed):
    path = tmp_path / "study.sqlite"
    create(path)
    rng = random.Random(seed)
    killed = 0
    deadline = time.monotonic() + 300
    while True:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), "driver", str(path), str(runs)], start_new_session=True
        )
        try:
            if killed == kills:
                assert process.wait(timeout=max(1, deadline - time.monotonic())) == 0
                return Study(path)
            time.sleep(rng.uniform(0.3, 1.0))
            if process.poll() is not None:
                raise AssertionError("too few trials for so many kills")
            if rng.random() < 0.5:  # the driver alone: its trial lives on
                os.kill(process.pid, signal.SIGKILL)
            else:
                os.killpg(process.pid, signal.SIGKILL)
            killed += 1
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.mark.parametrize(("runs", "kills"), [(12, 3), pytest.param(80, 20, marks=pytest.mark.slow)])
def test_kill_9_of_drivers_and_trials(tmp_path, runs, kills):
    study = kill_at_random(tmp_path, runs, kills, seed=kills)
    trials = study.trials()
    assert [t.id for t in trials] == list(range(1, runs + 1))
    assert {t.state for t in trials} == {"done"}
    assert sorted(t.told for t in trials) == list(range(1, runs + 1))
    check = sqlite3.connect(study.path).execute("PRAGMA integrity_check").fetchone()
    assert check == ("ok",)


def test_files_that_are_no_studies(tmp_path):
    with pytest.raises(SweepError, match="there is no study"):
        Study(tmp_path / "missing.sqlite")
    (tmp_path / "text.sqlite").write_text("no database " * 1000)
    with pytest.raises(SweepError, match="is no study"):
        Study(tmp_path / "text.sqlite")
    study = create(tmp_path / "study.sqlite")
    with pytest.raises(SweepError, match="exists"):
        create(study.path)
    study.change(version=99)
    study.close()
    with pytest.raises(SweepError, match="version 99"):
        Study(study.path)


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet"])
def test_export_and_import(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="not installed: uv sync --group peers")
    study = create(tmp_path / "study.sqlite")
    tuner = worker.make_tuner(study)
    for number in range(5):
        trial = study.ask(tuner)
        if number == 2:
            study.tell(trial.id, "failed", None, 3.0, error="out of memory, says the kernel")
        else:
            finish(study, trial)
    path = tmp_path / f"trials{suffix}"
    exchange.export(study, path)
    other = create(tmp_path / "other.sqlite")
    assert exchange.import_rows(other, exchange.read_rows(path)) == 5
    for mine, theirs in zip(study.trials(), other.trials(), strict=True):
        assert mine.values == theirs.values
        assert (mine.state, mine.score, mine.cost) == (theirs.state, theirs.score, theirs.cost)
    assert [t.kind for t in other.trials()] == ["imported"] * 5
    new = Protein(other.space, seed=0)
    other.load(new)
    assert new.suggested == 0
    assert [o.failed for o in new.outcomes] == [False, False, True, False, False]


def test_import_of_a_weights_and_biases_export(tmp_path):
    path = tmp_path / "wandb.csv"
    path.write_text(
        '"Name","State","Runtime","steps","x","score"\n'
        '"a","finished","12","100","0.5","0.9"\n'
        '"b","crashed","3","50","0.25",""\n'
        '"c","running","1","50","0.25","0.1"\n'
    )
    study = create(tmp_path / "study.sqlite")
    rows = exchange.read_rows(path)
    assert exchange.import_rows(study, rows, cost="Runtime", state="State") == 2
    assert [t.state for t in study.trials()] == ["done", "failed"]
    assert study.trial(1).score == 0.9
    assert study.trial(1).cost == 12.0
    with pytest.raises(SweepError, match=r"row 1: x is missing"):
        exchange.import_rows(study, [{"steps": 100, "score": 1.0, "cost": 1.0}])
    with pytest.raises(SweepError, match="suffix"):
        exchange.read_rows(tmp_path / "trials.xml")
