import json
import shutil

import pytest
import torch

from puffer_core import APIUsageError
from puffer_cuda import checkpoint
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import make


def new_policy(vecenv, seed=0, **settings):
    torch.manual_seed(seed)
    config = PolicyConfig(hidden_size=16, **settings)
    return make_policy(config, vecenv)


@pytest.fixture
def vecenv():
    return make(env_creator("squared"), env_kwargs={"num_envs": 8})


@pytest.fixture
def saved(vecenv, tmp_path):
    trained = PuffeRL(TrainConfig(horizon=4, device="cpu"), vecenv, new_policy(vecenv))
    trained.evaluate()
    trained.train()
    return trained, trained.save_checkpoint(tmp_path / "checkpoints")


def test_weights_come_back(saved, vecenv):
    trained, folder = saved
    assert folder.name == "0000000000000032"
    other = new_policy(vecenv, seed=1)
    checkpoint.load_weights(folder, other)
    for name, tensor in trained.policy.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    numbers = json.loads((folder / "trainer.json").read_text())
    assert (numbers["epoch"], numbers["global_step"]) == (1, 32)


def test_any_changed_byte_is_noticed(saved, vecenv):
    _, folder = saved
    for path in sorted(folder.glob("*.safetensors")):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(APIUsageError, match=rf"{path.name} was changed or damaged"):
            checkpoint.load_weights(folder, new_policy(vecenv))
        path.write_bytes(content)
    (folder / "trainer.json").unlink()
    with pytest.raises(APIUsageError, match=r"trainer\.json is missing"):
        checkpoint.load_weights(folder, new_policy(vecenv))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}'])
def test_a_torn_manifest_is_no_checkpoint(saved, vecenv, text):
    _, folder = saved
    (folder / "manifest.json").write_text(text)
    with pytest.raises(APIUsageError, match="is no checkpoint"):
        checkpoint.load_weights(folder, new_policy(vecenv))


def test_another_format_and_another_policy_are_refused(saved, vecenv):
    _, folder = saved
    with pytest.raises(APIUsageError, match="weights of another policy"):
        checkpoint.load_weights(folder, new_policy(vecenv, network="mlp"))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(APIUsageError, match="format 99; this version reads 2"):
        checkpoint.load_weights(folder, new_policy(vecenv))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 5}, r"encoder.linear.weight has shape \(16, 121\), expected \(16, 25\)"),
        ({"hidden_size": 8}, r"encoder.linear.weight has shape \(16, 121\), expected \(8, 121\)"),
        ({"num_layers": 2}, "network.layers.1.linear.weight is missing"),
        ({"num_layers": 0}, "the policy has no network.layers.0.linear.weight"),
    ],
)
def test_the_first_mismatch_is_named(saved, settings, message):
    _, folder = saved
    size = settings.pop("size", 11)
    other = make(env_creator("squared"), env_kwargs={"num_envs": 8, "size": size})
    config = PolicyConfig(**{"hidden_size": 16, **settings})
    with pytest.raises(APIUsageError, match=f"{folder.name} holds .* another policy: {message}"):
        checkpoint.load_weights(folder, make_policy(config, other))


def test_old_checkpoints_make_room_and_the_best_one_stays(saved):
    _, folder = saved
    parent = folder.parent
    for step in (40, 50, 60, 70):
        shutil.copytree(folder, parent / f"{step:016d}")
    (parent / f".{80:016d}.1").mkdir()  # being written
    (parent / f"{90:016d}").mkdir()  # never completed
    checkpoint.write_best(parent, 40, "score", 3.5)
    checkpoint.prune(parent, 0)
    assert len(list(parent.glob("0*"))) == 6
    checkpoint.prune(parent, 2)
    names = sorted(path.name for path in parent.iterdir())
    expected = [f".{80:016d}.1", *(f"{step:016d}" for step in (40, 60, 70, 90)), "best.json"]
    assert names == expected
    assert checkpoint.read_best(parent) == {"step": 40, "name": "score", "value": 3.5}
    assert checkpoint.read_best(parent.parent) is None


def test_code_that_acts_differently_is_noticed(saved, vecenv):
    _, folder = saved
    changed = new_policy(vecenv)
    changed.encoder.register_forward_hook(lambda module, inputs, output: output + 1)
    with pytest.raises(APIUsageError, match="on the stored observations"):
        checkpoint.load_weights(folder, changed)


def test_saving_fails_as_a_whole(saved, tmp_path, monkeypatch):
    trained, folder = saved

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        trained.save_checkpoint(tmp_path / "checkpoints")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    checkpoint.verify(folder)


def test_latest_goes_by_names(saved, tmp_path):
    _, folder = saved
    runs = tmp_path / "runs"
    for run, step in (("20260101-a", 50), ("20260102-b", 7), ("20260102-b", 30)):
        shutil.copytree(folder, runs / run / "checkpoints" / f"{step:016d}")
    (runs / "20260103-c" / "checkpoints" / f"{99:016d}").mkdir(parents=True)  # never completed
    shutil.copytree(folder, runs / "20260102-b" / "checkpoints" / f".{40:016d}.123")
    assert checkpoint.latest(runs) == runs / "20260102-b" / "checkpoints" / f"{30:016d}"
    with pytest.raises(APIUsageError, match="train first"):
        checkpoint.latest(tmp_path / "nothing")
