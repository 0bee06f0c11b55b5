"""Command lines that cannot be: one message that says what to do, exit 2, nothing written."""

import json

import pytest

from puffer_cli.commands import NAMES
from puffer_cli.main import main

BAD = [
    # commands and options
    ("trian squared", "invalid choice: 'trian'"),
    ("train", "usage: puffer train ENV"),
    ("train squared --lr 1", "unknown option '--lr'"),
    ("train squared --learning-rate=1", "did you mean '--train.learning-rate'?"),
    ("train squared --run-dri x", "did you mean '--run-dir'?"),
    ("train squared extra", "unexpected argument 'extra'"),
    ("eval squared --seed one", "invalid whole value: 'one'"),
    ("eval squared --episodes 1.5", "invalid whole value: '1.5'"),
    ("eval squared --episodes 0", "--episodes must be at least 1, got 0"),
    ("envs --train.seed 1", "takes no --train.seed"),
    ("bench squared --seconds fast", "invalid float value: 'fast'"),
    # keys
    ("train squared --train.lerning-rate 1", "did you mean 'train.learning_rate'?"),
    ("train squared --trian.seed 1", "unknown section 'trian'"),
    ("train squared --train. 1", "unknown key train."),
    ("train squared --.seed 1", "unknown section ''"),
    ("train squared --train.seed.x 1", "unknown key train.seed.x"),
    ("train squared --train.bptt-horizon 8", "is called train.horizon here"),
    ("train squared --train.compile-mode x", "has no meaning here: train.compile"),
    ("train squared --sweep.max-runs 3", "is a setting of `puffer sweep`"),
    ("train squared --env.sise 3", "'size'"),
    ("sweep squared --sweep.max-run 3", "did you mean 'max_runs'?"),
    ("sweep squared --sweep.only train.gama", "did you mean 'train.gamma'?"),
    # values: numbers
    ("train squared --train.total-timesteps 1.5", "train.total_timesteps: expected"),
    ("train squared --train.total-timesteps 1e-3", "got '1e-3' (command line)"),
    ("train squared --train.total-timesteps 1e400", "got '1e400' (command line)"),
    ("train squared --train.total-timesteps=-1", "greater than or equal to 1, got '-1'"),
    ("train squared --train.total-timesteps=", "got ''"),
    ("train squared --train.total-timesteps 10,000", "got '10,000'"),
    ("train squared --train.learning-rate nan", "train.learning_rate: expected"),
    ("train squared --train.learning-rate inf", "train.learning_rate: expected"),
    ("train squared --train.gamma 1.1", "less than or equal to 1, got '1.1'"),
    ("train squared --train.minibatch-size 100", "Nearest: 64 or 128"),
    ("train squared --env.size 1", "from 2 to 256, got 1"),
    ("train squared --vec.num-envs 3 --vec.num-workers 2", "nearest: 2 or 4"),
    # values: switches and choices
    ("train squared --train.anneal-lr=maybe", "a valid boolean, got 'maybe'"),
    ("train squared --no-train.anneal-lr=1", "a --no- switch takes no value"),
    ("train squared --no-train.seed", "train.seed: needs a value, got False"),
    ("train squared --train.seed", "train.seed: needs a value, got True"),
    ("train squared --train.optimizer sgd", "'muon' or 'adamw', got 'sgd'"),
    ("train squared --run-dir=", "run_dir: expected"),
    ("train squared --log.external wandb", "log.acknowledge"),
    # environments
    ("train squred", "did you mean 'squared'?"),
    ("train puffer_brekout", "did you mean 'puffer_breakout'?"),
    ("train gymnasium/CartPol-v1", "did you mean 'CartPole-v1'?"),
    ("train pettingzoo/mpe", "as in pettingzoo/mpe.simple_spread_v3"),
    ("train os.path", "unknown environment 'os.path'"),
    ("train ./nothere", "there is no folder"),
    ("train ./", "holds no environment"),
    ("build squred", "'squared'"),
    ("match squared squared", "train first"),
    # files
    ("train squared --config nothere.ini", "nothere.ini"),
    ("train squared --config .", "it is no file"),
    ("train squared --config /dev/zero", "it is no file"),
    ("run nothere.json", "cannot read the plan nothere.json: No such file"),
    ("run .", "cannot read the plan ."),
    ("run /dev/zero", "it is no file"),
    ("plan validate nothere.json", "cannot read the plan nothere.json"),
    ("plan train", "puffer plan train needs an ENV"),
    ("plan eval squared", "--policy FOLDER must name"),
    ("plan train squared --max-seconds 0", "--max-seconds must be at least 1"),
    ("inspect nothere", "cannot read nothere"),
    ("import nothere.pt out.safetensors", "nothere.pt"),
    ("constellation nothere --export site", "nothere"),
    ("sweep report nothere", "there is no sweep 'nothere'"),
    ("sweep squared --png x.png", "belong to `puffer sweep report SWEEP`"),
    ("train squared --resume latest", "train first"),
    ("train squared --resume best --config a.ini", "without --config"),
    ("eval squared --policy latest", "train first"),
    ("eval squared --save-video film.txt", "film.txt"),
    ("export squared", "train first"),
    ("new-env Walk", "lower-case letters"),
    ("new-env squared", "is a shipped environment"),
]


def outcome(capsys, line):
    """Exit code, stdout and stderr; an exception that passes `main` fails the test."""
    try:
        code = main(line.split(" "))
    except SystemExit as end:  # argparse
        code = end.code
    return code, *capsys.readouterr()


@pytest.mark.parametrize(("line", "message"), BAD)
def test_what_cannot_be_is_said_once(line, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = outcome(capsys, line)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert err.count("error:") == 1
    assert out.replace("loading torch\n", "") == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", NAMES)
def test_every_command_refuses_unknown_options(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = outcome(capsys, f"{command} --no-such-option")
    assert code == 2
    assert out == ""
    assert "--no-such-option" in err or "usage: puffer" in err


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("--train.total-timesteps 1e7", "train.total_timesteps", 10_000_000),
        ("--train.total-timesteps 10_000_000", "train.total_timesteps", 10_000_000),
        ("--train.total_timesteps=2.5E+3", "train.total_timesteps", 2500),
        ("--train.anneal-lr false", "train.anneal_lr", False),
        ("--train.anneal-lr=0", "train.anneal_lr", False),
        ("--no-train.anneal-lr", "train.anneal_lr", False),
        ("--train.anneal-lr no --train.anneal-lr", "train.anneal_lr", True),
        ("--env.size 5", "env.size", 5),
        ("--policy.network lstm", "policy.network", "lstm"),
        ("--train.seed 9007199254740993", "train.seed", 2**53 + 1),
    ],
)
def test_what_can_be_arrives(line, key, value, capsys):
    code, out, _ = outcome(capsys, f"config squared --json {line}")
    assert code == 0
    assert json.loads(out)["config"][key] | {"meaning": ""} == {
        "value": value,
        "origin": "command line",
        "meaning": "",
    }
