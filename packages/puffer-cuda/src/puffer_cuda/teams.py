"""Two teams in every environment of several agents: its first and its second half."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from puffer_core import APIUsageError


def num_environments(vecenv: Any) -> int:
    """Environments, those counted that one native instance steps together."""
    return int(vecenv.num_envs) * int(getattr(vecenv.driver_env, "num_envs", 1))


def agents_per_env(vecenv: Any) -> int:
    """Agents of one environment; their rows are neighbours."""
    return int(vecenv.num_agents) // num_environments(vecenv)


def away_team(vecenv: Any) -> npt.NDArray[np.bool_]:
    """`(num_agents,)` bool: one team of each environment, the other is at home.

    It is the second half of the agents in environments 0, 2, ... and the first half in the others,
    so that neither side of a game is always played by the same.

    Raises:
        APIUsageError: the environments do not have an even number of agents.
    """
    per_env = agents_per_env(vecenv)
    if per_env % 2:
        raise APIUsageError(
            f"two teams need environments with an even number of agents, got {per_env}."
        )
    second = np.arange(vecenv.num_agents) % per_env >= per_env // 2
    odd = np.arange(vecenv.num_agents) // per_env % 2 == 1
    return np.asarray(second ^ odd, bool)


def scores(
    agents: npt.NDArray[np.int64], returns: npt.NDArray[np.float64], vecenv: Any
) -> dict[int, float]:
    """Return of the home team less that of the away team, by environment.

    Args:
        agents: whose episodes ended; each at most once.
        returns: of those episodes.
        vecenv: where they were played.
    """
    away, per_env = away_team(vecenv), agents_per_env(vecenv)
    result: dict[int, float] = {}
    for agent, value in zip(agents, returns, strict=True):
        env = int(agent) // per_env
        result[env] = result.get(env, 0.0) + (-value if away[agent] else value)
    return result
