"""The Dockerfiles without Docker: their own steps, in a bare directory."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = {path.name.partition(".")[0]: path for path in (ROOT / "docker").glob("*.Dockerfile")}
HOME = "/puffer"  # of the image


def steps(name):
    """(instruction, arguments) of a Dockerfile."""
    text = FILES[name].read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


def test_there_are_two():
    assert set(FILES) == {"cpu", "cuda"}


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_the_base_is_pinned_and_the_system_has_what_the_build_needs(name):
    instructions = dict(steps(name))
    assert re.fullmatch(r"[\w/]+:[\w.-]*\d+\.\d+[\w.-]*", instructions["FROM"])
    runs = [arguments for instruction, arguments in steps(name) if instruction == "RUN"]
    installed = shlex.split(runs[0])
    assert {"gcc", "g++", "git"} <= set(installed)
    assert runs[1].startswith("pip install")
    assert "curl" not in " ".join(runs)  # nothing from the network is piped into a shell


def test_both_do_the_same_after_the_system():
    after = [steps(name)[3:] for name in ("cpu", "cuda")]
    assert after[0] == after[1]
    assert after[0][0] == ("WORKDIR", HOME)


def test_what_is_copied_exists():
    for instruction, arguments in steps("cpu"):
        if instruction == "COPY":
            for source in arguments.split()[:-1]:
                assert (ROOT / source).exists(), source


@pytest.mark.slow
def test_the_steps_work_in_a_bare_directory(tmp_path):
    """COPY, RUN, ENV and ENTRYPOINT as they stand; uv stands for the image's own."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv")
    home = tmp_path / "puffer"
    home.mkdir()
    # How this machine reaches the network is its own affair; the rest is bare.
    left_out = ("VIRTUAL_ENV", "PYTHONPATH")
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    ignored = shutil.ignore_patterns("__pycache__", ".venv", "*.so", "*.wasm")
    for instruction, arguments in steps("cpu")[4:]:
        arguments = arguments.replace(HOME, str(home))
        if instruction == "COPY":
            *sources, target = arguments.split()
            for source in sources:
                origin = ROOT / source
                if origin.is_dir():
                    shutil.copytree(origin, home / target, ignore=ignored)
                else:
                    shutil.copy(origin, home / target)
        elif instruction == "ENV":
            name, _, value = arguments.partition("=")
            environment[name] = value.replace("$PATH", environment["PATH"])
        elif instruction == "RUN":
            shell = ["sh", "-c", arguments]
            result = subprocess.run(
                shell, cwd=home, env=environment, capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, f"{arguments}\n{result.stderr}"
    small = "train squared --train.total-timesteps 8192 --eval.episodes 4 --env.num-envs 64"
    result = subprocess.run(
        ["puffer", *small.split()],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert shutil.which("puffer", path=environment["PATH"]) == str(home / ".venv/bin/puffer")
    assert list((home / "runs" / "squared").iterdir())
