"""What `puffer train` keeps and goes through: evaluations, checkpoints, disks that fail."""

import errno
import json
import os

import pytest
import torch

from puffer_cli.main import main
from puffer_cli.run import Run
from pufferlib import pufferl

SMALL = [
    *("--env.num-envs", "16", "--env.size", "3", "--train.horizon", "16", "--train.threads", "1"),
    *("--policy.hidden-size", "8", "--train.total-timesteps", "2048", "--json"),
]


def train(tmp_path, capsys, *arguments):
    assert main(["train", "squared", *SMALL, "--run-dir", str(tmp_path), *arguments]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    lines = (tmp_path / "squared" / document["run"].split("/")[-1] / "log.jsonl").read_text()
    return document, [json.loads(line) for line in lines.splitlines()], captured.err


def test_evaluations_during_training_keep_the_best_policy(tmp_path, capsys, monkeypatch):
    import puffer_cli.evaluate

    scores = iter([0.1, 0.9, 0.5, 0.3])  # after 2, 4 and 6 of 8 epochs, and at the end

    def fixed(episodes):
        return {"episodes": 8, "score": next(scores), "score_se": 0.01}

    monkeypatch.setattr(puffer_cli.evaluate, "summarize", fixed)
    arguments = ("--eval.interval", "2", "--eval.episodes", "8", "--train.keep-checkpoints", "1")
    document, log, errors = train(tmp_path, capsys, *arguments)
    assert document["stats"]["score"] == 0.3
    assert [line.get("evaluation/score") for line in log] == [
        None,
        0.1,
        None,
        0.9,
        None,
        0.5,
        None,
        None,
    ]
    (checkpoints,) = tmp_path.glob("squared/*/checkpoints")
    names = sorted(path.name for path in checkpoints.iterdir())
    assert names == [f"{1024:016d}", f"{2048:016d}", "best.json"]  # the best one, and the last one
    best = json.loads((checkpoints / "best.json").read_text())
    assert best == {"step": 1024, "name": "score", "value": 0.9}
    assert "best so far: score 0.9 at step 1,024" in errors
    monkeypatch.undo()
    line = ["eval", "squared", "--run-dir", str(tmp_path), "--episodes", "4", "--json"]
    for which in ("best", str(checkpoints.parent / "best")):
        assert main([*line, "--policy", which]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["policy"].endswith(f"{1024:016d}")
    greedy = [*line, "--policy", "best", "--eval.greedy", "true", "--seed", "3"]
    assert main(greedy) == 0
    first = json.loads(capsys.readouterr().out)["stats"]
    assert main(greedy) == 0
    assert json.loads(capsys.readouterr().out)["stats"] == first


def test_the_last_evaluation_may_be_the_best(tmp_path, capsys, monkeypatch):
    import puffer_cli.evaluate

    scores = iter([0.1, 0.2, 0.3, 0.9])

    def fixed(episodes):
        return {"episodes": 8, "score": next(scores), "score_se": 0.01}

    monkeypatch.setattr(puffer_cli.evaluate, "summarize", fixed)
    arguments = ("--eval.interval", "2", "--eval.episodes", "8")
    document, _, errors = train(tmp_path, capsys, *arguments)
    assert document["backend"] == "native"
    assert "best so far: score 0.9 at step 2,048" in errors
    (best,) = tmp_path.glob("squared/*/checkpoints/best.json")
    assert json.loads(best.read_text()) == {"step": 2048, "name": "score", "value": 0.9}


def test_best_without_any_evaluation(tmp_path, capsys):
    train(tmp_path, capsys, "--eval.episodes", "0")
    assert main(["eval", "squared", "--policy", "best", "--run-dir", str(tmp_path)]) == 2
    assert "no run with evaluations" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_does_not_end_training(tmp_path, capsys, monkeypatch):
    """The third line meets a full disk half-way; the lines around it stay whole."""
    log, write, calls = Run.log, os.write, []

    def full(handle, data):
        if len(calls) == 3:
            if len(data) > 10 and not hasattr(full, "torn"):
                full.torn = True
                return write(handle, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    def counted(self, values):
        calls.append(values)
        monkeypatch.setattr(os, "write", full)
        try:
            log(self, values)
        finally:
            monkeypatch.setattr(os, "write", write)

    monkeypatch.setattr(Run, "log", counted)
    document, lines, errors = train(tmp_path, capsys, "--eval.episodes", "0")
    assert document["steps"] == 2048
    assert "WARNING: not written: [Errno 28] No space left" in errors
    steps = [line["agent_steps"] for line in lines]
    assert steps == [256 * k for k in (1, 2, 4, 5, 6, 7, 8)]


def test_rewards_that_are_not_finite_stop_and_keep_the_last_good_checkpoint(tmp_path, capsys):
    from puffer_cuda.errors import NonFiniteError
    from puffer_ocean import OceanEnv
    from puffer_vector import make

    class Broken(OceanEnv):
        steps = 0

        def step(self, actions):
            result = super().step(actions)
            self.steps += 1
            if self.steps == 16 * 5 + 3:
                self.rewards[7] = float("nan")
            return result

    def creator(buf=None, seed=0):
        return Broken("squared", num_envs=16, size=3, buf=buf, seed=seed)

    args = pufferl.load_config("squared")
    args["run_dir"] = str(tmp_path)
    args["env"].update(num_envs=16, size=3)
    args["train"].update(horizon=16, total_timesteps=4096, checkpoint_interval=2, threads=1)
    with pytest.raises(
        NonFiniteError, match="environment 7, agent 7, after 1328 steps: reward is nan"
    ):
        pufferl.train("squared", args, vecenv=make(creator))
    (checkpoints,) = tmp_path.glob("squared/*/checkpoints")
    names = sorted(path.name for path in checkpoints.iterdir())
    assert names[:2] == [f"{512:016d}", f"{1024:016d}"]
    from safetensors.torch import load_file

    for name in names:
        for tensor in load_file(checkpoints / name / "weights.safetensors").values():
            assert torch.isfinite(tensor).all()


def test_self_play_needs_teams(tmp_path, capsys):
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path), "--selfplay.enabled", "true"]
    assert main(line) == 2
    assert "even number of agents, got 1" in capsys.readouterr().err


def test_a_match_of_policies_that_do_not_meet(tmp_path, capsys):
    document, _, _ = train(tmp_path, capsys, "--eval.episodes", "0")
    run = document["run"]
    assert main(["match", run, run]) == 2
    assert "even number of agents, got 1" in capsys.readouterr().err
    other, _, _ = train(tmp_path, capsys, "--eval.episodes", "0", "--env.size", "5")
    assert main(["match", run, other["run"]]) == 2
    assert "different environments: squared with {'size': 3}" in capsys.readouterr().err
    assert main(["match", run, "squared", "--run-dir", str(tmp_path / "none")]) == 2
    assert "there is no checkpoint below" in capsys.readouterr().err


def test_the_module_functions(tmp_path, monkeypatch):
    class Kept:
        steps: list[int] = []  # noqa: RUF012

        def log(self, logs, step):
            self.steps.append(step)

    args = pufferl.load_config("squared")
    args["run_dir"] = str(tmp_path)
    args["env"].update(num_envs=16, size=3)
    args["train"].update(horizon=16, total_timesteps=512, threads=1)
    args["eval"]["episodes"] = 8
    pufferl.train("squared", args, logger=Kept())
    assert Kept.steps == [256, 512]
    latest = pufferl.eval("squared", args)
    assert latest["episodes"] == 8
    vecenv = pufferl.load_env("squared", args)
    policy = pufferl.load_policy(args, vecenv, "squared")
    assert pufferl.eval("squared", args, vecenv, policy)["episodes"] == 16


def test_import(tmp_path, capsys):
    from safetensors.torch import load_file

    torch.save({"module.a": torch.arange(3.0)}, tmp_path / "model.pt")
    line = ["import", str(tmp_path / "model.pt"), str(tmp_path / "out.safetensors"), "--json"]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["tensors"] == {"a": [3]}
    assert load_file(tmp_path / "out.safetensors")["a"].tolist() == [0, 1, 2]
    assert main(line) == 2
    assert "exists already" in capsys.readouterr().err
