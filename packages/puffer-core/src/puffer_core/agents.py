"""Agents of a PettingZoo environment: who they are, their spaces, their entries in dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np

from puffer_core.errors import APIUsageError, InvalidAgentError
from puffer_core.spaces import Space, equal
from puffer_core.wrapped import describe

METHODS = ("reset", "step", "observation_space", "action_space")
EQUALIZE = (
    "Give all agents the same spaces, for example with supersuit's pad_observations_v0 and "
    "pad_action_space_v0."
)


def parallel(env: Any) -> Any:
    """Return an environment with the parallel API, converted if it has the AEC one.

    Raises:
        APIUsageError: Neither API, or agents that take turns.
    """
    if isinstance(env, (type, gymnasium.Env)) or not all(hasattr(env, name) for name in METHODS):
        raise APIUsageError(
            f"Expected an instance of pettingzoo.ParallelEnv or AECEnv, got {describe(env)}. Give "
            "a class or function as env_creator; wrap Gymnasium environments with "
            "GymnasiumPufferEnv."
        )
    if not hasattr(env, "agent_iter"):  # what only the AEC API has
        return env
    if not (getattr(env, "metadata", None) or {}).get("is_parallelizable", False):
        raise APIUsageError(
            f"{env} is an AEC environment whose agents take turns (metadata['is_parallelizable'] "
            "is not True), so their actions cannot be given all at once: make it parallel, or "
            "convert it with pettingzoo.utils.turn_based_aec_to_parallel and wrap the result."
        )
    from pettingzoo.utils.conversions import aec_to_parallel  # only here: it is optional

    return aec_to_parallel(env)


def possible_agents(env: Any) -> tuple[Any, ...]:
    """Return the environment's `possible_agents`, the order of the rows.

    Raises:
        APIUsageError: There are none, or one is there twice.
    """
    agents = getattr(env, "possible_agents", None)
    if not agents:
        raise APIUsageError(
            f"{env} has no possible_agents: set it to the list of all agents that can ever live, "
            "each of which gets a row of the buffers."
        )
    if len(set(agents)) < len(agents):
        raise APIUsageError(f"possible_agents names an agent twice: {list(agents)}.")
    return tuple(agents)


def common_spaces(env: Any, agents: tuple[Any, ...]) -> tuple[Space, Space]:
    """Return the observation and the action space that all agents share.

    Raises:
        APIUsageError: They differ; the message names the agents and their spaces.
    """
    found: list[Space] = []
    for kind in ("observation_space", "action_space"):
        spaces = {agent: getattr(env, kind)(agent) for agent in agents}
        first = spaces[agents[0]]
        others = [agent for agent in agents if not equal(spaces[agent], first)]
        if others:
            raise APIUsageError(
                f"{kind}: agents {others} differ from {agents[0]!r}: {others[0]!r} has "
                f"{spaces[others[0]]}, {agents[0]!r} has {first}. {EQUALIZE}"
            )
        found.append(first)
    return found[0], found[1]


def check_known(agents: Iterable[Any], known: Mapping[Any, int], where: str) -> None:
    """Refuse agents that have no row, and what is no collection of agents.

    Raises:
        InvalidAgentError: Names the agent and those that are known.
        APIUsageError: `agents` is of another kind.
    """
    if not isinstance(agents, (Mapping, list, tuple, set)):
        raise APIUsageError(f"{where}: expected a dict by agent, got {describe(agents)}.")
    for agent in agents:
        if agent not in known:
            raise InvalidAgentError(agent, known, where)


def value_of(values: Mapping[Any, Any], agent: Any, where: str) -> Any:
    """Return an agent's entry.

    Raises:
        APIUsageError: It has none.
    """
    if agent not in values:
        raise APIUsageError(
            f"{where}: no value for agent {agent!r}, which takes part in this step; got values "
            f"for {list(values)}."
        )
    return values[agent]


def check_actions(
    actions: Any, known: Mapping[Any, int], alive: set[Any], num_agents: int
) -> Callable[[Any], Any]:
    """Return a function from a living agent to its row of `actions`.

    Args:
        actions: An array with a row for every possible agent, or a dict by agent.
        known: The row of every possible agent.
        alive: Agents that need an action.
        num_agents: N.

    Raises:
        InvalidAgentError: The dict has an unknown agent.
        APIUsageError: A wrong number of rows, or no action for a living agent.
    """
    if isinstance(actions, Mapping):
        check_known(actions, known, "actions")
        missing = [agent for agent in known if agent in alive and actions.get(agent) is None]
        if missing:
            raise APIUsageError(f"actions: no action for the living agents {missing}.")
        return lambda agent: actions[agent]
    rows = np.asarray(actions)
    if rows.ndim == 0 or len(rows) != num_agents:
        raise APIUsageError(
            f"actions: expected one row for each of the {num_agents} possible agents, got shape "
            f"{rows.shape}."
        )
    return lambda agent: rows[known[agent]]
