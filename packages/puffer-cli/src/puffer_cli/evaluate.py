"""`puffer eval`: how well a policy does on fresh episodes."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from puffer_cli import video
from puffer_cli.checkpoints import LATEST, find_checkpoint, run_layer
from puffer_cli.config import RUN_DIR, Config, check_names, load_config, resolve
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import Environment
from puffer_cli.layers import Layer
from puffer_cli.report import summarize
from puffer_cli.vectorize import evaluation_config, make_vecenv, video_config
from puffer_core.errors import APIUsageError

if TYPE_CHECKING:
    import torch

    from puffer_vector import VecEnv

RANDOM = "random"
FRAMES = 250  # of a film: ten seconds
MAX_STEPS = 100_000  # of one episode, so that an evaluation ends where episodes do not

# Evaluation draws from other random streams than training: environment i has seed + i, so the
# distance exceeds any number of environments.
SEED_DISTANCE = 2**31

# What a run's own settings may be changed in; other keys would have no effect.
CHANGEABLE = ("env.", "vec.", "train.device", "train.threads", "run_dir")


class Request(NamedTuple):
    """What `puffer eval` was asked for.

    Attributes:
        policy: "random", "latest", or the folder of a run or a checkpoint.
        episodes: at least so many.
        seed: of environments and actions; None: as in the evaluation after training.
        max_steps: longest episode; longer ones are left out.
        save_video: a film of other episodes with the same policy is written here.
        frames: of the film.
    """

    policy: str = RANDOM
    episodes: int = 128
    seed: int | None = None
    max_steps: int = MAX_STEPS
    save_video: Path | None = None
    frames: int = FRAMES


def evaluation_seed(config: Config) -> int:
    """The seed that `train` and `eval` use by default, so that both see the same episodes."""
    return config.train.seed + SEED_DISTANCE


def run_config(environment: Environment, checkpoint: Path, changes: Layer) -> Config:
    """The configuration of the run that a checkpoint belongs to, with changes.

    Raises:
        APIUsageError: no configuration, another environment's run, or a change without effect.
    """
    layer = run_layer(environment, checkpoint)
    for key in changes.values:
        if not key.startswith(CHANGEABLE):
            raise APIUsageError(
                f"{key} ({changes.origin}) has no effect on the evaluation of a trained policy; "
                f"only env.*, vec.*, train.device and train.threads can be changed."
            )
    return resolve(environment, [layer, changes])


def evaluate(
    environment: Environment, request: Request, changes: Layer, dashboard: Dashboard
) -> dict[str, Any]:
    """Evaluate a trained policy, or the uniform random one.

    Args:
        environment: where.
        request: what.
        changes: keys that replace those of the run, or of the environment's own configuration.
        dashboard: entered by the caller; shows the progress.

    Returns:
        The JSON document of `puffer eval --json`.

    Raises:
        APIUsageError: no such policy, or changes that do not fit it.
    """
    check_names(changes)
    if request.save_video is not None:
        video.check_target(request.save_video)
    dashboard.status("loading torch")
    from puffer_cuda.checkpoint import load_weights
    from puffer_cuda.device import choose_device, limit_threads
    from puffer_cuda.policy import make_policy

    checkpoint = None
    if request.policy == RANDOM:
        config = load_config(environment.reference, changes.values)
    else:
        run_dir = changes.values.get("run_dir", RUN_DIR)
        checkpoint = find_checkpoint(
            run_dir, environment.name, request.policy, f"--policy must be {RANDOM}, {LATEST}"
        )
        config = run_config(environment, checkpoint, changes)
    dashboard.print(f"policy: {checkpoint or 'random (uniform actions)'}")
    seed = evaluation_seed(config) if request.seed is None else request.seed

    limit_threads(config.train.threads)
    device = choose_device(config.train.device)
    with closing(make_vecenv(evaluation_config(config, request.episodes, seed))) as vecenv:
        policy = None
        if checkpoint is not None:
            policy = make_policy(config.policy, vecenv).to(device)
            load_weights(checkpoint, policy)
        begin = time.perf_counter()
        episodes = run_episodes(policy, vecenv, device, seed, request.max_steps, dashboard)
        seconds = time.perf_counter() - begin
    if request.save_video is not None:
        dashboard.status(f"filming {request.save_video}")
        with closing(make_vecenv(video_config(config, seed))) as vecenv:
            pictures = video.record(policy, vecenv, device, seed, request.frames)
        video.write(request.save_video, pictures)
    steps = int(episodes.get("episode_length", np.zeros(1)).sum())
    return {
        "env": config.train.env,
        "run": str(checkpoint.parent.parent) if checkpoint else None,
        "policy": str(checkpoint) if checkpoint else RANDOM,
        "seed": seed,
        "steps": steps,
        "seconds": seconds,
        "steps_per_second": steps / seconds,
        "video": None if request.save_video is None else str(request.save_video),
        "stats": summarize(episodes),
    }


def run_episodes(
    policy: torch.nn.Module | None,
    vecenv: VecEnv,
    device: torch.device,
    seed: int,
    max_steps: int,
    dashboard: Dashboard,
) -> dict[str, npt.NDArray[Any]]:
    """The first episode of every agent of `vecenv`.

    Returns:
        Aligned arrays, one entry per episode that ended within `max_steps`.
    """
    from puffer_cuda.evaluation import evaluate_policy

    def progress(finished: int, agents: int) -> None:
        dashboard.tick(f"evaluating: {finished:,} of {agents:,} episodes")

    episodes = evaluate_policy(policy, vecenv, device, seed, max_steps, progress)
    longer = vecenv.num_agents - len(episodes.get("episode_length", ()))
    if longer:
        dashboard.print(
            f"WARNING: {longer} of {vecenv.num_agents} episodes were longer than {max_steps:,} "
            "steps and are left out: the means are of the shorter ones"
        )
    return episodes
