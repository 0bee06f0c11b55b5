import contextlib
import functools
import os
import signal
import time

import gymnasium
import numpy as np
import pytest
import torch

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_cuda import checkpoint
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import Multiprocessing, Serial, make


def trainer(seed=3, network="mingru", num_envs=32, vec=None, **settings):
    env = {"num_envs": num_envs, "size": 3}
    vecenv = make(env_creator("squared"), env_kwargs=env, seed=seed, **(vec or {}))
    torch.manual_seed(seed)
    config = PolicyConfig(network=network, hidden_size=16, num_layers=2)
    settings = {"horizon": 16, "device": "cpu", "minibatch_size": 128, "seed": seed, **settings}
    return PuffeRL(
        TrainConfig(total_timesteps=6 * 512, **settings), vecenv, make_policy(config, vecenv)
    )


def epochs(trained, count):
    """Logs of `count` epochs less those that a clock decides."""
    logs = []
    for _ in range(count):
        trained.evaluate()
        entries = trained.train()
        clocks = ("SPS", "uptime", "performance/")
        logs.append({k: v for k, v in entries.items() if not k.startswith(clocks)})
    return logs


def everything(trained):
    tensors = dict(trained.policy.state_dict())
    for index, entries in trained.optimizer.state_dict()["state"].items():
        tensors |= {f"{index}.{name}": torch.as_tensor(entry) for name, entry in entries.items()}
    tensors["generator"] = trained.generator.get_state()
    tensors |= {f"state {i}": tensor for i, tensor in enumerate(trained.rollout.state)}
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    arrays |= trained.vecenv.get_state()
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("vec", [None, {"backend": Serial, "num_envs": 3}])
@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
@pytest.mark.parametrize("network", ["mlp", "mingru", "lstm"])
def test_three_and_three_are_six(tmp_path, network, optimizer, vec):
    settings = {"network": network, "optimizer": optimizer, "vec": vec, "eps": 1e-8}
    whole = trainer(**settings)
    expected = epochs(whole, 6)
    first = trainer(**settings)
    assert epochs(first, 3) == expected[:3]
    folder = first.save_checkpoint(tmp_path)
    second = trainer(seed=99, **settings)  # nothing of its own start must matter
    assert second.load_checkpoint(folder) == ""
    assert epochs(second, 3) == expected[3:]
    assert everything(second) == everything(whole)
    assert second.uptime > first.logs["uptime"]


def test_three_and_three_are_six_with_worker_processes(tmp_path):
    vec = {"backend": Multiprocessing, "num_envs": 4, "num_workers": 2}
    running = []

    def new(**settings):
        running.append(trainer(num_envs=8, vec=vec, **settings))
        return running[-1]

    try:
        whole = new()
        expected = epochs(whole, 6)
        first = new()
        assert epochs(first, 3) == expected[:3]
        folder = first.save_checkpoint(tmp_path)
        second = new(seed=99)
        assert second.load_checkpoint(folder) == ""
        assert epochs(second, 3) == expected[3:]
        assert everything(second) == everything(whole)
    finally:
        for trained in running:
            trained.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork, from Python 3.12 on
def test_killed_at_any_moment_the_latest_checkpoint_loads(tmp_path):
    random = np.random.default_rng(0)
    trained = trainer(num_envs=8, horizon=8, minibatch_size=64)
    epochs(trained, 1)
    folder = tmp_path / "run" / "checkpoints"
    trained.save_checkpoint(folder)
    for _ in range(20):
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                while True:
                    trained.global_step += 64
                    trained.save_checkpoint(folder)
                    checkpoint.prune(folder, 2)
            os._exit(1)
        deadline = time.monotonic() + 60
        while checkpoint.latest(tmp_path).name == f"{trained.global_step:016d}":
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        latest = checkpoint.latest(tmp_path)
        trained.load_checkpoint(latest)
        assert int(latest.name) == trained.global_step
    assert trained.global_step >= 21 * 64


def test_counters_beyond_32_bits(tmp_path):
    trained = trainer()
    epochs(trained, 1)
    trained.global_step = trained.rollout.steps = 2**31 - 5
    folder = trained.save_checkpoint(tmp_path)
    assert folder.name == "0000002147483643"
    again = trainer()
    again.load_checkpoint(folder)
    assert epochs(again, 1)[0]["agent_steps"] == 2**31 - 5 + 512


def test_environments_without_state_start_anew_and_it_says_so(tmp_path):
    creator = functools.partial(
        GymnasiumPufferEnv, env_creator=gymnasium.make, env_args=["CartPole-v1"]
    )

    def new():
        vecenv = make(creator, backend=Serial, num_envs=2)
        config = TrainConfig(horizon=8, device="cpu")
        return PuffeRL(config, vecenv, make_policy(PolicyConfig(hidden_size=8), vecenv))

    trained = new()
    epochs(trained, 2)
    folder = trained.save_checkpoint(tmp_path)
    again = new()
    assert "GymnasiumPufferEnv has no get_state()" in again.load_checkpoint(folder)
    assert again.epoch == 2
    assert again.global_step == 32
    epochs(again, 1)
    assert again.rollout.starts[:, 0].all()
    assert np.isfinite(again.logs["losses/policy_loss"])


def test_another_number_of_agents_is_refused(tmp_path):
    trained = trainer()
    epochs(trained, 1)
    folder = trained.save_checkpoint(tmp_path)
    with pytest.raises(APIUsageError, match="observations is uint8"):
        trainer(num_envs=64).load_checkpoint(folder)
