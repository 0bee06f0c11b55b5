"""Wrappers of environments that follow PettingZoo's parallel interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

ByAgent: TypeAlias = "dict[str, Any]"


class PettingZooWrapper:
    """Passes everything on to a parallel environment; base class of the others."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        """Public attributes of the wrapped environment; private ones stay its own."""
        if name.startswith("_") or name == "env":  # "env": before __init__, as when unpickling
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return getattr(self.env, "unwrapped", self.env)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Begin an episode; options go on only if there are any, as not every `reset` has them."""
        arguments = {} if options is None else {"options": options}
        result: tuple[ByAgent, ByAgent] = self.env.reset(seed=seed, **arguments)
        return result

    def step(self, actions: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Step all agents."""
        result: tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent] = self.env.step(actions)
        return result

    def observation_space(self, agent: str) -> Any:
        """The observation space of an agent."""
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> Any:
        """The action space of an agent."""
        return self.env.action_space(agent)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class MultiagentEpisodeStats(PettingZooWrapper):
    """Adds `episode_return` and `episode_length` to an agent's info when its episode ends.

    Every agent with a reward counts, whether or not the environment gives it an info. Infos of the
    environment pass through unchanged.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._returns: dict[str, float] = {}
        self._lengths: dict[str, int] = {}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Begin an episode, and the statistics of all agents."""
        self._returns, self._lengths = {}, {}
        return super().reset(seed, options)

    def step(self, actions: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Step all agents and count."""
        observations, rewards, terminated, truncated, infos = super().step(actions)
        infos = dict(infos)
        for agent, reward in rewards.items():
            self._returns[agent] = self._returns.get(agent, 0.0) + float(reward)
            self._lengths[agent] = self._lengths.get(agent, 0) + 1
            if terminated.get(agent) or truncated.get(agent):
                statistics = {
                    "episode_return": self._returns.pop(agent),
                    "episode_length": self._lengths.pop(agent),
                }
                infos[agent] = {**infos.get(agent, {}), **statistics}
        return observations, rewards, terminated, truncated, infos


class MeanOverAgents(PettingZooWrapper):
    """Replaces the infos of all agents by one flat dict of means.

    Each name is averaged over the agents that have it. Nested dicts become `outer/inner`; what is
    no single number is left out.
    """

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, dict[str, Any]]:
        """Begin an episode."""
        observations, infos = super().reset(seed, options)
        return observations, mean_over_agents(infos)

    def step(self, actions: ByAgent) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, dict[str, Any]]:
        """Step all agents."""
        *values, infos = super().step(actions)
        observations, rewards, terminated, truncated = values
        return observations, rewards, terminated, truncated, mean_over_agents(infos)


class PettingZooTruncatedWrapper(PettingZooWrapper):
    """Empties the infos of `reset`, for environments whose first infos have another form."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Begin an episode."""
        observations, _ = super().reset(seed, options)
        return observations, {agent: {} for agent in observations}


def mean_over_agents(infos: Mapping[str, Any]) -> dict[str, float]:
    """The mean of each number over the agents that have it."""
    values: dict[str, list[float]] = {}
    for info in infos.values():
        for name, value in _numbers(info, ""):
            values.setdefault(name, []).append(value)
    return {name: float(np.mean(numbers)) for name, numbers in values.items()}


def _numbers(info: Any, prefix: str) -> Iterator[tuple[str, float]]:
    if not isinstance(info, Mapping):
        return
    for key, value in info.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{name}/")
        elif isinstance(value, (bool, int, float, np.generic)) or (
            isinstance(value, np.ndarray) and value.ndim == 0
        ):
            array = np.asarray(value)
            if array.dtype.kind in "biuf":
                yield name, float(array)
