"""`puffer sweep`: settings, a real sweep of a small environment, resume and report."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from puffer_cli.main import main
from puffer_cli.sweep.driver import Driver, TooManyFailuresError
from puffer_cli.sweep.open import create_study, make_tuner
from puffer_cli.sweep.settings import SweepConfig, read_sweep
from puffer_cli.sweep.trial import Curve
from puffer_core.errors import APIUsageError
from puffer_protein import Study

COMMAND = [sys.executable, "-m", "puffer_cli.main"]
SMALL = ["--env.num-envs", "64", "--train.total-timesteps", "8192", "--train.threads", "1"]
SMALL += ["--sweep.only", "train.learning-rate,train.total-timesteps"]


def make(values=None, file=None, env="squared"):
    return read_sweep(env, values or {}, file, "command line")


def test_the_default_space_and_the_environments_own_settings_as_first_trial():
    sweep = make()
    assert sweep.space.time == "train.total_timesteps"
    default = sweep.default()
    assert default["train.learning_rate"] == pytest.approx(0.03)  # config.ini of squared
    assert default["train.total_timesteps"] == 4_000_000
    assert default["train.minibatch_size"] == 8192
    assert type(default["train.horizon"]) is int
    assert sweep.possible(default)


def test_layers_of_the_space(tmp_path):
    file = tmp_path / "mine.ini"
    file.write_text(
        "[sweep]\nmax_runs = 7\n[sweep.train.gamma]\nmin = 0.9\n"
        "[sweep.env.size]\ndistribution = int_uniform\nmin = 5\nmax = 11\n[train]\nhorizon = 32\n"
    )
    values = {"sweep.train.gamma.max": "0.99", "sweep.goal": "minimize", "train.seed": "3"}
    sweep = make(values, file)
    assert (sweep.settings.max_runs, sweep.settings.goal) == (7, "minimize")
    gamma = sweep.space.parameters["train.gamma"]
    assert (gamma.low, gamma.high, gamma.kind) == (0.9, 0.99, "logit_normal")
    assert sweep.space.parameters["env.size"].integer
    assert sweep.base == {"train.horizon": "32", "train.seed": "3"}
    assert sweep.default()["train.horizon"] == 32


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sweep.max_run": "3"}, "unknown key sweep.max_run .*did you mean 'max_runs'"),
        ({"sweep.match_enemy_model_path": "x"}, r"is a section such as \[sweep.train.gamma\]"),
        ({"sweep.max_suggestion_cost": "60"}, "is called sweep.max_trial_cost here"),
        ({"sweep.train.gama.min": "0"}, "did you mean 'train.gamma'"),
        ({"sweep.train.gamma.max": "1"}, "max of logit_normal must be below 1"),
        ({"sweep.only": "train.gama"}, "sweep.only: did you mean 'train.gamma'"),
        ({"sweep.goal": "max"}, "sweep.goal"),
        ({"train.gama": "1"}, "did you mean 'train.gamma'"),
    ],
)
def test_wrong_settings_fail_before_the_first_trial(values, message):
    with pytest.raises(APIUsageError, match=message):
        make(values)


def test_settings_of_sweeps_are_none_of_training(capsys):
    assert main(["train", "squared", "--sweep.max-runs", "3"]) == 2
    assert "is a setting of `puffer sweep`" in capsys.readouterr().err


def test_impossible_sizes_are_not_suggested():
    values = {"sweep.only": "train.horizon,train.minibatch_size", "env.num_envs": "16"}
    sweep = make(values)
    assert not sweep.possible({"train.horizon": 16, "train.minibatch_size": 32768})
    assert sweep.possible({"train.horizon": 64, "train.minibatch_size": 1024})


def test_scores_of_curves_by_hand():
    curve = Curve(SweepConfig(window=0.5, downsample=2))
    curve.points = [(10.0, 1.0, 1.0), (20.0, 2.0, 2.0), (30.0, 4.0, 3.0), (40.0, 6.0, 4.0)]
    assert curve.score() == pytest.approx((2 + 4 + 6) / 3)  # steps 20 and later
    assert curve.thinned() == [(20.0, 1.5, 2.0), (40.0, 4.0, 4.0)]
    area = Curve(SweepConfig(measure="area"))
    area.points = curve.points
    assert area.score() == pytest.approx(13 / 4)


def test_a_sweep_its_resume_and_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = ["sweep", "squared", *SMALL, "--sweep.max-runs", "1", "--json"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["states"] == {"done": 1}
    (file,) = tmp_path.glob("sweeps/squared/*/study.sqlite")
    study = Study(file)
    assert study.trial(1).kind == "default"
    assert study.trial(1).values == study.settings["default"]
    resumed = ["sweep", "squared", "--resume", "latest", "--sweep.max-runs", "2"]
    assert main([*resumed, "--sweep.workers", "2"]) == 0
    assert "trial 2: done" in capsys.readouterr().out
    trials = study.trials()
    assert [t.state for t in trials] == ["done", "done"]
    assert all(t.cost > 0 and t.curve and t.folder for t in trials)
    assert trials[0].seed != trials[1].seed
    assert all((tmp_path / t.folder / "log.jsonl").exists() for t in trials)
    report = ["sweep", "report", "squared", "--export", "trials.csv"]
    assert main(report) == 0
    shown = capsys.readouterr().out
    assert "learning_rate" in shown
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 3
    pytest.importorskip("matplotlib", reason="not installed: uv sync --group peers")
    assert main(["sweep", "report", str(file.parent), "--png", "front.png"]) == 0
    assert (tmp_path / "front.png").read_bytes()[:4] == b"\x89PNG"


def test_failures_in_a_row_end_the_sweep_and_show_the_last_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = make({"sweep.max_failures": 2, "sweep.metric": "goals"})
    study = create_study(sweep)
    tuner = make_tuner(study, sweep.possible)
    for _ in range(3):
        trial = study.ask(tuner)
        study.tell(trial.id, "failed", None, 0.1, error="RuntimeError: out of memory")
    driver = Driver(study, tuner, sweep.settings, lambda driver: None)
    driver._first = 1
    with pytest.raises(TooManyFailuresError, match=r"2 trials in a row.*out of memory"):
        driver._check_failures()
    driver._first = 2  # failures before a resume do not count
    driver._check_failures()


def test_wrong_use_of_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line, message in (
        (["sweep", "report"], "usage: puffer sweep report"),
        (["sweep", "report", "squared"], "there is no sweep 'squared'"),
        (["sweep", "squared", "--png", "x.png"], "belong to `puffer sweep report"),
        (["sweep", "squared", "--resume", "latest"], "there is no sweep 'latest'"),
    ):
        assert main(line) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("env", ["squared", "cartpole", "breakout"])
def test_every_shipped_configuration_passes_a_sweep_of_two_trials(env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ["sweep", env, "--sweep.max-runs", "2", "--sweep.max-failures", "1"]
    line += ["--train.total-timesteps", "600_000", "--env.num-envs", "256"]
    assert main(line) == 0
    (file,) = tmp_path.glob(f"sweeps/{env}/*/study.sqlite")
    assert Study(file).counts() == {"done": 2}


@pytest.mark.slow
def test_ctrl_c_and_kill_lose_nothing(tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    first = [*SMALL, "--sweep.max-runs", "4"]
    for arguments, number in ((first, signal.SIGINT), (["--resume", "latest"], signal.SIGKILL)):
        process = subprocess.Popen(
            [*COMMAND, "sweep", "squared", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 120
            while not list(tmp_path.glob("sweeps/squared/*/output/*.txt")):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            time.sleep(2.0)
            process.send_signal(number)
            code = process.wait(timeout=120)
            assert code == (128 + number if number == signal.SIGINT else -number)
        finally:
            process.kill()
    last = [*COMMAND, "sweep", "squared", "--resume", "latest"]
    assert subprocess.run(last, cwd=tmp_path, env=environment, check=False).returncode == 0
    (file,) = tmp_path.glob("sweeps/squared/*/study.sqlite")
    trials = Study(file).trials()
    assert [t.state for t in trials] == ["done"] * 4
    assert sorted(t.told for t in trials) == [1, 2, 3, 4]
