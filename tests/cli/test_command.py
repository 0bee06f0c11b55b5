"""The command itself, as a process: exit codes, documents, run folders."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from puffer_cli.main import main

COMMAND = [sys.executable, "-m", "puffer_cli.main"]
SMALL = [
    "--env.num-envs",
    "32",
    "--env.size",
    "3",
    "--train.horizon",
    "16",
    "--train.minibatch-size",
    "0",
]
SMALL += ["--train.threads", "1", "--policy.hidden-size", "16", "--vec.num-threads", "1"]


def puffer(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of runs, and the document of a short training run in it."""
    folder = tmp_path_factory.mktemp("runs")
    result = puffer(
        *("train", "puffer_squared", "--json", "--run-dir", str(folder), *SMALL),
        *("--train.total-timesteps", "2000", "--eval.episodes", "20"),
        *("--train.checkpoint-interval", "2", "--train.seed=3"),
    )
    assert result.returncode == 0, result.stderr
    return folder, result


def test_training_prints_one_document(trained):
    _, result = trained
    document = json.loads(result.stdout)
    facts = {"env", "run", "backend", "steps", "seconds", "steps_per_second", "stats"}
    assert set(document) == facts
    assert document["backend"] == "native"
    assert document["env"] == "squared"
    assert document["steps"] == 2048  # 2000, rounded up to batches of 32 x 16
    assert document["steps_per_second"] == pytest.approx(2048 / document["seconds"])
    names = ("score", "perf", "episode_return", "episode_length")
    assert set(document["stats"]) == {"episodes", *names, *(f"{name}_se" for name in names)}
    assert document["stats"]["episodes"] == 20
    assert "batch: 512" in result.stderr  # the plan


def test_a_run_folder_is_complete(trained):
    folder, result = trained
    (run,) = (folder / "squared").iterdir()
    assert str(run) == json.loads(result.stdout)["run"]
    logs = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [entry["agent_steps"] for entry in logs] == [512, 1024, 1536, 2048]
    assert "losses/entropy" in logs[-1]
    checkpoints = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert checkpoints == [f"{step:016d}" for step in (1024, 2048)]
    config = json.loads((run / "config.json").read_text())["config"]
    assert config["env.size"] == {"value": 3, "origin": "command line"}
    assert config["train.seed"]["value"] == 3


def evaluate(capsys, *arguments):
    assert main(["eval", "squared", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_evaluation_repeats_the_result_of_training(trained, capsys):
    folder, result = trained
    document = evaluate(capsys, "--policy", "latest", "--run-dir", str(folder), "--episodes", "20")
    assert document["stats"] == json.loads(result.stdout)["stats"]
    assert document["policy"].endswith("checkpoints/0000000000002048")


def test_a_policy_by_its_folder(trained, capsys):
    run = json.loads(trained[1].stdout)["run"]
    by_run = evaluate(capsys, "--policy", run, "--episodes", "5")
    path = f"{run}/checkpoints/0000000000002048"
    by_checkpoint = evaluate(capsys, "--load-model-path", path, "--episodes", "5")
    assert by_run["stats"] == by_checkpoint["stats"]
    first = f"{run}/checkpoints/0000000000001024"
    assert evaluate(capsys, "--policy", first, "--episodes", "5")["policy"] == first


def test_random_is_the_default_and_seeded(capsys):
    documents = [evaluate(capsys, "--episodes", "1e1", *seed) for seed in ([], [], ["--seed", "1"])]
    assert documents[0]["policy"] == "random"
    assert documents[0]["run"] is None
    assert documents[0]["stats"] == documents[1]["stats"] != documents[2]["stats"]


def test_the_environment_of_a_run_can_be_changed(capsys):
    assert evaluate(capsys, "--episodes", "4", "--env.size", "2")["stats"]["episode_length"] < 4


def test_long_episodes_are_left_out_and_said(capsys):
    assert main(["eval", "squared", "--episodes", "4", "--max-steps", "1", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["stats"] == {"episodes": 0}
    assert "4 of 4 episodes did not end within the limits (eval.max_steps = 1," in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "breakout", "--policy", "RUN"], "is a policy for squared"),
        (["eval", "squared", "--policy", "RUN", "--train.gamma", "1"], "has no effect"),
        (["eval", "squared", "--policy", "RUN", "--env.sise", "1"], "'size'"),
        (["eval", "squared", "--policy", "RUN", "--env.size", "4"], "another policy"),
        (["eval", "squared", "--policy", "/nowhere"], "/nowhere"),
        (["eval", "breakout", "--policy", "latest", "--run-dir", "RUNS"], "train first"),
        (["eval", "squared", "--episodes", "0"], "at least 1"),
    ],
)
def test_evaluations_that_cannot_be(trained, capsys, arguments, message):
    folder, result = trained
    places = {"RUN": json.loads(result.stdout)["run"], "RUNS": str(folder)}
    assert main([places.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "episodes" not in captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "brekout"], "did you mean 'breakout'?"),
        (["train", "breakout", "--train.lerning-rate", "1"], "did you mean 'train.learning_rate'?"),
        (["train", "breakout", "--train.minibatch-size", "100"], "Nearest: 64 or 128"),
    ],
)
def test_mistakes_end_with_2_and_without_torch(arguments, message):
    watch = (
        "import sys; from puffer_cli.main import main; code = main(); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", watch, *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "squared", "--learning-rate=1"], "did you mean '--train.learning-rate'?"),
        (["train", "squared", "--run-dri", "x"], "did you mean '--run-dir'?"),
        (["train", "squared", "extra"], "unexpected argument 'extra'"),
        (["train", "squared", "--vec.num-envs=3", "--vec.num-workers=2"], "nearest: 2 or 4"),
        (["train", "squared", "--config", "/no.ini"], "/no.ini"),
        (["envs", "--train.seed", "1"], "takes no --train.seed"),
    ],
)
def test_more_mistakes(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["trian"], ["train"], ["eval", "squared", "--seed", "x"]])
def test_mistakes_of_grammar(capsys, arguments):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert "usage: puffer" in capsys.readouterr().err


