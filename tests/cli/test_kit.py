"""Environments of one's own: written, compiled, tested, checked, trained, drawn."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest

from puffer_cli.environments import find
from puffer_cli.main import main
from puffer_ocean import OceanEnv, build, load
from puffer_ocean.library import load_folder

SHORT = ["--train.total-timesteps", "8192", "--env.num-envs", "64", "--eval.episodes", "4"]


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_folder.cache_clear()
    yield
    load_folder.cache_clear()


@pytest.fixture
def hop(tmp_path):
    """A new environment in C, not yet compiled."""
    assert main(["new-env", "hop"]) == 0
    return tmp_path / "hop"


def error_of(capsys, arguments, code=2):
    assert main(arguments) == code
    return capsys.readouterr().err


def own_tests_pass(folder):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    return int(re.search(r"(\d+) passed", result.stdout)[1])


def test_a_new_environment_in_c_works_like_a_shipped_one(hop, tmp_path, capsys, monkeypatch):
    names = sorted(path.name for path in hop.iterdir())
    assert names == ["config.ini", "hop.c", "render.py", "test_hop.py"]
    assert all("walk" not in name for name in names)
    assert main(["build", "./hop"]) == 0
    assert own_tests_pass(hop) == 4
    assert main(["check", "./hop", "--steps", "500"]) == 0
    assert main(["train", "./hop", *SHORT]) == 0
    (run,) = (tmp_path / "runs" / "hop").iterdir()
    capsys.readouterr()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    arguments = ["eval", "../hop", "--run-dir", "../runs", "--policy", "latest", "--episodes", "8"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["stats"]["episodes"] == 8
    assert str(run.name) in document["policy"]
    assert OceanEnv("../hop").reset()[0].shape == (1, 2)


def test_a_new_environment_in_python_works_like_a_shipped_one(tmp_path, capsys):
    assert main(["new-env", "hop_far", "--lang", "python"]) == 0
    folder = tmp_path / "hop_far"
    assert own_tests_pass(folder) == 3
    assert "class HopFar(" in (folder / "hop_far.py").read_text()
    assert main(["check", "./hop_far", "--steps", "500", "--env.size", "5"]) == 0
    arguments = ["train", "./hop_far", "--train.total-timesteps", "2048", "--vec.num-workers", "2"]
    assert main([*arguments, "--eval.episodes", "2"]) == 0
    assert len(list((tmp_path / "runs" / "hop_far").iterdir())) == 1
    message = "unknown key env.sise .*did you mean 'size'"
    assert re.search(message, error_of(capsys, ["train", "./hop_far", "--env.sise", "5"]))
    message = r"env\.size must be of type int, got 'wide'"
    assert re.search(message, error_of(capsys, ["check", "./hop_far", "--env.size", "wide"]))


@pytest.mark.parametrize("name", ["Hop", "2hop", "hop.hop", "../hop", "puffer_hop", ""])
def test_names_that_cannot_be(name, capsys, tmp_path):
    assert "lower-case letters" in error_of(capsys, ["new-env", name])
    assert not list(tmp_path.iterdir())


def test_names_that_are_taken(hop, capsys):
    assert "squared is a shipped environment" in error_of(capsys, ["new-env", "squared"])
    assert "exists already" in error_of(capsys, ["new-env", "hop"])


def test_a_compile_error_is_shown_as_the_compiler_says_it(hop, capsys):
    assert main(["build", "./hop"]) == 0
    before = build.library_in(hop).read_bytes()
    source = hop / "hop.c"
    source.write_text(source.read_text().replace("s->tick++;", "s->tock++;"))
    message = error_of(capsys, ["build", "./hop"], 1)
    assert "hop.c does not compile" in message
    assert re.search(r"hop\.c:\d+:\d+: error: .*tock", message)
    assert build.library_in(hop).read_bytes() == before
    assert "older than its source" in error_of(capsys, ["check", "./hop"], 1)


def test_warnings_are_shown_too(hop, capsys):
    source = hop / "hop.c"
    source.write_text(source.read_text().replace("s->tick++;", "s->tick++; int useless;"))
    assert main(["build", "./hop"]) == 0
    assert "unused variable" in capsys.readouterr().err


def test_debug_finds_what_a_plain_build_does_not(hop, capsys):
    assert main(["build", "./hop", "--debug", "--steps", "300", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["findings"], document["sets"]) == ("", 5)  # defaults, two ends of two ranges
    source = hop / "hop.c"
    source.write_text(source.read_text().replace("obs[1] =", "obs[2] ="))
    assert main(["build", "./hop", "--debug", "--steps", "300"]) == 1
    assert "with the default arguments:" in (seen := capsys.readouterr().err), seen
    assert main(["build", "./hop", "--debug", "--steps", "300"]) == 1
    assert "heap-buffer-overflow" in capsys.readouterr().err


def test_a_folder_that_is_not_built_says_how(hop, capsys):
    message = error_of(capsys, ["train", "./hop"], 1)
    assert "'hop' is not built" in message
    assert f"`puffer build {hop}`" in message


def test_folders_that_are_no_environments(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "expected empty.c" in error_of(capsys, ["build", "./empty"])
    assert "there is no folder" in error_of(capsys, ["train", "./nowhere"])
    assert "unknown environment 'hop.hop'" in error_of(capsys, ["train", "hop.hop"])


def test_a_folder_with_the_name_of_a_shipped_environment_is_refused(hop, tmp_path, capsys):
    hop.rename(tmp_path / "squared")
    (tmp_path / "squared" / "hop.c").rename(tmp_path / "squared" / "squared.c")
    assert "name of a shipped environment" in error_of(capsys, ["build", "./squared"])


OTHERS = [
    ("ABI version is 1, expected 2", "PUFFER_ABI_VERSION 2", "PUFFER_ABI_VERSION 1"),
    ("puffer_spec size is", "int32_t render_size;", "int32_t render_size; double more;"),
    ("PUFFER_NAME is 'skip', expected that of the folder", None, None),
    ("no puffer environment", "puffer_library *puffer_environment(", "puffer_library *other("),
]


@pytest.mark.parametrize(("message", "old", "new"), OTHERS)
def test_a_library_of_another_contract_is_refused(
    message, old, new, hop, tmp_path, capsys, monkeypatch
):
    """As one that was built for another version of this package."""
    if old is None:
        source = hop / "hop.c"
        source.write_text(source.read_text().replace('NAME "hop"', 'NAME "skip"'))
    else:
        include = tmp_path / "include"
        include.mkdir()
        for path in build.INCLUDE.iterdir():
            (include / path.name).write_text(path.read_text().replace(old, new))
        monkeypatch.setattr(build, "INCLUDE", include)
    build.compile_library(build.source_in(hop), build.library_in(hop))
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert re.search(rf"hop\.so.*{message}", error_of(capsys, ["check", "./hop"], 1))


@pytest.fixture
def package(hop, tmp_path, monkeypatch):
    """An installed package that registers one environment in C, one in Python, and a broken one."""
    home = tmp_path / "site"
    home.mkdir()
    build.compile_library(build.source_in(hop), build.library_in(hop))
    (hop / "__init__.py").write_text("")
    hop.rename(home / "hop")
    assert main(["new-env", "skip", "--lang", "python"]) == 0
    (tmp_path / "skip").rename(home / "skip")
    (home / "skip" / "__init__.py").write_text("")
    info = home / "hops-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hops\nVersion: 1.0\n")
    entries = "hop = hop\nskip = skip.skip:make\ncrack = nothing_there\nsquared = hop\n"
    (info / "entry_points.txt").write_text(f"[puffer.envs]\n{entries}")
    monkeypatch.syspath_prepend(str(home))
    assert "hops" in {each.name for each in metadata.distributions()}
    yield home
    for name in ("hop", "skip", "skip.skip"):
        sys.modules.pop(name, None)


def test_environments_of_another_package_are_found_by_name(package, capsys):
    assert load("hop").folder == package / "hop"
    assert find("squared").creator()(num_envs=1).name == "squared"  # ours, whoever else says so
    capsys.readouterr()
    assert main(["envs", "--json"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["environments"]}
    assert found["hop"]["observation"] == found["skip"]["observation"] == "float32 (2,)"
    assert found["skip"]["arguments"]["size"]["default"] == 11
    assert "nothing_there" in found["crack"]["error"]
    assert "squared" in found
    assert main(["train", "hop", *SHORT]) == 0
    assert main(["train", "skip", "--train.total-timesteps", "1024"]) == 0
    assert {path.name for path in (package.parent / "runs").iterdir()} == {"hop", "skip"}
    assert "did you mean 'hop'" in error_of(capsys, ["train", "hopp"])


TWO_FILES = """
from __future__ import annotations
from dataclasses import dataclass
import gymnasium, numpy as np
from rules_of_stroll import SIZE
from puffer_core import GymnasiumPufferEnv

