"""Two processes on this machine that train natively together, on CPUs and on emulated GPUs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from native_trainers import ON_CPU, Mirrored, NativePuffeRL, make_vecenv, policy_for

from puffer_cuda.config import TrainConfig
from puffer_cuda.native import library

EPOCHS = 3
HERE = Path(__file__)
SUPPORT = HERE.parents[2] / "support"


def trainer(num_envs, seed=5, policy_seed=3):
    vecenv = make_vecenv("squared", num_envs=num_envs, size=3)
    # The whole batch at once, so that the order does not matter, and twice, so that a graph repeats
    # what it recorded; a large eps, so that rounding errors of gradients stay those of weights.
    settings = {"horizon": 8, "threads": 1, "seed": seed, "prio_alpha": 0, "replay_ratio": 2}
    settings |= {"optimizer": "adamw", "eps": 0.1, "max_grad_norm": 0.05}
    settings |= {"device": "cpu" if ON_CPU else "cuda:0", "total_timesteps": 64 * 8 * EPOCHS}
    kind = NativePuffeRL if ON_CPU else Mirrored
    return kind(TrainConfig(**settings), vecenv, policy_for(vecenv, seed=policy_seed))


def rollout_of(trained):
    tensors = trained.handle.tensors
    return {name: tensor for name, tensor in tensors.items() if name.startswith("rollout/")}


def one_of_two(folder):
    """What each process runs: train, and keep rollouts, weights and logs."""
    from puffer_cuda.distributed import connect, disconnect

    world = connect()
    trained = trainer(32, policy_seed=world.rank)  # the first rank's weights must win
    record = {"epochs": trained.total_epochs, "logs": [], "error": ""}
    for epoch in range(EPOCHS):
        trained.evaluate()
        # Masked samples, more of them in one process: means must be those of all samples.
        trained.rollout.masks[:: 2 + world.rank, 3] = False
        torch.save({k: v.clone() for k, v in rollout_of(trained).items()},
                   folder / f"rollout.{world.rank}.{epoch}")  # fmt: skip
        record["logs"].append(trained.train())
    torch.save(trained.policy.state_dict(), folder / f"weights.{world.rank}")
    trained.evaluate()
    if world.rank:
        trained.handle.tensors["weights"][0] += 1
    try:
        trained.train()
    except RuntimeError as error:
        record["error"] = str(error)
    (folder / f"record.{world.rank}").write_text(json.dumps(record))
    disconnect()


@pytest.fixture(scope="module", params=["cpu", "emulated"])
def device(request):
    return request.param


@pytest.fixture(scope="module")
def two(tmp_path_factory, device):
    folder = tmp_path_factory.mktemp(device)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    result = subprocess.run(
        [*command, str(HERE), str(folder)],
        env={**os.environ, "PUFFER_TEST_DEVICE": device, "PYTHONPATH": str(SUPPORT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    return folder, [json.loads((folder / f"record.{rank}").read_text()) for rank in range(2)]


def test_both_count_all_steps_and_have_equal_weights_and_their_own_environments(two):
    folder, records = two
    weights = [torch.load(folder / f"weights.{rank}", weights_only=True) for rank in range(2)]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name
    first = [torch.load(folder / f"rollout.{rank}.0", weights_only=True) for rank in range(2)]
    for name in ("rollout/observations", "rollout/actions"):
        assert not torch.equal(first[0][name], first[1][name])
    acted = [int(torch.load(folder / f"rollout.{r}.0", weights_only=True)["rollout/masks"].sum())
             for r in range(2)]  # fmt: skip
    assert acted[0] != acted[1]
    for record in records:
        assert record["epochs"] == EPOCHS  # of the global batch
        assert [log["agent_steps"] for log in record["logs"]] == [512, 1024, 1536]
    shared = [
        {k: v for k, v in record["logs"][-1].items() if k.startswith(("environment/", "losses/"))}
        for record in records
    ]
    for one in shared:
        one.pop("losses/explained_variance")  # of each process's own samples
        assert one["environment/n"] > 0
    assert shared[0] == shared[1]


def test_the_update_is_that_of_one_process_with_all_the_data(two):
    folder, records = two
    whole = trainer(64, policy_seed=0)
    for epoch in range(EPOCHS):
        parts = [torch.load(folder / f"rollout.{r}.{epoch}", weights_only=True) for r in range(2)]
        for name, tensor in rollout_of(whole).items():
            tensor.copy_(torch.cat([part[name] for part in parts]))
        logs = whole.train()
        for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "grad_norm"):
            expected = logs[f"losses/{name}"]
            got = records[0]["logs"][epoch][f"losses/{name}"]
            assert got == pytest.approx(expected, rel=1e-3, abs=1e-6), name
    got = torch.load(folder / "weights.0", weights_only=True)
    for name, tensor in whole.policy.state_dict().items():
        np.testing.assert_allclose(got[name], tensor, rtol=0, atol=1e-6, err_msg=name)


def test_weights_that_differ_are_noticed(two):
    for record in two[1]:
        assert "the weights of 2 processes differ: rank 0 " in record["error"]


def test_a_sum_that_fails_ends_the_update(monkeypatch):
    class Broken:
        rank, size = 0, 2

        def share(self, value):
            return value

        def sum_int(self, value):
            return 2 * value

        def sum(self, tensor):
            raise ConnectionError("the other one is gone")

    monkeypatch.setattr("puffer_cuda.native.trainer.World", Broken)
    trained = trainer(8)
    trained.evaluate()
    with pytest.raises(RuntimeError, match="the sum over all processes failed") as caught:
        trained.train()
    assert "the other one is gone" in str(caught.value.__cause__)


def test_a_cpus_library_makes_no_id():
    native = library.load()
    assert not native.puffer_native_unique_id(library.declarations().new("char[]", 128))
    message = library.declarations().string(native.puffer_native_error()).decode()
    assert message == "processes without GPUs need no NCCL"


if __name__ == "__main__":
    one_of_two(Path(sys.argv[1]))
