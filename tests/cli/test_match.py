"""`puffer match` through the command line: two policies of self-play meet."""

import json
from pathlib import Path

import pytest

from puffer_cli.main import main

SMALL = ["--eval.episodes", "0", "--train.threads", "1", "--policy.hidden-size", "16"]
SELF = ["--env.opponent", "self", "--selfplay.enabled", "true", "--env.num-envs", "32"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with two short runs of connect4 against itself, one of squared, and their paths."""
    folder = tmp_path_factory.mktemp("runs")
    common = ["--run-dir", str(folder), "--train.total-timesteps", "4096", *SMALL]
    for seed in ("1", "2"):
        assert main(["train", "connect4", *SELF, *common, "--train.seed", seed]) == 0
    assert main(["train", "squared", *common]) == 0
    return folder, sorted(map(str, (folder / "connect4").iterdir()))


def match(capsys, *arguments):
    capsys.readouterr()
    assert main(["match", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_game_is_won_lost_or_drawn_and_counted_once(runs, capsys):
    _, (first, second) = runs
    document = match(capsys, first, second, "--games", "100")
    assert document["env"] == "connect4"
    assert Path(document["first"]).parts[-3] == Path(first).name
    assert document["games"] >= 100
    assert document["wins"] + document["draws"] + document["losses"] == document["games"]
    points = document["wins"] + document["draws"] / 2
    assert document["win_rate"] == pytest.approx(points / document["games"])
    assert match(capsys, first, second, "--games", "100") == document  # the same seed
    # From the other side: what one wins the other loses, within the luck of 100 games.
    other = match(capsys, second, first, "--games", "100", "--seed", "3")
    assert other["win_rate"] + document["win_rate"] == pytest.approx(1, abs=0.25)


def test_a_policy_is_as_good_as_itself(runs, capsys):
    folder, _ = runs
    document = match(capsys, "connect4", "connect4", "--games", "400", "--run-dir", str(folder))
    assert document["first"] == document["second"]
    assert abs(document["win_rate"] - 0.5) < 0.1  # four standard errors
    assert abs(document["rating_difference"]) < 75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{a}", "nowhere"], "unknown environment 'nowhere'"),
        (["{folder}", "{a}"], "is no folder of a run, which has config.json and checkpoints"),
        (["{a}", "squared"], "are of different environments: connect4"),
        (["squared", "squared"], "two teams need environments with an even number of agents"),
        (["{a}", "{b}", "--games", "0"], "--games must be at least 1, got 0"),
        (["{a}"], "the following arguments are required: B"),
    ],
)
def test_what_cannot_play(runs, capsys, arguments, message):
    folder, (a, b) = runs
    given = [text.format(a=a, b=b, folder=folder) for text in arguments]
    capsys.readouterr()
    try:
        code = main(["match", *given, "--run-dir", str(folder)])
    except SystemExit as end:  # of the parser
        code = end.code
    assert code == 2
    assert message in " ".join(capsys.readouterr().err.split())
