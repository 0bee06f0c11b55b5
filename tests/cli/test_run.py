"""Run folders."""

import errno
import json
import os

import pytest

from puffer_cli.config import load_config
from puffer_cli.layers import read_run
from puffer_cli.run import Run, write_whole
from puffer_core import APIUsageError


@pytest.fixture
def config(tmp_path):
    return load_config("squared", {"run_dir": str(tmp_path), "train.seed": "5"})


def test_the_configuration_survives_the_way_to_disk_and_back(config):
    run = Run(config)
    run.close()
    name, layer = read_run(run.folder / "config.json")
    assert name == "squared"
    assert {**layer.values, "train.env": "squared"} == {
        key: entry["value"] for key, entry in config.flat().items()
    }
    document = json.loads((run.folder / "config.json").read_text())
    assert document["config"]["train.seed"] == {"value": 5, "origin": "command line"}
    assert document["config"]["train.gamma"]["origin"] != "command line"
    assert {"python", "torch", "puffer-cuda"} <= set(document["versions"])
    assert document["run"] == run.folder.name


def test_run_ids_sort_by_time(config):
    runs = [Run(config) for _ in range(5)]
    for run in runs:
        run.close()
    names = [run.folder.name for run in runs]
    assert names == sorted(set(names))


def test_each_log_is_a_line_at_once(config):
    run = Run(config)
    run.log({"agent_steps": 1, "losses/x": float("nan")})
    text = (run.folder / "log.jsonl").read_text()
    assert text.endswith("\n")
    assert json.loads(text) == {"agent_steps": 1, "losses/x": None}
    run.close()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "config.json"
    write_whole(path, "old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"No space left on device: .*config\.json"):
        write_whole(path, "new and longer")
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    "text",
    ["", '{"config": {"train.se', "[]", "{}", '{"config": {"a": 1}}', "\x00", '{"config": []}'],
)
def test_torn_configurations_are_named(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(APIUsageError, match=r"config\.json"):
        read_run(path)
