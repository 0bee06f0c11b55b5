"""`puffer eval`: how well a policy does on fresh episodes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from puffer_cli import video
from puffer_cli.checkpoints import BEST, LATEST, find_checkpoint, run_layer
from puffer_cli.config import RUN_DIR, Config, check_names, load_config, resolve
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import Environment
from puffer_cli.layers import Layer
from puffer_cli.report import summarize
from puffer_cli.vectorize import evaluation_config, make_vecenv, video_config
from puffer_core.errors import APIUsageError
from puffer_cuda.config import EvalConfig

if TYPE_CHECKING:
    import torch

    from puffer_vector import VecEnv

RANDOM = "random"
FRAMES = 250  # of a film: ten seconds

# Evaluation draws from other random streams than training: environment i has seed + i, so the
# distance exceeds any number of environments.
SEED_DISTANCE = 2**31

EPISODES = 128  # of a run that was trained without an evaluation

# What a run's own settings may be changed in; other keys would have no effect.
CHANGEABLE = ("env.", "vec.", "eval.", "train.device", "train.threads", "run_dir")


class Request(NamedTuple):
    """What `puffer eval` was asked for; None: as [eval] says.

    Attributes:
        policy: "random", "latest", "best", or the folder of a run or a checkpoint.
        episodes: at least so many.
        seed: of environments and actions; None: as in the evaluation after training.
        max_steps: longest episode; longer ones are left out.
        save_video: a film of other episodes with the same policy is written here.
        frames: of the film.
    """

    policy: str = RANDOM
    episodes: int | None = None
    seed: int | None = None
    max_steps: int | None = None
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
                f"only env.*, vec.*, eval.*, train.device and train.threads can be changed."
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
            run_dir,
            environment.name,
            request.policy,
            f"--policy must be {RANDOM}, {LATEST}, {BEST}",
        )
        config = run_config(environment, checkpoint, changes)
    dashboard.print(f"policy: {checkpoint or 'random (uniform actions)'}")
    limits = config.eval
    limits.episodes = request.episodes or limits.episodes or EPISODES
    limits.max_steps = request.max_steps or limits.max_steps
    seed = evaluation_seed(config) if request.seed is None else request.seed

    limit_threads(config.train.threads)
    device = choose_device(config.train.device)
    with closing(make_vecenv(evaluation_config(config, limits.episodes, seed))) as vecenv:
        policy = None
        if checkpoint is not None:
            policy = make_policy(config.policy, vecenv).to(device)
            load_weights(checkpoint, policy)
        begin = time.perf_counter()
        episodes = run_episodes(policy, vecenv, device, seed, limits, dashboard)
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
    limits: EvalConfig,
    dashboard: Dashboard,
) -> dict[str, npt.NDArray[Any]]:
    """The first episodes of every agent of `vecenv`.

    Returns:
        Aligned arrays, one entry per episode that ended within the limits.
    """
    from puffer_cuda.evaluation import evaluate_policy

    finished, begun = 0, vecenv.num_agents

    def progress(*counts: int) -> None:
        nonlocal finished, begun
        finished, begun = counts
        dashboard.tick(f"evaluating: {finished:,} of {begun:,} episodes")

    episodes = evaluate_policy(
        policy,
        vecenv,
        device,
        seed,
        limits.max_steps,
        progress,
        limits.episodes,
        limits.greedy,
        limits.max_seconds,
    )
    if finished < begun:
        dashboard.print(
            f"WARNING: {begun - finished} of {begun} episodes did not end within the limits "
            f"(eval.max_steps = {limits.max_steps:,}, eval.max_seconds = {limits.max_seconds:g}) "
            "and are left out: the means are of the shorter ones"
        )
    return episodes


class Evaluation:
    """Evaluations of a policy in training, always on the same episodes."""

    def __init__(self, config: Config, dashboard: Dashboard, vecenv: VecEnv | None = None) -> None:
        """Prepare; without `vecenv`, environments are made when they are needed."""
        self.config, self.dashboard = config, dashboard
        self.seed = evaluation_seed(config)
        self._vecenv = vecenv

    def __call__(self, policy: torch.nn.Module, device: torch.device) -> dict[str, Any]:
        """Play, and return the statistics of `report.summarize`."""
        limits = self.config.eval
        if self._vecenv is None:
            self._vecenv = make_vecenv(evaluation_config(self.config, limits.episodes, self.seed))
        arguments = (policy, self._vecenv, device, self.seed, limits, self.dashboard)
        return summarize(run_episodes(*arguments))

    def close(self) -> None:
        """Close the environments."""
        if self._vecenv is not None:
            self._vecenv.close()
            self._vecenv = None


def goal(stats: Mapping[str, Any]) -> str | None:
    """The statistic by which policies are compared: score, perf or episode_return."""
    return next((name for name in ("score", "perf", "episode_return") if name in stats), None)
