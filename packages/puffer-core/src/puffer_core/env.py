"""PufferEnv: an environment of one or more agents that writes into given buffers."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core import buffers, spaces
from puffer_core.errors import APIUsageError

StepResult: TypeAlias = (
    "tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Any]"
)


class PufferEnv:
    """Base class of native environments: N agents, rows of flat buffers, written in place.

    A subclass sets `single_observation_space` (Box), `single_action_space` (Discrete,
    MultiDiscrete or Box) and `num_agents`, then calls `super().__init__(buf)`. To run under a
    vectorizer its constructor takes the keywords `buf=None` and `seed=0`.

    `step` writes `observations`, `rewards`, `terminals`, `truncations` and, where agents come and
    go, `masks`. It never rebinds them: a new array is not the vectorizer's. When an agent's
    episode ends, `step` sets `terminals` or `truncations`, writes the true last observation to
    `final_observations` and the first one of the next episode to `observations`.

    Attributes:
        observations: `(N, *obs)`, dtype of the space.
        rewards: `(N,)` float32.
        terminals: `(N,)` bool, the MDP ended in this step.
        truncations: `(N,)` bool, the episode was cut from outside in this step.
        masks: `(N,)` bool, the agent acted in this step.
        actions: `(N,)` or `(N, K)` int32, or `(N, *box)` in the Box's dtype.
        final_observations: Like `observations`; only rows that ended have a meaning.
        action_masks: `(N, choices of all heads)` bool, True: the choice is allowed in the next
            step; written by `reset` and `step`. None unless `has_action_masks`.
        agent_ids: `(N,)` int64, 0 to N-1.
        driver_env: The environment itself.
        emulated: False; for wrappers, which leave the reset to their caller, the dtypes of their
            observations (`puffer_core.emulated`).
        done: False; wrappers set it when an episode is over.
        has_action_masks: False; set it before `super().__init__` to offer `action_masks`.
        logs_episodes: True when infos already carry episode statistics, so that the vectorizer
            does not count again.
    """

    single_observation_space: gymnasium.spaces.Box
    single_action_space: spaces.Space
    num_agents: int
    has_action_masks: bool = False
    emulated: bool | Mapping[str, Any] = False
    done: bool = False
    logs_episodes: ClassVar[bool] = False

    def __init__(self, buf: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Check the subclass's attributes and adopt the buffers.

        Args:
            buf: Arrays as `puffer_core.buffers` describes them; None allocates private ones.

        Raises:
            APIUsageError: An attribute is missing, wrong or forbidden, or a buffer does not fit.
        """
        self._check_declaration()
        fields = buffers.layout(
            self.single_observation_space,
            self.single_action_space,
            self.num_agents,
            self.has_action_masks,
        )
        if buf is not None:
            buffers.check(buf, fields)
            fields = {name: field for name, field in fields.items() if name not in buf}
        bound: dict[str, NDArray[Any]] = {**(buf or {}), **buffers.allocate(fields)}
        self.observations = bound["observations"]
        self.rewards: NDArray[np.float32] = bound["rewards"]
        self.terminals: NDArray[np.bool_] = bound["terminals"]
        self.truncations: NDArray[np.bool_] = bound["truncations"]
        self.masks: NDArray[np.bool_] = bound["masks"]
        self.actions = bound["actions"]
        self.final_observations = bound["final_observations"]
        self.action_masks: NDArray[np.bool_] | None = (
            bound["action_masks"] if self.has_action_masks else None
        )
        self.agent_ids: NDArray[np.int64] = np.arange(self.num_agents)
        self.driver_env = self

    def _check_declaration(self) -> None:
        name = type(self).__name__
        for attribute in ("single_observation_space", "single_action_space", "num_agents"):
            if not hasattr(self, attribute):
                raise APIUsageError(
                    f"{name} has no {attribute}: set it before super().__init__(buf)."
                )
        try:
            self.num_agents = operator.index(self.num_agents)
        except TypeError:
            raise APIUsageError(
                f"{name}.num_agents must be an int, got {self.num_agents!r}."
            ) from None
        if self.num_agents < 1:
            raise APIUsageError(f"{name}.num_agents must be at least 1, got {self.num_agents}.")
        for attribute in ("observation_space", "action_space"):
            inherited = getattr(type(self), attribute) is PufferEnv.__dict__[attribute]
            if not inherited or attribute in self.__dict__:
                raise APIUsageError(
                    f"{name} defines {attribute}, which PufferEnv derives: define "
                    f"single_{attribute}, the space of one agent, instead."
                )
        spaces.check_observation_space(self.single_observation_space)
        spaces.check_action_space(self.single_action_space)

    # Built on first use: for thousands of image observations the bounds take gigabytes.
    @cached_property
    def observation_space(self) -> spaces.Space:
        """The joint space of all agents' observations, shape `(N, *obs)`."""
        return spaces.joint_space(self.single_observation_space, self.num_agents)

    @cached_property
    def action_space(self) -> spaces.Space:
        """The joint space of all agents' actions, as `puffer_core.spaces.joint_space` says."""
        return spaces.joint_space(self.single_action_space, self.num_agents)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Any]:
        """Begin new episodes for all agents; to be written by the subclass.

        Args:
            seed: Seed of the environment's random stream; None continues it.

        Returns:
            `(self.observations, infos)`, infos a list of dicts.
        """
        raise NotImplementedError(f"{type(self).__name__} must define reset(seed=None).")

    def step(self, actions: NDArray[Any]) -> StepResult:
        """Advance all agents by one step; to be written by the subclass.

        Args:
            actions: One row an agent, laid out like `self.actions`.

        Returns:
            `(observations, rewards, terminals, truncations, infos)`, the buffers and a list of
            dicts.
        """
        raise NotImplementedError(f"{type(self).__name__} must define step(actions).")

    def render(self) -> Any:
        """Draw the environment; optional, to be written by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define render().")

    def close(self) -> None:
        """Free what the environment holds; nothing by default."""
