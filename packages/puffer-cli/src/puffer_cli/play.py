"""A person at the keyboard in place of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import numpy as np

from puffer_cli.environments import Environment, OceanEnvironment
from puffer_cli.layers import COMMAND_LINE
from puffer_core.errors import APIUsageError

FPS = 15


def play(
    environment: Environment, values: Mapping[str, Any], fps: int | None, seed: int
) -> list[dict[str, float]]:
    """Play the first agent of one copy until the window is closed; other agents stand still.

    Args:
        environment: an environment in C whose `render.py` declares `KEYS`.
        values: `env.*` keys of the command line.
        fps: steps a second; 0: a step for each key; None: as `render.py` says (`FPS`).
        seed: of the episodes.

    Returns:
        The statistics of the first agent's finished episodes.

    Raises:
        APIUsageError: the environment has no keys, or there is no window to be had.
    """
    from puffer_ocean.env import OceanEnv
    from puffer_ocean.renderer import load_renderer
    from puffer_ocean.window import Window

    if not isinstance(environment, OceanEnvironment):
        raise APIUsageError(f"puffer play plays environments in C; {environment.name} is none.")
    raw = {key.removeprefix("env."): value for key, value in values.items()}
    arguments = environment.arguments({**raw, "num_envs": 1}, dict.fromkeys(raw, COMMAND_LINE))
    with closing(OceanEnv(environment.reference, seed=seed, **arguments)) as env:
        renderer = load_renderer(env.folder)
        keys = getattr(renderer, "KEYS", None)
        if not keys:
            raise APIUsageError(f"{env.name} declares no KEYS in its render.py: nothing to play.")
        pace = getattr(renderer, "FPS", FPS) if fps is None else fps
        window = Window(env.name)
        try:
            return _play(env, window, keys, pace)
        finally:
            window.close()


def _play(env: Any, window: Any, keys: Mapping[str, Any], fps: float) -> list[dict[str, float]]:
    episodes: list[dict[str, float]] = []
    actions = np.zeros_like(env.actions)
    env.reset()
    while window.show(env.render(), fps or FPS):
        held = window.held(keys) if fps else []
        chosen = [key for key in (*window.pressed, *held) if key in keys]
        if not fps and not chosen:
            continue
        actions[0] = keys[chosen[0]] if chosen else keys.get("", 0)
        for info in env.step(actions)[-1]:
            mine = info["agent_id"] == 0
            if mine.any():
                row = {name: float(column[mine][0]) for name, column in info.items()}
                episodes.append({name: v for name, v in row.items() if name != "agent_id"})
    return episodes
