"""Shell completion: what bash offers, by running bash."""

import os
import shutil
import subprocess
import sys

import pytest

from puffer_cli.commands import NAMES
from puffer_cli.completion import SHELLS, candidates
from puffer_cli.main import main, make_parser


def words(text):
    return candidates(make_parser(), text.split(" "))


def test_commands_come_first():
    assert words("") == [*NAMES, "--help", "--version"]
    assert words("tr") == ["train"]
    assert words("nonsense x") == []


@pytest.mark.parametrize(
    ("line", "among", "not_among"),
    [
        ("train bre", ["breakout"], ["squared"]),
        ("train puffer_bre", ["puffer_breakout"], ["breakout"]),
        ("train gym", ["gymnasium/"], []),
        ("train breakout --train.learn", ["--train.learning-rate"], ["--train.seed"]),
        ("train breakout --js", ["--json"], ["--policy"]),
        ("envs --train", [], ["--train.seed"]),  # it takes no settings
        ("eval breakout --policy ", ["latest", "best"], ["breakout"]),
        ("export breakout --format ", ["c", "onnx"], []),
        ("sweep ", ["report", "breakout"], []),
        ("completion ", ["bash", "zsh", "fish"], []),
        ("train breakout ", [], ["breakout"]),  # one environment is enough
    ],
)
def test_what_may_follow(line, among, not_among):
    found = words(line)
    assert set(among) <= set(found)
    assert not set(not_among) & set(found)
    last = line.split(" ")[-1]
    assert all(word.startswith(last) for word in found)


def test_folders_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "a file").touch()
    assert words("train ./") == ["./mine/"]
    assert words("train ./m") == ["./mine/"]


def in_bash(tmp_path, line, *words):
    """What bash offers for the last of `words`; `puffer` is a script that runs this Python."""
    command = tmp_path / "puffer"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m puffer_cli.main "$@"\n')
    command.chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in ("puffer", *words))
    script = f"""
    eval "$(puffer completion bash)"
    complete -p puffer
    COMP_WORDS=({quoted}); COMP_CWORD={len(words)}
    _puffer 2>/dev/null
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    registered, *found = result.stdout.splitlines()
    assert registered == "complete -o default -F _puffer puffer", result.stderr
    return found


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_command_and_a_setting(tmp_path):
    assert in_bash(tmp_path, "", "tra") == ["train"]
    assert in_bash(tmp_path, "", "train", "breakout", "--train.gam") == ["--train.gamma"]


@pytest.mark.parametrize("shell", [name for name in SHELLS if shutil.which(name)])
def test_the_scripts_parse(shell):
    subprocess.run([shell, "-n"], input=SHELLS[shell], text=True, check=True)


def test_an_unknown_shell(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["completion", "tcsh"])
    assert exit_.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
