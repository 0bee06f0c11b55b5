"""PettingZooPufferEnv: a PettingZoo environment as a PufferEnv with a row for every agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.agents import (
    check_actions,
    check_known,
    common_spaces,
    parallel,
    possible_agents,
    value_of,
)
from puffer_core.emulated import EmulatedEnv
from puffer_core.env import StepResult
from puffer_core.errors import APIUsageError
from puffer_core.wrapped import describe, flag, make_object, number, reset_arguments


class PettingZooPufferEnv(EmulatedEnv):
    """A PettingZoo environment, each of whose possible agents owns a row of flat buffers.

    Row i belongs to `possible_agents[i]`, whatever agents live and in whatever order dicts come.
    Spaces are those of `GymnasiumPufferEnv`, and the same for all agents. An AEC environment is
    converted with PettingZoo's own `aec_to_parallel`, where that is valid.

    What a row holds after a step:

    | the agent                | observation | reward | flags   | mask  |
    |--------------------------|-------------|--------|---------|-------|
    | acted and lives          | its own     | its    | False   | True  |
    | acted and ended          | its last    | its    | as told | True  |
    | is born in this step     | its first   | 0      | False   | False |
    | ended before, or unborn  | 0           | 0      | False   | False |

    After a reset the mask tells who is there. An agent that ended may be born again. One whose
    flag is set has ended, whether or not the environment still lists it in `agents`.

    The wrapper does not reset itself: when no agent lives any more `done` is True, and the
    caller calls `reset`. Vectorizers do.

    Attributes:
        env: The wrapped parallel environment, never modified.
        metadata: A copy of its metadata.
        possible_agents: Its agents, in the order of the rows.
    """

    def __init__(
        self,
        env: Any = None,
        env_creator: Callable[..., Any] | None = None,
        env_args: Sequence[Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        buf: Mapping[str, NDArray[Any]] | None = None,
        seed: int | None = 0,
        strict: bool = False,
    ) -> None:
        """Wrap an environment, or make one and wrap it.

        Args:
            env: The environment, parallel or AEC; exactly one of `env` and `env_creator`.
            env_creator: Called as `env_creator(*env_args, **env_kwargs)`.
            env_args: Positional arguments of the creator.
            env_kwargs: Keyword arguments of the creator.
            buf: Buffers of all possible agents to adopt; None allocates private ones.
            seed: Seed of the first `reset` that is given none; None leaves it unseeded.
            strict: Refuse observations outside the bounds of their Box spaces.

        Raises:
            APIUsageError: No PettingZoo environment, an AEC one whose agents take turns, agents
                with different spaces, or a space that is not supported.
        """
        self.env = parallel(make_object(env, env_creator, env_args, env_kwargs))
        self.metadata = dict(getattr(self.env, "metadata", None) or {})
        self.possible_agents = possible_agents(self.env)
        self._row = {agent: i for i, agent in enumerate(self.possible_agents)}
        observation_space, action_space = common_spaces(self.env, self.possible_agents)
        super().__init__(observation_space, action_space, len(self._row), buf, strict)
        self._alive: set[Any] = set()  # agents whose next action counts
        self._seed = seed
        self._started = False

    @property
    def agents(self) -> list[Any]:
        """The agents whose next action counts, in the order of the rows."""
        return [agent for agent in self.possible_agents if agent in self._alive]

    @property
    def render_mode(self) -> str | None:
        """The wrapped environment's render mode."""
        return getattr(self.env, "render_mode", None)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], list[dict[Any, Any]]]:
        """Begin an episode.

        Args:
            seed: Given to the environment. None continues its random stream; in the first reset
                it means the constructor's `seed`.
            options: Given to the environment unless None.

        Returns:
            Observations `(N, *obs)`, the live buffer, and a list of at most one dict, the
            infos of those agents that have one.

        Raises:
            APIUsageError: The environment returned something else than it declares. Its own
                errors pass through.
        """
        if seed is None and not self._started:
            seed = self._seed
        result = self.env.reset(**reset_arguments(seed, options))
        if not (isinstance(result, tuple) and len(result) == 2):
            raise APIUsageError(
                f"reset: expected (observations, infos), got {describe(result)}. The environment "
                "needs an API of PettingZoo 1.23 or newer."
            )
        observations, infos = result
        check_known(observations, self._row, "observations")
        self._clear()
        self._alive = self._listed()
        for agent in self._alive:
            self._write(agent, observations)
            self.masks[self._row[agent]] = True
        self._started, self.done = True, not self._alive
        if self.done:
            raise APIUsageError("reset: env.agents is empty, nobody can act.")
        return self.observations, _some(infos)

    def step(self, actions: Any) -> StepResult:
        """Advance the environment by one action of each living agent.

        Args:
            actions: One row for every possible agent, `(N,)`, `(N, K)` or `(N, *box)`; or a dict
                of such rows by agent, with all living ones. Actions of agents that do not live
                have no effect, and may be None in the dict.

        Returns:
            Observations `(N, *obs)`, rewards `(N,)` float32, terminals `(N,)` and truncations
            `(N,)` bool, the live buffers, and a list of at most one dict, the infos of those
            agents that have one.

        Raises:
            APIUsageError: Before `reset`, after the end of an episode, an action outside the
                space, or a result other than declared.
            InvalidAgentError: An agent that is not in `possible_agents`.
        """
        if not self._started:
            raise APIUsageError("step: call reset() first.")
        if self.done:
            raise APIUsageError("step: the episode is over, call reset() first.")
        rows = check_actions(actions, self._row, self._alive, self.num_agents)
        # The environment may still list agents that have ended; they get no action.
        result = self.env.step({agent: self._decode(rows(agent)) for agent in self.agents})
        if not (isinstance(result, tuple) and len(result) == 5):
            raise APIUsageError(
                "step: expected (observations, rewards, terminations, truncations, infos), got "
                f"{describe(result)}. The environment needs an API of PettingZoo 1.23 or newer."
            )
        observations, rewards, terminations, truncations, infos = result
        check_known(observations, self._row, "observations")
        check_known(rewards, self._row, "rewards")
        check_known(terminations, self._row, "terminations")
        check_known(truncations, self._row, "truncations")
        self._clear()
        acted, listed = self._alive, self._listed()
        for agent in acted:
            row = self._row[agent]
            self._write(agent, observations)
            self.rewards[row] = number(value_of(rewards, agent, "rewards"), f"rewards[{agent!r}]")
            self.terminals[row] = _flag(terminations, agent, "terminations")
            self.truncations[row] = _flag(truncations, agent, "truncations")
            self.masks[row] = True
        ended = {agent for agent in acted if self._ended(agent)}
        self._check_left(acted - ended - listed)
        # Listed without having acted: born in this step, unless it is a dead one still listed.
        born = {
            agent
            for agent in listed - acted
            if not any(flags.get(agent, False) for flags in (terminations, truncations))
        }
        for agent in born:
            self._write(agent, observations)
        self._alive = (acted - ended) | born
        self.done = not self._alive
        return self.observations, self.rewards, self.terminals, self.truncations, _some(infos)

    def render(self) -> Any:
        """Draw the wrapped environment, as its render mode says."""
        return self.env.render()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.env.close()

    def _clear(self) -> None:
        for array in (self.observations, self.rewards, self.terminals, self.truncations):
            array.fill(0)
        self.masks.fill(False)

    def _listed(self) -> set[Any]:
        check_known(self.env.agents, self._row, "env.agents")
        return set(self.env.agents)

    def _write(self, agent: Any, observations: Mapping[Any, Any]) -> None:
        row = self._row[agent]
        try:
            self._writers[row](value_of(observations, agent, "observations"))
        except APIUsageError as error:
            if repr(agent) in error.message:
                raise
            raise APIUsageError(f"agent {agent!r}: {error.message}") from None

    def _ended(self, agent: Any) -> bool:
        row = self._row[agent]
        if not (self.terminals[row] or self.truncations[row]):
            return False
        np.copyto(self.final_observations[row, ...], self.observations[row, ...])
        return True

    def _check_left(self, left: set[Any]) -> None:
        if left:
            raise APIUsageError(
                f"agents {sorted(map(str, left))} left env.agents without a termination or "
                "truncation: set one of them in the step in which an agent ends."
            )


def _flag(flags: Mapping[Any, Any], agent: Any, name: str) -> bool:
    return flag(value_of(flags, agent, name), f"{name}[{agent!r}]")


def _some(infos: Any) -> list[dict[Any, Any]]:
    """Return the infos that say something, in a list as PufferEnv has it."""
    if not isinstance(infos, Mapping):
        raise APIUsageError(f"infos: expected a dict by agent, got {describe(infos)}.")
    some = {agent: info for agent, info in infos.items() if info}
    return [some] if some else []
