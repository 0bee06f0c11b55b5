"""docs/c-environments.md: its example is a whole environment, and the one that new-env writes."""

import re
from pathlib import Path

import numpy as np
import pytest

from puffer_cli.commands.new_env import TEMPLATES
from puffer_cli.main import main
from puffer_ocean import OceanEnv, build
from puffer_ocean.library import contract

PAGE = Path(__file__).parents[2] / "docs" / "c-environments.md"
FILES = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
HEADER = (build.INCLUDE / "puffer_env.h").read_text()


def test_the_example_is_what_new_env_writes():
    template = {
        path.name: path.read_text() for path in (TEMPLATES / "c").iterdir() if path.is_file()
    }
    assert template == FILES


def test_the_example_builds_and_passes_its_checks(tmp_path, monkeypatch):
    (tmp_path / "walk").mkdir()
    for name, text in FILES.items():
        (tmp_path / "walk" / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["build", "./walk"]) == 0
    assert main(["check", "./walk", "--steps", "1000"]) == 0
    env = OceanEnv("./walk", num_envs=3)
    assert env.reset(seed=0)[0].shape == (3, 2)
    assert len(np.unique(env.render())) > 2


def test_every_name_on_the_page_is_in_the_contract():
    names = {*re.findall(r"\bpuffer_[a-z]+(?=\()|\bPUFFER_[A-Z_]+\b", PAGE.read_text())}
    assert len(names) > 15
    known = HEADER + (build.INCLUDE / "puffer_harness.h").read_text()
    missing = [name for name in names if not re.search(rf"\b{name}\b", known)]
    assert missing == []


@pytest.mark.parametrize("struct", ["puffer_env", "puffer_spec"])
def test_the_page_names_every_field(struct):
    """Of those that an author writes or reads."""
    harness_only = {"spec", "logs", "max_steps", "num_dead", "log_width", "obs_dtype", "obs_low"}
    harness_only |= {"obs_high", "num_heads", "head_sizes", "action_dims", "action_low"}
    harness_only |= {"action_high"}
    text = PAGE.read_text()
    fields = [name for name, _ in contract().typeof(struct).fields if name not in harness_only]
    assert [name for name in fields if name not in text] == []
