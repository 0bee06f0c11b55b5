"""`puffer eval`: how well a policy does on fresh episodes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from puffer_cli.config import Config, resolve
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import Environment
from puffer_cli.layers import Layer, read_run
from puffer_cli.report import summarize
from puffer_cli.vectorize import evaluation_config, make_vecenv
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    import numpy as np
    import torch

RANDOM, LATEST = "random", "latest"
MAX_STEPS = 100_000  # of one episode, so that an evaluation ends where episodes do not

# Evaluation draws from other random streams than training: environment i has seed + i, so the
# distance exceeds any number of environments.
SEED_DISTANCE = 2**31

# What a run's own settings may be changed in; other keys would have no effect.
CHANGEABLE = ("env.", "vec.", "train.device", "train.threads", "run_dir")


class Episodes(NamedTuple):
    """What an evaluation saw.

    Attributes:
        columns: aligned arrays, one entry per finished episode.
        steps: agent steps, of finished episodes.
    """

    columns: dict[str, np.ndarray[Any, Any]]
    steps: int


def evaluation_seed(config: Config) -> int:
    """The seed that `train` and `eval` use by default, so that both see the same episodes."""
    return config.train.seed + SEED_DISTANCE


def find_checkpoint(run_dir: str, env_name: str, policy: str) -> Path:
    """The checkpoint folder that `policy` names.

    Args:
        run_dir: the folder of run folders.
        env_name: the environment.
        policy: "latest", a checkpoint folder, or a run folder, whose last checkpoint is taken.

    Raises:
        APIUsageError: there is none.
    """
    from puffer_cuda import checkpoint

    if policy == LATEST:
        return checkpoint.latest(Path(run_dir) / env_name)
    path = Path(policy)
    if not path.is_dir():
        raise APIUsageError(
            f"--policy must be {RANDOM}, {LATEST}, or the folder of a run or checkpoint; "
            f"there is no folder {policy!r}."
        )
    steps = sorted(path.glob(f"checkpoints/[0-9]*/{checkpoint.MANIFEST}"))
    return steps[-1].parent if steps else path


def run_config(environment: Environment, checkpoint: Path, changes: Layer) -> Config:
    """The configuration of the run that a checkpoint belongs to, with changes.

    Raises:
        APIUsageError: no configuration, another environment's run, or a change without effect.
    """
    name, layer = read_run(checkpoint.parent.parent / "config.json")
    if name != environment.name:
        raise APIUsageError(
            f"{checkpoint} is a policy for {name}, not for {environment.name}; "
            f"`puffer eval {name}` evaluates it."
        )
    for key in changes.values:
        if not key.startswith(CHANGEABLE):
            raise APIUsageError(
                f"{key} ({changes.origin}) has no effect on the evaluation of a trained policy; "
                f"only env.*, vec.*, train.device and train.threads can be changed."
            )
    return resolve(environment, [layer, changes])


def evaluate(
    config: Config,
    checkpoint: Path | None,
    episodes: int,
    seed: int,
    max_steps: int,
    dashboard: Dashboard,
) -> dict[str, Any]:
    """Evaluate a trained policy, or the uniform random one.

    Args:
        config: of the run, or of the environment alone.
        checkpoint: folder of the weights; None: random actions.
        episodes: how many.
        seed: of the environments and of the actions.
        max_steps: longest episode; longer ones are left out.
        dashboard: entered by the caller; shows the progress.

    Returns:
        The JSON document of `puffer eval --json`.
    """
    dashboard.status("loading torch")
    from puffer_cuda.checkpoint import load_weights
    from puffer_cuda.device import choose_device, limit_threads
    from puffer_cuda.policy import make_policy

    limit_threads(config.train.threads)
    device = choose_device(config.train.device)
    policy: torch.nn.Module | None = None
    if checkpoint is not None:
        vecenv = make_vecenv(evaluation_config(config, 1, seed))
        spaces = (vecenv.single_observation_space, vecenv.single_action_space)
        vecenv.close()
        policy = make_policy(config.policy, *spaces).to(device)
        load_weights(checkpoint, policy)
    begin = time.perf_counter()
    seen = run_episodes(config, policy, device, episodes, seed, max_steps, dashboard)
    seconds = time.perf_counter() - begin
    return {
        "env": config.train.env,
        "run": str(checkpoint.parent.parent) if checkpoint else None,
        "policy": str(checkpoint) if checkpoint else RANDOM,
        "seed": seed,
        "steps": seen.steps,
        "seconds": seconds,
        "steps_per_second": seen.steps / seconds,
        "stats": summarize(seen.columns),
    }


def run_episodes(
    config: Config,
    policy: torch.nn.Module | None,
    device: torch.device,
    episodes: int,
    seed: int,
    max_steps: int,
    dashboard: Dashboard,
) -> Episodes:
    """One episode of each of `episodes` agents; arguments as in `evaluate`."""
    from puffer_cuda.evaluation import evaluate_policy

    def progress(finished: int, agents: int) -> None:
        dashboard.tick(f"evaluating: {min(finished, episodes):,} of {episodes:,} episodes")

    vecenv = make_vecenv(evaluation_config(config, episodes, seed))
    try:
        columns = evaluate_policy(policy, vecenv, device, seed, max_steps, progress)
    finally:
        vecenv.close()
    finished = len(columns.get("episode_length", ()))
    if finished < min(episodes, vecenv.num_agents):
        dashboard.print(
            f"{vecenv.num_agents - finished} episodes were longer than {max_steps:,} steps and "
            "are not counted: the means are of shorter ones"
        )
    return Episodes(columns, int(columns["episode_length"].sum()) if finished else 0)