def test_failures_end_with_1(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    line = ["train", "squared", *SMALL, "--run-dir", str(tmp_path / "file")]
    assert main(line) == 1
    assert "Not a directory" in capsys.readouterr().err


def test_environments_are_listed(capsys):
    assert main(["envs", "--json"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["environments"]}
    assert found["squared"]["arguments"]["size"]["default"] == 11
    assert found["squared"]["observation"] == "uint8 (121,)"
    assert main(["envs"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in found)


def test_an_environment_that_does_not_load_hides_no_other(capsys, monkeypatch):
    import puffer_ocean

    original = puffer_ocean.load

    def load(name):
        if name == "breakout":
            raise ImportError("breakout is not built")
        return original(name)

    monkeypatch.setattr(puffer_ocean, "load", load)
    assert main(["envs"]) == 0
    shown = capsys.readouterr().out
    assert "is not built" in shown
    assert "squared" in shown


def test_help_shows_every_key(capsys):
    for command in ("train", "eval"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert "--train.learning-rate" in shown
        assert "(default: 0.015)" in shown
        assert max(map(len, shown.splitlines())) <= 80


def test_help_and_version_import_next_to_nothing():
    code = (
        "import sys; from puffer_cli.main import main\n"
        "try: main()\nexcept SystemExit as end: assert end.code == 0\n"
        "heavy = {'torch', 'numpy', 'gymnasium', 'pydantic', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    for flag in ("--help", "--version"):
        result = subprocess.run(
            [sys.executable, "-c", code, flag], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert "puffer" in result.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_saves_its_policy(tmp_path, number):
    line = ["train", "squared", "--run-dir", str(tmp_path), *SMALL]
    with subprocess.Popen(
        [*COMMAND, *line, "--train.total-timesteps", "1e12"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not any(path.stat().st_size for path in tmp_path.glob("squared/*/log.jsonl")):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.1)
            os.kill(process.pid, number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    (log,) = tmp_path.glob("squared/*/log.jsonl")
    steps = json.loads(log.read_text().splitlines()[-1])["agent_steps"]
    assert (log.parent / "checkpoints" / f"{steps:016d}" / "manifest.json").exists()
    assert number.name in errors


def trainer_class(backend):
    from puffer_cuda.native.trainer import NativePuffeRL
    from puffer_cuda.pufferl import PuffeRL

    return {"native": NativePuffeRL, "torch": PuffeRL}[backend]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_full_disk_does_not_end_training(tmp_path, monkeypatch, capsys, backend):
    trainer = trainer_class(backend)
    save = trainer.save_checkpoint
    calls = []

    def fails_first(self, folder):
        calls.append(folder)
        if len(calls) == 1:
            raise OSError("No space left on device")
        return save(self, folder)

    monkeypatch.setattr(trainer, "save_checkpoint", fails_first)
    line = ["train", "squared", "--run-dir", str(tmp_path), *SMALL, "--eval.episodes", "0"]
    line += ["--train.backend", backend]
    line += ["--train.total-timesteps", "1024", "--train.checkpoint-interval", "1"]
    assert main(line) == 0
    assert "WARNING: not written: No space left" in capsys.readouterr().out
    assert list(tmp_path.glob("squared/*/checkpoints/*1024/manifest.json"))


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_run_that_breaks_keeps_what_it_learnt(tmp_path, monkeypatch, capsys, backend):
    trainer = trainer_class(backend)
    train = trainer.train

    def breaks(self):
        if self.epoch == 1:
            raise RuntimeError("worker 3 was killed by SIGKILL")
        return train(self)

    monkeypatch.setattr(trainer, "train", breaks)
    line = ["train", "squared", "--run-dir", str(tmp_path), *SMALL, "--train.backend", backend]
    assert main(line) == 1
    assert "puffer: error: worker 3 was killed" in capsys.readouterr().err
    assert list(tmp_path.glob("squared/*/checkpoints/*1024/manifest.json"))


def test_the_backend_is_chosen_and_the_reason_said(tmp_path, monkeypatch, capsys):
    line = ["train", "squared", "--run-dir", str(tmp_path), *SMALL, "--eval.episodes", "0"]
    line += ["--train.total-timesteps", "512"]
    for arguments, expected in (
        ([], "backend: native"),
        (["--slowly"], "backend: torch. train.backend = torch"),
        (["--policy.network", "lstm"], "networks mlp and mingru, not lstm"),
        (["--vec.backend", "serial", "--vec.num-threads", "0"], "it steps C environments"),
    ):
        assert main([*line, *arguments]) == 0
        assert expected in capsys.readouterr().out
    assert main([*line, "--policy.network", "gru", "--train.backend", "native"]) == 2
    assert "not gru; use train.backend = torch" in capsys.readouterr().err
    from puffer_cuda.native import build, library

    library.load.cache_clear()
    monkeypatch.setattr(build, "LIBRARIES", tmp_path / "none")
    try:
        assert main(line) == 0
        assert "is not built" in capsys.readouterr().out
    finally:
        library.load.cache_clear()