@dataclass
class State:
    x: int = 0

class Stroll(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        self.state = State()
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.state.x += 1
        return np.zeros(2, np.float32), 1.0, self.state.x >= SIZE, False, {}

def make(buf=None, seed=0):
    return GymnasiumPufferEnv(Stroll(), buf=buf, seed=seed)
"""


def test_python_sources_have_neighbours_and_dataclasses(tmp_path, capsys):
    (tmp_path / "stroll").mkdir()
    (tmp_path / "stroll" / "stroll.py").write_text(TWO_FILES)
    (tmp_path / "stroll" / "rules_of_stroll.py").write_text("SIZE = 5\n")
    arguments = ["--train.total-timesteps", "64", "--eval.episodes", "4", "--train.horizon", "8"]
    line = ["train", "./stroll", *arguments, "--vec.num-envs=2", "--vec.num-workers=1", "--json"]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["stats"]["episode_return"] == 5


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import os\n\nx = 1 / 0\n", r"broken.py, line 3: ZeroDivisionError: division by zero"),
        ("def make(:\n", r"SyntaxError: .*broken.py, line 1"),
        ("import nowhere\n", "broken.py, line 1: ModuleNotFoundError: No module named 'nowhere'"),
        ("x = 1\n", r"defines no make\(buf=None, seed=0"),
    ],
)
def test_python_sources_that_break_are_named(tmp_path, capsys, source, message):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "broken.py").write_text(source)
    assert re.search(message, error_of(capsys, ["check", "./broken"]))


def test_nothing_is_built_of_python(capsys):
    assert main(["new-env", "stroll", "--lang", "python"]) == 0
    assert "nothing is to be built" in error_of(capsys, ["build", "./stroll"])
