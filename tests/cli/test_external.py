"""Copies of the log in other programs: bounded, tolerated, acknowledged, without credentials."""

import importlib.util
import json
import os
import subprocess
import sys
import threading

import pytest

from puffer_cli.config import load_config
from puffer_cli.external import Copies, check, open_copies, settings
from puffer_cli.main import main
from puffer_core import APIUsageError

TOKEN = "hunter2-is-a-secret-token"
SHORT = ["--env.num-envs", "64", "--policy.hidden-size", "16"]
ALWAYS = ["--train.threads", "1", "--eval.episodes", "8", "--json"]


class Kept:
    """A writer that keeps what it gets."""

    def __init__(self):
        self.points, self.closed = [], False

    def log(self, values, step):
        self.points.append((values, step))

    def close(self):
        self.closed = True


@pytest.fixture
def warnings():
    return []


def test_points_arrive_in_order_and_only_numbers(warnings):
    kept = Kept()
    copies = Copies(lambda: kept, "test", warnings.append)
    copies.log({"a": 1, "b": True, "c": "text", "d": None}, 10)
    copies.log({"a": 2.5}, 20)
    copies.close()
    assert kept.points == [({"a": 1.0}, 10), ({"a": 2.5}, 20)]
    assert kept.closed
    assert warnings == []


@pytest.mark.parametrize("fails", ["open", "log", "close"])
def test_a_service_that_fails_is_one_warning(fails, warnings, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", TOKEN)

    class Broken(Kept):
        def log(self, values, step):
            if fails == "log":
                raise ConnectionError(f"no route, key {TOKEN}")

        def close(self):
            if fails == "close":
                raise SystemExit(f"no route, key {TOKEN}")

    def open_writer():
        if fails == "open":
            raise OSError(f"no route, key {TOKEN}")
        return Broken()

    copies = Copies(open_writer, "test", warnings.append)
    for step in range(100):
        copies.log({"a": 1.0}, step)
    copies.close()
    (warning,) = warnings
    assert "nothing more is copied to test" in warning
    assert "no route, key ***" in warning
    assert TOKEN not in warning


def test_a_service_that_hangs_costs_bounded_memory_and_time(warnings):
    hang = threading.Event()
    copies = Copies(hang.wait, "test", warnings.append, waiting=3, patience=0.05)
    for step in range(10):
        copies.log({"a": 1.0}, step)
    assert copies._queue.qsize() == 3
    copies.close()
    assert warnings == [
        "WARNING: nothing more is copied to test: it is 3 points behind. The run goes on, and its "
        "own log is whole."
    ]
    hang.set()


def test_the_end_of_a_run_waits_only_a_while(warnings):
    hang = threading.Event()
    copies = Copies(hang.wait, "test", warnings.append, patience=0.05)
    copies.close()
    assert "did not finish within 0.05 s" in warnings[0]
    hang.set()


def config_of(**log):
    return load_config("squared", {f"log.{key}": value for key, value in log.items()})


@pytest.mark.parametrize(("service", "variable"), [("wandb", "WANDB_API_KEY"), ("neptune", "")])
def test_nothing_is_sent_without_acknowledgement(service, variable, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WANDB_API_KEY", TOKEN)
    monkeypatch.setenv("NEPTUNE_API_TOKEN", TOKEN)
    arguments = ["train", "squared", "--log.external", service, "--run-dir", str(tmp_path)]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "without --log.acknowledge" in error
    assert TOKEN not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("service", "credentials", "offline"),
    [("wandb", "WANDB_API_KEY", "WANDB_MODE"), ("neptune", "NEPTUNE_API_TOKEN", "NEPTUNE_MODE")],
)
def test_credentials_are_variables_of_the_service(service, credentials, offline, monkeypatch):
    pytest.importorskip(service)
    for name in (credentials, offline):
        monkeypatch.delenv(name, raising=False)
    config = config_of(external=service, acknowledge=True).log
    with pytest.raises(APIUsageError, match=f"variable {credentials}, which is not set"):
        check(config)
    monkeypatch.setenv(offline, "offline")
    check(config)
    monkeypatch.delenv(offline)
    monkeypatch.setenv(credentials, TOKEN)
    check(config)


def test_a_missing_package_names_a_real_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(APIUsageError, match=r"pip install 'puffer-cli\[tensorboard\]'"):
        check(config_of(external="tensorboard").log)


def test_settings_named_like_secrets_stay_here(monkeypatch):
    config = config_of()
    config.env = {"size": 5, "api_key": TOKEN}
    told = settings(config)
    assert told["env.size"] == 5
    assert "env.api_key" not in told


def train(tmp_path, *arguments, **environment):
    """In a process of its own: services' packages leave threads and files behind."""
    command = [sys.executable, "-m", "puffer_cli.main", "train", "squared", *ALWAYS]
    command += ["--run-dir", str(tmp_path / "runs"), *arguments]
    variables = {**os.environ, **environment}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=variables
    )
    assert result.returncode == 0, result.stderr
    return result, json.loads(result.stdout)


