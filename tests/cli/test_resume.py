import json
import re
import subprocess
import sys

import pytest

SIZES = ("--env.num-envs", "32", "--train.horizon", "16", "--train.threads", "1")
QUICK = ("--eval.episodes", "0", "--json")


def puffer(*arguments, cwd):
    command = [sys.executable, "-m", "puffer_cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def steps(run):
    return [
        json.loads(line)["agent_steps"] for line in (run / "log.jsonl").read_text().splitlines()
    ]


def losses(run):
    """Every logged number that no clock decides."""
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    clocks = ("SPS", "uptime", "performance/")
    return [{k: v for k, v in line.items() if not k.startswith(clocks)} for line in lines]


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A run of 6 epochs with a checkpoint after 3, and the same whole."""
    folder = tmp_path_factory.mktemp("resume")
    arguments = ("train", "squared", *SIZES, *QUICK, "--train.checkpoint-interval", "3")
    result = puffer(*arguments, "--train.total-timesteps", "3072", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder, folder / json.loads(result.stdout)["run"]


def test_a_run_goes_on_in_its_folder_and_repeats_itself_exactly(half):
    folder, run = half
    expected = losses(run)
    middle = run / "checkpoints" / f"{1536:016d}"
    with (run / "log.jsonl").open("a") as log:
        log.write('{"torn')
    result = puffer("train", "squared", "--resume", str(middle), *QUICK, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "going on at step 1,536" in result.stderr
    document = json.loads(result.stdout)
    assert folder / document["run"] == run
    assert document["steps"] == 3072
    assert steps(run) == [512 * (k + 1) for k in range(6)]
    assert losses(run) == expected


def test_a_longer_run_says_what_changed(half):
    folder, run = half
    arguments = ("--resume", "latest", "--train.total-timesteps", "4096", *QUICK)
    result = puffer("train", "puffer_squared", *arguments, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "train.total_timesteps: 3072 -> 4096" in result.stderr
    assert steps(run)[-1] == 4096


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--resume", "latest", "--policy.hidden-size", "8"),
            "policy.hidden_size .* cannot change",
        ),
        (("--resume", "latest", "--env.size", "5"), "env.size .* cannot change"),
        (
            ("--resume", "nowhere"),
            "--resume must be latest, best, or the folder .* no folder 'nowhere'",
        ),
        (("--resume", "latest", "--config", "x.ini"), "without --config"),
    ],
)
def test_what_cannot_be_is_refused(half, arguments, message):
    result = puffer("train", "squared", *arguments, cwd=half[0])
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert re.search(message, result.stderr.replace("\n", " ")), result.stderr
