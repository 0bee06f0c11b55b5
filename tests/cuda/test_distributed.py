"""Two processes on this machine, joined by gloo."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import make

TENSORS = (
    *("observations", "actions", "log_probs", "rewards", "terminals", "truncations", "masks"),
    *("starts", "final_values", "values"),
)
EPOCHS = 3


def trainer(num_envs, network="mingru", seed=5):
    vecenv = make(env_creator("squared"), env_kwargs={"num_envs": num_envs, "size": 3}, seed=seed)
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(network=network, hidden_size=16, num_layers=1), vecenv)
    # The whole batch at once, so that shuffling does not matter; a large eps, so that a rounding
    # error of a gradient stays one of the weights.
    settings = {"horizon": 8, "device": "cpu", "threads": 1, "seed": seed, "prio_alpha": 0}
    settings |= {"optimizer": "adamw", "eps": 0.1, "max_grad_norm": 0.05}
    total = 64 * 8 * EPOCHS
    return PuffeRL(TrainConfig(**settings, total_timesteps=total), vecenv, policy)


def one_of_two(folder):
    """What each process runs: train, and keep rollouts, weights and logs."""
    from puffer_cuda.distributed import connect, disconnect

    world = connect()
    torch.manual_seed(world.rank)  # the first rank's weights must win
    trained = trainer(32)
    with torch.no_grad():
        if world.rank:
            trained.rollout.masks.zero_()
    record = {"seed": trained.generator.initial_seed(), "epochs": trained.total_epochs, "logs": []}
    for epoch in range(EPOCHS):
        trained.evaluate()
        # Masked samples, more of them in one process: means must be those of all samples.
        trained.rollout.masks[:: 2 + world.rank, 3] = False
        tensors = {name: getattr(trained.rollout, name).clone() for name in TENSORS}
        tensors |= {f"state{i}": s.clone() for i, s in enumerate(trained.rollout.initial_state)}
        torch.save(tensors, folder / f"rollout.{world.rank}.{epoch}")
        record["logs"].append(trained.train())
    torch.save(trained.policy.state_dict(), folder / f"weights.{world.rank}")
    (folder / f"record.{world.rank}").write_text(json.dumps(record))
    disconnect()


def torchrun(*arguments, cwd):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command += ["--standalone", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=400
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    result = torchrun(Path(__file__), folder, cwd=folder)
    assert result.returncode == 0, result.stderr
    records = [json.loads((folder / f"record.{rank}").read_text()) for rank in range(2)]
    return folder, records


def test_both_count_all_steps_and_have_equal_weights_and_their_own_seeds(two):
    folder, records = two
    weights = [torch.load(folder / f"weights.{rank}", weights_only=True) for rank in range(2)]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name
    assert records[0]["seed"] != records[1]["seed"]
    first = [torch.load(folder / f"rollout.{rank}.0", weights_only=True) for rank in range(2)]
    assert not torch.equal(first[0]["observations"], first[1]["observations"])
    for record in records:
        assert record["epochs"] == EPOCHS  # of the global batch
        assert [log["agent_steps"] for log in record["logs"]] == [512, 1024, 1536]
    shared = [
        {k: v for k, v in record["logs"][-1].items() if k.startswith(("environment/", "losses/"))}
        for record in records
    ]
    for one in shared:
        one.pop("losses/explained_variance")  # of each process's own samples
    assert shared[0] == shared[1]


def test_the_update_is_that_of_one_process_with_all_the_data(two):
    folder, records = two
    whole = trainer(64)
    for epoch in range(EPOCHS):
        parts = [torch.load(folder / f"rollout.{r}.{epoch}", weights_only=True) for r in range(2)]
        for name in TENSORS:
            getattr(whole.rollout, name).copy_(torch.cat([part[name] for part in parts]))
        for i, state in enumerate(whole.rollout.initial_state):
            state.copy_(torch.cat([part[f"state{i}"] for part in parts]))
        logs = whole.train()
        for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "grad_norm"):
            expected = logs[f"losses/{name}"]
            got = records[0]["logs"][epoch][f"losses/{name}"]
            assert got == pytest.approx(expected, rel=1e-3, abs=1e-6), name
    got = torch.load(folder / "weights.0", weights_only=True)
    for name, tensor in whole.policy.state_dict().items():
        np.testing.assert_allclose(got[name], tensor, rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.slow
def test_puffer_train_writes_one_run_folder(tmp_path):
    line = ("train", "squared", "--env.num-envs", "16", "--train.horizon", "16", "--json")
    sizes = ("--train.total-timesteps", "4096", "--eval.episodes", "8", "--train.device", "cpu")
    result = torchrun("-m", "puffer_cli.main", *line, *sizes, "--train.threads=1", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (document,) = [json.loads(text) for text in result.stdout.splitlines() if text.startswith("{")]
    assert document["steps"] == 4096
    (run,) = tmp_path.glob("runs/squared/*")
    steps = [json.loads(text)["agent_steps"] for text in (run / "log.jsonl").open()]
    assert steps == [512 * (k + 1) for k in range(8)]
    (saved,) = (run / "checkpoints").iterdir()
    assert saved.name == f"{4096:016d}"
    more = ("train", "squared", "--resume", "latest", "--train.total-timesteps", "5120", "--json")
    result = torchrun("-m", "puffer_cli.main", *more, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "a run of 2 processes keeps no environments" in result.stderr
    assert sum(1 for _ in (run / "log.jsonl").open()) == 10


if __name__ == "__main__":
    one_of_two(Path(sys.argv[1]))