def test_tensorboard_has_the_series_and_a_resumed_run_goes_on(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    external = ["--log.external", "tensorboard"]
    _, first = train(tmp_path, *external, *SHORT, "--train.total-timesteps", "16384")
    more = ["--resume", "latest", "--train.total-timesteps", "32768"]
    _, second = train(tmp_path, *external, *more)
    assert second["run"] == first["run"]
    run = tmp_path / first["run"]
    found = EventAccumulator(str(run / "tensorboard")).Reload()
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    points = [(e.step, e.value) for e in found.Scalars("losses/entropy")]
    expected = [(line["agent_steps"], line["losses/entropy"]) for line in lines]
    assert [step for step, _ in points] == [4096 * i for i in range(1, 9)]
    assert points == [(step, pytest.approx(value, rel=1e-6)) for step, value in expected]
    scores = found.Scalars("evaluation/score")
    assert scores[-1].value == pytest.approx(second["stats"]["score"])


@pytest.mark.slow
def test_wandb_offline(tmp_path):
    pytest.importorskip("wandb")
    arguments = [*SHORT, "--log.external", "wandb", "--log.acknowledge"]
    arguments += ["--train.total-timesteps", "8192"]
    result, document = train(tmp_path, *arguments, WANDB_MODE="offline", WANDB_API_KEY=TOKEN)
    assert "nothing more is copied" not in result.stderr
    run = tmp_path / document["run"]
    (binary,) = run.glob("wandb/offline-run-*/*.wandb")
    data = binary.read_bytes()
    assert run.name.encode() in data
    assert b"losses/entropy" in data
    assert b"train.learning_rate" in data
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if TOKEN.encode() in path.read_bytes()]


@pytest.mark.slow
def test_neptune_offline(tmp_path):
    pytest.importorskip("neptune")
    arguments = [*SHORT, "--log.external", "neptune", "--log.acknowledge"]
    arguments += ["--train.total-timesteps", "8192"]
    result, _ = train(tmp_path, *arguments, NEPTUNE_MODE="offline")
    assert "nothing more is copied" not in result.stderr
    data = b"".join(p.read_bytes() for p in (tmp_path / ".neptune").rglob("*") if p.is_file())
    assert b'"losses", "entropy"' in data
    assert b'"performance", "rollout.env"' in data
    assert b"learning_rate" in data


def test_nothing_is_copied_by_default(tmp_path):
    copies = open_copies(config_of(), tmp_path, 0, print)
    copies.log({"a": 1}, 1)
    copies.close()
    assert list(tmp_path.iterdir()) == []


def test_a_plan_logs_nowhere_else(capsys, tmp_path):
    assert main(["plan", "train", "squared", "--log.external", "tensorboard"]) == 2
    assert "log.external = tensorboard, a plan's is none" in capsys.readouterr().err
