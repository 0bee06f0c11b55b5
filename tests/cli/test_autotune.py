"""`puffer autotune` through the real command line."""

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from puffer_cli.main import main
from puffer_vector import make


def test_the_document_names_a_plan_that_make_takes(capsys):
    arguments = ["gymnasium/CartPole-v1", "--num-envs", "4", "--seconds", "2", "--json"]
    assert main(["autotune", *arguments]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["env"] == "gymnasium/CartPole-v1"
    assert document["profile"]["agents"] == 1
    assert 0 <= document["profile"]["reset_share"] < 1
    assert document["best"] in document["trials"]
    assert document["best"]["settings"]["num_envs"] == 4
    assert err.count("steps/s") == sum(
        t["steps_per_second"] is not None for t in document["trials"]
    )


def test_a_c_environment_is_tried_with_threads_and_its_own_arguments(capsys):
    assert main(["autotune", "squared", "--env.size", "5", "--seconds", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["profile"]["native"] is True
    assert document["profile"]["agents"] == 1024
    alone = [t for t in document["trials"] if t["settings"]["backend"] == "PufferEnv"]
    assert {"num_threads": 1} in [trial["env_kwargs"] for trial in alone]
    from puffer_ocean import env_creator

    best = document["best"]
    kwargs = {"size": 5, "num_envs": 16, **best["env_kwargs"]}
    vecenv = make(env_creator("squared"), env_kwargs=kwargs, **best["settings"])
    assert vecenv.single_observation_space.shape == (25,)
    vecenv.close()


def test_the_table_shows_every_plan_and_the_best(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["autotune", "gymnasium/CartPole-v1", "--num-envs", "2", "--seconds", "1"]) == 0
    out = capsys.readouterr().out
    assert "backend='Serial', num_envs=2" in out
    assert "best: make(creator, backend=" in out
    assert "one alone in this process" in out


def test_usage_errors(capsys):
    for arguments, message in (
        (["squared", "--seconds", "0"], "--seconds must be at least 1, got 0"),
        (["squared", "--train.seed", "1"], "puffer autotune takes no train.seed"),
        (["squared", "--env.sizes", "1"], "unknown key env.sizes"),
        (["squared", "--max-memory", "1"], "no plan fits"),
        (["sqared"], "unknown environment 'sqared'"),
    ):
        assert main(["autotune", *arguments]) == 2, arguments
        assert message in capsys.readouterr().err


class Broken(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        raise KeyError("no such thing as a step")


def test_an_error_of_the_environment_is_shown_as_it_is():
    gymnasium.register("Broken-v0", Broken)
    try:
        with pytest.raises(KeyError, match="no such thing as a step"):
            main(["autotune", "gymnasium/Broken-v0", "--seconds", "1"])
    finally:
        del gymnasium.registry["Broken-v0"]


def test_the_installed_command_prints_one_document():
    command = [sys.executable, "-m", "puffer_cli.main", "autotune", "gymnasium/CartPole-v1"]
    options = ["--num-envs", "2", "--seconds", "1", "--json"]
    result = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["cpus"] >= 1
