"""`puffer match`: how two trained policies of one environment do against each other."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Any

from puffer_cli.checkpoints import LATEST, find_checkpoint, run_folder, run_layer
from puffer_cli.config import RUN_DIR, Config, resolve
from puffer_cli.dashboard import Dashboard
from puffer_cli.environments import find
from puffer_cli.layers import read_run
from puffer_cli.vectorize import evaluation_config, make_vecenv
from puffer_core.errors import APIUsageError


def match(
    first: str, second: str, games: int, seed: int, run_dir: str | None, dashboard: Dashboard
) -> dict[str, Any]:
    """Play at least `games` games, in half of which each policy is on each side.

    Args:
        first: the folder of a run or checkpoint, or an environment, whose latest one is meant.
        second: the same; its environment's arguments must be those of `first`.
        games: at least so many.
        seed: of environments and actions.
        run_dir: where the latest ones are looked for.
        dashboard: entered by the caller.

    Returns:
        The JSON document of `puffer match --json`: "win_rate" counts a draw as half, and
        "rating_difference" is what it means in Elo, None if one of them won everything.

    Raises:
        APIUsageError: no such policy, different environments, or one without two teams.
    """
    dashboard.status("loading torch")
    import torch

    from puffer_cuda.checkpoint import load_weights
    from puffer_cuda.device import choose_device, limit_threads
    from puffer_cuda.evaluation import play_match
    from puffer_cuda.policy import make_policy
    from puffer_cuda.teams import agents_per_env

    folders, configs = [], []
    for which in (first, second):
        folder, config = _find(which, run_dir or RUN_DIR)
        folders.append(folder)
        configs.append(config)
    one, two = configs
    if (one.train.env, _rules(one)) != (two.train.env, _rules(two)):
        raise APIUsageError(
            f"{first} and {second} are of different environments: {one.train.env} with "
            f"{_rules(one)}, and {two.train.env} with {_rules(two)}."
        )
    device = choose_device(one.train.device)
    limit_threads(one.train.threads)

    def progress(finished: int, begun: int) -> None:
        dashboard.tick(f"playing: {finished:,} of {begun:,} episodes")

    agents = find(one.train.env).agents(one.env)
    with closing(make_vecenv(evaluation_config(one, games * agents, seed))) as vecenv:
        policies: list[torch.nn.Module] = []
        for folder, config in zip(folders, configs, strict=True):
            policy = make_policy(config.policy, vecenv).to(device)
            load_weights(folder, policy)
            policies.append(policy)
        ours, theirs = policies
        wanted = games * agents_per_env(vecenv)
        steps = one.eval.max_steps
        result = play_match(ours, theirs, vecenv, device, seed, steps, progress, wanted)
    played = sum(result.values())
    points = (result["wins"] + result["draws"] / 2) / played if played else math.nan
    return {
        "env": one.train.env,
        "first": str(folders[0]),
        "second": str(folders[1]),
        "games": played,
        **result,
        "win_rate": points,
        "rating_difference": 400 * math.log10(points / (1 - points)) if 0 < points < 1 else None,
    }


def _rules(config: Config) -> dict[str, Any]:
    """The environment's arguments without the number of its copies."""
    return {name: value for name, value in config.env.items() if name != "num_envs"}


def _find(which: str, run_dir: str) -> tuple[Path, Config]:
    if Path(which).is_dir():
        folder = find_checkpoint(run_dir, "", which, "a policy must be an environment")
        name, _ = read_run(run_folder(folder) / "config.json")
    else:
        name = find(which).name
        folder = find_checkpoint(run_dir, name, LATEST, "a policy")
    environment = find(name)
    return folder, resolve(environment, [run_layer(environment, folder)])
