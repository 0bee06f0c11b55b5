"""Training from end to end: steps per second and where the time goes, and time to solve CartPole.

    uv run python benchmarks/train.py [--seconds S] [--threads T]
    uv run --group peers python benchmarks/train.py --solve [--seeds N]

The first form trains on C environments with a hidden size of 128. `bound` is the rate at which the
matrix products of the same shapes alone would go on this machine: those of acting, and forward and
backward of every minibatch. The second form trains CartPole-v1 until the last 20 finished training
episodes have a mean return of 475, side by side with PPO of Stable-Baselines3 with the settings
that its zoo has tuned for it; all on one thread, seed by seed in turns.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
import time
from collections import deque
from typing import Any

import gymnasium
import torch
from rich.console import Console
from rich.table import Table

from puffer_core import GymnasiumPufferEnv
from puffer_cuda.config import PolicyConfig, TrainConfig
from puffer_cuda.policy import make_policy
from puffer_cuda.pufferl import PuffeRL
from puffer_ocean import env_creator
from puffer_vector import Serial, make

HIDDEN = 128
GATES = {"mlp": 1, "mingru": 3}  # columns of a layer's matrix product, in units of HIDDEN
SOLVED, EPISODES, LIMIT = 475, 20, 300_000

# Of the zoo; both rates fall linearly to 0 over 100,000 steps.
ZOO: dict[str, Any] = {
    "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20,
    "ent_coef": 0.0, "learning_rate": lambda left: 0.001 * left,
    "clip_range": lambda left: 0.2 * left,
}  # fmt: skip
OURS: dict[str, Any] = {
    "horizon": 32, "minibatch_size": 256, "replay_ratio": 20, "gae_lambda": 0.8, "gamma": 0.98,
    "ent_coef": 0.0, "optimizer": "adamw", "learning_rate": 0.002, "beta1": 0.9, "eps": 1e-5,
    "max_grad_norm": 0.5, "vf_coef": 1, "vf_clip_coef": 1e9, "reward_clip": 0, "vtrace": False,
    "prio_alpha": 0, "total_timesteps": 100_000, "threads": 1, "device": "cpu",
}  # fmt: skip
OURS_POLICY = PolicyConfig(
    network="mlp", hidden_size=64, num_layers=1, critic="separate", activation="tanh"
)


def trainer(name: str, network: str, threads: int) -> PuffeRL:
    """1024 copies of an environment, 64 steps, minibatches of 8192."""
    vecenv = make(env_creator(name), env_kwargs={"num_envs": 1024, "num_threads": threads})
    torch.manual_seed(0)
    policy = make_policy(PolicyConfig(network=network, hidden_size=HIDDEN, num_layers=1), vecenv)
    settings = {"device": "cpu", "threads": threads, "horizon": 64, "prio_alpha": 0}
    return PuffeRL(TrainConfig(**settings, total_timesteps=10**9), vecenv, policy)


def bound(trained: PuffeRL, network: str, seconds: float) -> float:
    """Steps per second of the matrix products of an epoch alone."""
    sizes = trained.plan
    inputs = trained.rollout.observations[0, 0].numel()
    outputs = sum(trained.policy.decoder.heads) + 1  # type: ignore[union-attr]
    layers = [(inputs, HIDDEN), (HIDDEN, GATES[network] * HIDDEN), (HIDDEN, outputs)]

    def duration(products: list[tuple[int, int, int]]) -> float:
        tensors = [(torch.randn(a, b), torch.randn(b, c)) for a, b, c in products]
        rounds, begin = -1, 0.0
        while rounds < 0 or time.perf_counter() - begin < seconds:
            for left, right in tensors:
                left @ right
            if rounds < 0:  # the first round warms up
                begin = time.perf_counter()
            rounds += 1
        return (time.perf_counter() - begin) / rounds

    acting = [(sizes.num_agents, a, b) for a, b in layers]
    rows = sizes.minibatch_size
    learning = [(rows, a, b) for a, b in layers]
    learning += [(a, rows, b) for a, b in layers]  # weights' gradients
    learning += [(rows, b, a) for a, b in layers[1:]]  # inputs' gradients
    epoch = sizes.horizon * duration(acting) + sizes.minibatches * duration(learning)
    return sizes.batch_size / epoch


def throughput(seconds: float, threads: int, console: Console) -> None:
    """Print the table of steps per second."""
    table = Table(title=f"training, hidden {HIDDEN}, {threads} thread(s)")
    for column in ("environment", "network", "steps/s", "bound", "share"):
        table.add_column(column, justify="right")
    phases = {"environment": "rollout/env", "copy": "rollout/copy", "policy": "rollout/policy"}
    for column in (*phases, "learning"):
        table.add_column(column, justify="right")
    for name in ("breakout", "cartpole"):
        for network in GATES:
            trained = trainer(name, network, threads)
            trained.evaluate()
            trained.train()
            before, steps = dict(trained.profile.seconds), trained.global_step
            begin = time.perf_counter()
            while time.perf_counter() - begin < seconds:
                trained.evaluate()
                trained.train()
            elapsed = time.perf_counter() - begin
            rate = (trained.global_step - steps) / elapsed
            limit = bound(trained, network, seconds / 8)
            spent = {k: v - before.get(k, 0) for k, v in trained.profile.seconds.items()}
            parts = [spent[phase] for phase in (*phases.values(), "train")]
            table.add_row(
                name, network, f"{rate:,.0f}", f"{limit:,.0f}", f"{rate / limit:.0%}",
                *(f"{part / elapsed:.0%}" for part in parts),
            )  # fmt: skip
            trained.close()
    console.print(table)


def solve(seed: int) -> tuple[int, float]:
    """Steps and seconds until CartPole-v1 is solved."""
    creator = functools.partial(
        GymnasiumPufferEnv, env_creator=gymnasium.make, env_args=["CartPole-v1"]
    )
    begin = time.perf_counter()
    vecenv = make(creator, backend=Serial, num_envs=8, seed=seed)
    torch.manual_seed(seed)
    policy = make_policy(OURS_POLICY, vecenv)
    trained = PuffeRL(TrainConfig(**OURS, seed=seed), vecenv, policy)
    returns: deque[float] = deque(maxlen=EPISODES)
    add = trained.rollout.statistics.add

    def note(infos: Any) -> None:
        add(infos)
        for info in infos:
            returns.extend(info.get("episode_return", ()))

    trained.rollout.statistics.add = note  # type: ignore[method-assign]
    while trained.global_step < LIMIT:
        trained.evaluate()
        if len(returns) == EPISODES and statistics.mean(returns) >= SOLVED:
            return trained.global_step, time.perf_counter() - begin
        trained.train()
    return LIMIT, math.inf


def solve_sb3(seed: int) -> tuple[int, float]:
    """The same by Stable-Baselines3."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    last: deque[float] = deque(maxlen=EPISODES)

    class Until(BaseCallback):
        def _on_step(self) -> bool:
            returns = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            last.extend(returns)
            return len(last) < EPISODES or statistics.mean(last) < SOLVED

    begin = time.perf_counter()
    envs = make_vec_env("CartPole-v1", 8, seed=seed)
    model = PPO("MlpPolicy", envs, **ZOO, seed=seed, device="cpu")
    model.learn(100_000, Until())
    solved = len(last) == EPISODES and statistics.mean(last) >= SOLVED
    return model.num_timesteps, time.perf_counter() - begin if solved else math.inf


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--solve", action="store_true", help="CartPole-v1 against SB3")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    console = Console()
    torch.set_num_threads(options.threads)
    if not options.solve:
        throughput(options.seconds, options.threads, console)
        return
    torch.set_num_threads(1)
    table = Table(title=f"CartPole-v1 to a mean return of {SOLVED}")
    for column in ("seed", "steps", "seconds", "steps (SB3)", "seconds (SB3)"):
        table.add_column(column, justify="right")
    rows = []
    for seed in range(options.seeds):
        rows.append((*solve(seed), *solve_sb3(seed)))
        cells = [f"{rows[-1][0]:,}", f"{rows[-1][1]:.1f}", f"{rows[-1][2]:,}", f"{rows[-1][3]:.1f}"]
        table.add_row(str(seed), *cells)
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    table.add_row("median", *(f"{value:,.1f}" for value in medians))
    console.print(table)


if __name__ == "__main__":
    main()
