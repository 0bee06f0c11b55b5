"""`puffer export` through the command line."""

import json
import subprocess

import pytest

from puffer_cli.main import main
from puffer_ocean.build import compiler


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of runs with a short one of memory, whose policy is recurrent."""
    folder = tmp_path_factory.mktemp("runs")
    arguments = ["train", "memory", "--run-dir", str(folder), "--eval.episodes", "0"]
    arguments += ["--policy.network", "mingru", "--policy.hidden-size", "16"]
    arguments += ["--env.num-envs", "64", "--train.total-timesteps", "4096", "--train.threads", "1"]
    assert main(arguments) == 0
    return folder


def export(capsys, runs, *arguments):
    capsys.readouterr()
    assert main(["export", "memory", "--json", "--run-dir", str(runs), *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_c_file_plays_by_itself(runs, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = export(capsys, runs)
    assert document["file"] == "memory.c"
    assert document["observations"] == 256
    assert document["largest_difference"] < 1e-4
    subprocess.run([*compiler(), "-DPOLICY_MAIN", "memory.c", "-lm"], check=True)
    told = subprocess.run(["./a.out"], capture_output=True, text=True, check=True).stdout
    assert told.startswith("largest difference from the policy:")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.out", "memory.c"]


def test_onnx_carries_its_state(runs, capsys, tmp_path):
    pytest.importorskip("onnxruntime")
    from puffer_cuda.export.onnx import OnnxPolicy

    path = tmp_path / "policy.onnx"
    document = export(capsys, runs, "--format", "onnx", "--out", str(path))
    assert document["largest_difference"] < 1e-4
    (state,) = OnnxPolicy(path).states(3)
    assert state.shape == (3, 1, 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "tflite"], "--format must be onnx or c, got 'tflite'"),
        (["--out", "."], ". exists already; name another file with --out"),
        (["--policy", "nowhere"], "there is no folder 'nowhere'"),
        (["--train.gamma", "1"], "puffer export takes no train.gamma"),
    ],
)
def test_misuse(runs, capsys, arguments, message):
    assert main(["export", "memory", "--run-dir", str(runs), *arguments]) == 2
    assert message in capsys.readouterr().err
