"""Environments of other packages by their short names."""

import importlib
import re
from contextlib import closing
from importlib import metadata

import gymnasium
import numpy as np
import pytest

from puffer_cli import environments, families
from puffer_cli.config import load_config
from puffer_cli.environments import FAMILIES, find
from puffer_cli.families import LifeLoss
from puffer_cli.main import main
from puffer_cli.vectorize import evaluation_config, make_vecenv
from puffer_core import APIUsageError

EXTRAS = {extra.lower() for extra in metadata.metadata("puffer-cli").get_all("Provides-Extra")}

CASES = [
    ("gymnasium/CartPole-v1", None, 1, "classic_control.ini"),
    ("gymnasium/LunarLander-v3", "Box2D", 1, "box2d.ini"),
    ("gymnasium/Ant-v5", "mujoco", 1, "mujoco.ini"),
    ("ale/Pong", "ale_py", 1, "ale.ini"),
    ("minigrid/MiniGrid-Empty-5x5-v0", "minigrid", 1, "minigrid.ini"),
    ("minigrid/BabyAI-GoToLocal-v0", "minigrid", 1, "minigrid.ini"),
    ("pettingzoo/mpe.simple_spread_v3", "mpe2", 3, "mpe.ini"),
    ("pettingzoo/butterfly.cooperative_pong_v6", "pettingzoo.butterfly", 2, "butterfly.ini"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the packages about themselves
@pytest.mark.parametrize(("name", "package", "agents", "ini"), CASES)
def test_each_family_steps_with_its_settings(name, package, agents, ini):
    if package:
        pytest.importorskip(package)
    environment = find(name)
    assert find(environment.reference).name == environment.name
    assert environment.ini_files[-1].name == ini
    config = load_config(name, {"vec.num_envs": 2, "vec.backend": "serial"})
    assert str(environment.ini_files[-1]) in config.origins.values()
    assert environment.agents(config.env) == agents
    with closing(make_vecenv(config)) as vecenv:
        assert vecenv.num_agents == 2 * agents
        observations, _ = vecenv.reset(0)
        for _ in range(3):
            observations, *_ = vecenv.step(vecenv.action_space.sample())
        assert observations.shape == (2 * agents, *vecenv.single_observation_space.shape)


def test_atari_frames_are_stacked_and_grey():
    pytest.importorskip("ale_py")
    config = load_config("ale/Breakout", {"vec.num_envs": 1, "env.frame_stack": 3})
    with closing(make_vecenv(config)) as vecenv:
        assert vecenv.single_observation_space.shape == (3, 84, 84)
        assert vecenv.single_observation_space.dtype == np.uint8
    assert config.env["life_loss"] is True
    assert evaluation_config(config, 1, 0).env["life_loss"] is False  # whole games


def test_cells_of_minigrid_are_categories():
    """49 cells of 11 objects, 6 colours and 4 states, each category an input."""
    pytest.importorskip("minigrid")
    from puffer_cuda.encoders import make_encoder

    config = load_config("minigrid/MiniGrid-Empty-5x5-v0")
    with closing(make_vecenv(config)) as vecenv:
        vecenv.async_reset(0)
        observations = vecenv.recv()[0]
        assert make_encoder(vecenv, 8).linear.in_features == 49 * (11 + 6 + 4)
        assert observations.shape == (16, 147)
        assert observations.reshape(16, 49, 3).max((0, 1)).tolist() == [8, 5, 0]  # goal; grey walls


def test_an_atari_game_that_does_not_exist_names_the_nearest():
    pytest.importorskip("ale_py")
    with pytest.raises(APIUsageError, match="'ALE/Pong-v5'"):
        find("ale/Pnog")


class Lives(gymnasium.Env):
    """Three lives, one lost every second step; the observation counts the steps of the game."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,))
    action_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self._observed(), {"lives": 3}

    def step(self, action):
        self.time += 1
        lives = 3 - self.time // 2
        return self._observed(), 1.0, lives == 0, False, {"lives": lives}

    def _observed(self):
        return np.array([self.time], np.float32)


def test_a_lost_life_ends_the_episode_and_not_the_game():
    env = LifeLoss(Lives())
    seen = []
    observation, _ = env.reset()
    for _ in range(8):
        observation, _, terminated, _, _ = env.step(0)
        seen.append((int(observation[0]), terminated))
        if terminated:
            observation, _ = env.reset()
            seen.append(int(observation[0]))
    # After a life, reset is one step of the same game; after the last one, a new game.
    # Lives go at 2, 4 and 6; the reset steps are 3 and 5.
    assert seen == [
        *((1, False), (2, True), 3, (4, True), 5, (6, True), 0),
        *((1, False), (2, True), 3, (4, True), 5, (6, True), 0),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pettingzoo/os.path", "expected pettingzoo/FAMILY.NAME with a family of butterfly, mpe"),
        ("pettingzoo/mpe", "expected pettingzoo/FAMILY.NAME"),
        ("pettingzoo/mpe.simple_spred_v3", "'simple_spread_v3'"),
        ("pettingzoo/mpe.all_modules", "mpe2 has no 'all_modules'"),
        ("minigrid/Empty-5x5", "'MiniGrid-Empty-5x5-v0'"),
    ],
)
def test_names_that_are_none(name, message):
    pytest.importorskip("mpe2")
    pytest.importorskip("minigrid")
    with pytest.raises(APIUsageError, match=re.escape(message)):
        find(name)


def test_arguments_that_a_constructor_refuses():
    pytest.importorskip("mpe2")
    config = load_config("pettingzoo/mpe.simple_spread_v3", {"vec.num_envs": 1, "env.N": "2"})
    assert config.env == {"N": 2}
    with pytest.raises(APIUsageError, match="bogus"):
        find("pettingzoo/mpe.simple_spread_v3").agents({"bogus": 1})


@pytest.mark.parametrize(("name", "package", "agents", "ini"), [c for c in CASES if c[1]])
def test_install_hints_name_real_extras(name, package, agents, ini, monkeypatch):
    def missing(module, *arguments):
        if module.split(".")[0] in ("ale_py", "minigrid", "mpe2", "pettingzoo"):
            raise ImportError(f"No module named {module!r}")
        return real(module, *arguments)

    real = importlib.import_module
    monkeypatch.setattr(environments.importlib, "import_module", missing)
    monkeypatch.setattr(families.importlib, "import_module", missing)

    def refuse(*arguments, **keywords):
        raise gymnasium.error.DependencyNotInstalled("there is no package")

    monkeypatch.setattr(gymnasium, "make", refuse)
    with pytest.raises(APIUsageError) as error:
        find(name).creator()()
    (extra,) = re.findall(r"`pip install 'puffer-cli\[(\w+)\]'`", str(error.value))
    assert extra in EXTRAS


def test_the_command_trains_several_agents(capsys, tmp_path):
    pytest.importorskip("mpe2")
    arguments = ["train", "pettingzoo/mpe.simple_spread_v3", "--run-dir", str(tmp_path)]
    arguments += ["--train.total-timesteps", "1000", "--vec.num-envs", "2", "--json"]
    arguments += ["--policy.hidden-size", "8", "--eval.episodes", "3"]
    assert main(arguments) == 0
    assert '"env": "pettingzoo/mpe.simple_spread_v3"' in capsys.readouterr().out


def test_families_are_what_find_takes():
    assert FAMILIES == ("gymnasium/", "ale/", "minigrid/", "pettingzoo/")
