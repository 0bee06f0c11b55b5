"""GymnasiumPufferEnv: any Gymnasium environment as a PufferEnv of one agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.emulated import EmulatedEnv
from puffer_core.env import StepResult
from puffer_core.errors import APIUsageError
from puffer_core.wrapped import (
    FLOAT32_MAX,
    OLD_API,
    describe,
    flag,
    make_object,
    number,
    reset_arguments,
)

LOWEST = -FLOAT32_MAX


class GymnasiumPufferEnv(EmulatedEnv):
    """A Gymnasium environment whose observations land in a row of flat buffers.

    Every space of a fixed size works, nested at any depth: `puffer_core.layout` says how
    observations lie in memory, `puffer_core.actions` what actions a policy gives. Other spaces
    are refused when wrapping.

    The wrapper does not reset itself: after a step that ends the episode `done` is True, the
    buffers hold the true last observation, and the caller calls `reset`. Vectorizers do.

    Attributes:
        env: The wrapped environment, never modified.
        metadata: A copy of its metadata.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | None = None,
        env_creator: Callable[..., gymnasium.Env[Any, Any]] | None = None,
        env_args: Sequence[Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        buf: Mapping[str, NDArray[Any]] | None = None,
        seed: int | None = 0,
        strict: bool = False,
    ) -> None:
        """Wrap an environment, or make one and wrap it.

        Args:
            env: The environment; exactly one of `env` and `env_creator`.
            env_creator: Called as `env_creator(*env_args, **env_kwargs)`.
            env_args: Positional arguments of the creator.
            env_kwargs: Keyword arguments of the creator.
            buf: Buffers of one agent to adopt; None allocates private ones.
            seed: Seed of the first `reset` that is given none; None leaves it unseeded.
            strict: Refuse observations outside the bounds of their Box spaces.

        Raises:
            APIUsageError: No Gymnasium environment, or a space that is not supported.
        """
        self.env = _checked(make_object(env, env_creator, env_args, env_kwargs))
        self.metadata = dict(self.env.metadata)
        super().__init__(self.env.observation_space, self.env.action_space, 1, buf, strict)
        self._write = self._writers[0]
        # A plain Box is copied where it arrives: a call would cost more than the copy.
        plain = self.single_observation_space is self.env.observation_space and not strict
        self._row = self.observations[0, ...]
        self._shape = self._row.shape if plain else None
        self._dtype = self._row.dtype
        self._seed = seed
        self._started = False
        self.done = True

    @property
    def render_mode(self) -> str | None:
        """The wrapped environment's render mode."""
        return self.env.render_mode

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Given to the environment. None continues its random stream; in the first reset
                it means the constructor's `seed`.
            options: Given to the environment unless None.

        Returns:
            Observations `(1, *obs)`, the live buffer, and the environment's info.

        Raises:
            APIUsageError: The environment returned something else than it declares. Its own
                errors pass through.
        """
        if seed is None and not self._started:
            seed = self._seed
        result = self.env.reset(**reset_arguments(seed, options))
        if not (isinstance(result, tuple) and len(result) == 2):
            raise APIUsageError(
                f"reset: expected (observation, info), got {describe(result)}. {OLD_API}"
            )
        observation, info = result
        self._write(observation)
        self.rewards[0] = 0
        self.terminals[0] = False
        self.truncations[0] = False
        self.masks[0] = True
        self._started, self.done = True, False
        return self.observations, info

    def step(self, actions: Any) -> StepResult:
        """Advance the environment by one action.

        Args:
            actions: A row of the joint action space, `(1,)`, `(1, K)` or `(1, *box)`; also the
                action of one agent without the leading axis.

        Returns:
            Observations `(1, *obs)`, rewards `(1,)` float32, terminals `(1,)` and truncations
            `(1,)` bool, the live buffers, and the environment's info.

        Raises:
            APIUsageError: Before `reset`, after the end of an episode, an action outside the
                space, or a result other than declared.
        """
        reward, terminated, truncated, info = self.advance(self._decode(actions))
        self.rewards[0] = reward
        self.terminals[0] = terminated
        self.truncations[0] = truncated
        return self.observations, self.rewards, self.terminals, self.truncations, info

    def advance(self, action: Any) -> tuple[float, bool, bool, Any]:
        """Do what `step` does, but leave reward and flags to the caller, who writes many at once.

        Args:
            action: What the wrapped environment expects, as `decode_actions` returns it.

        Returns:
            The checked reward, terminal and truncation flag, and the environment's info.
        """
        if self.done:
            what = "the episode is over, " if self._started else ""
            raise APIUsageError(f"step: {what}call reset() first.")
        result: Any = self.env.step(action)
        try:
            if type(result) is not tuple and not isinstance(result, tuple):
                raise ValueError
            observation, reward, terminated, truncated, info = result
        except ValueError:
            raise APIUsageError(
                "step: expected (observation, reward, terminated, truncated, info), got "
                f"{describe(result)}. {OLD_API}"
            ) from None
        if (
            type(observation) is np.ndarray
            and observation.dtype is self._dtype
            and observation.shape == self._shape
        ):
            self._row[...] = observation
        else:
            self._write(observation)
        if not (type(reward) is float and LOWEST <= reward <= FLOAT32_MAX):
            reward = number(reward)
        if terminated is not True and terminated is not False:
            terminated = flag(terminated, "terminated")
        if truncated is not True and truncated is not False:
            truncated = flag(truncated, "truncated")
        self.done = terminated or truncated
        return reward, terminated, truncated, info

    def render(self) -> Any:
        """Draw the wrapped environment, as its render mode says."""
        return self.env.render()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.env.close()


def _checked(env: object) -> gymnasium.Env[Any, Any]:
    if not isinstance(env, gymnasium.Env):
        raise APIUsageError(
            f"Expected an instance of gymnasium.Env, got {describe(env)}. Give a class or "
            "function as env_creator; convert old gym environments with shimmy, and wrap "
            "PettingZoo environments with PettingZooPufferEnv."
        )
    return env
