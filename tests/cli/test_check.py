"""`puffer check`: our environments are sound, and faults reach the exit code."""

import json

import gymnasium
import numpy as np
import pytest

from puffer_cli.main import main


@pytest.mark.parametrize(
    "arguments",
    [
        ("squared",),
        ("puffer_cartpole",),
        ("cartpole", "--env.continuous", "true"),
        ("breakout",),
        ("breakout", "--env.num-envs", "1"),
        ("gymnasium/CartPole-v1",),
    ],
    ids=" ".join,
)
def test_nothing_above_notes_in_shipped_environments(arguments, capsys):
    assert main(["check", *arguments, "--steps", "2_000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    loud = [finding for finding in document["findings"] if finding["severity"] != "note"]
    assert loud == []
    assert document["steps"] == 2000
    assert document["episodes"] > 0
    assert document["ok"] is True


class Wrong(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, value=np.nan):
        self.value = value

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        observation = np.array([self.value, self.np_random.uniform()], np.float32)
        return observation, float(action), bool(self.np_random.uniform() < 0.1), False, {}


@pytest.fixture
def wrong():
    gymnasium.register("Wrong-v0", Wrong)
    yield "gymnasium/Wrong-v0"
    del gymnasium.registry["Wrong-v0"]


def test_an_error_is_exit_code_1_and_explained(wrong, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["check", wrong, "--steps", "100"]) == 1
    out = capsys.readouterr().out
    for part in ("observation-nan", "error", "step 1", "nan at (0,)", "ruins the policy"):
        assert part in out
    assert "1 error" in out


def test_keys_of_the_environment_reach_it(wrong, capsys):
    assert main(["check", wrong, "--steps", "100", "--env.value", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("squared", "--steps", "0"), "--steps must be at least 1"),
        (("squared", "--seed=-1"), "--seed must be at least 0"),
        (("squared", "--seconds", "0"), "--seconds must be at least 1"),
        (("squared", "--train.gamma", "1"), "takes no train.gamma"),
        (("squared", "--env.sise", "3"), "unknown key env.sise"),
        (("sqared",), "did you mean 'squared'"),
        (("squared", "--stepz", "3"), "--steps"),
    ],
)
def test_misuse_is_exit_code_2(arguments, message, capsys):
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err
