"""GymnasiumPufferEnv: any Gymnasium environment as a PufferEnv of one agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.actions import action_decoder
from puffer_core.copying import copy_checked
from puffer_core.env import PufferEnv, StepResult
from puffer_core.errors import APIUsageError


class GymnasiumPufferEnv(PufferEnv):
    """A Gymnasium environment whose observations land in a row of flat buffers.

    Observation spaces: `Box` of any dtype and shape, passed through; `Discrete(n, start)`, as an
    int64 `Box` of shape `(1,)` that holds the value itself. Action spaces: `Discrete`,
    `MultiDiscrete` and `MultiBinary` of any shape and `start`, as choices counted from 0; `Box`,
    clipped to its bounds on the way in. Other spaces are refused when wrapping.

    The wrapper does not reset itself: after a step that ends the episode `done` is True, the
    buffers hold the true last observation, and the caller calls `reset`. Vectorizers do.

    Attributes:
        env: The wrapped environment, never modified.
        metadata: A copy of its metadata.
    """

    emulated = True

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | None = None,
        env_creator: Callable[..., gymnasium.Env[Any, Any]] | None = None,
        env_args: Sequence[Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        buf: Mapping[str, NDArray[Any]] | None = None,
        seed: int | None = 0,
    ) -> None:
        """Wrap an environment, or make one and wrap it.

        Args:
            env: The environment; exactly one of `env` and `env_creator`.
            env_creator: Called as `env_creator(*env_args, **env_kwargs)`.
            env_args: Positional arguments of the creator.
            env_kwargs: Keyword arguments of the creator.
            buf: Buffers of one agent to adopt; None allocates private ones.
            seed: Seed of the first `reset` that is given none; None leaves it unseeded.

        Raises:
            APIUsageError: No Gymnasium environment, or a space that is not supported.
        """
        self.env = _make_env(env, env_creator, env_args or (), env_kwargs or {})
        self.metadata = dict(self.env.metadata)
        space = self.env.observation_space
        self._discrete = space if isinstance(space, gymnasium.spaces.Discrete) else None
        self.single_observation_space = _flat_observation_space(space)
        self.single_action_space, self._decode = action_decoder(self.env.action_space)
        self.num_agents = 1
        super().__init__(buf)
        # [0, ...] and not [0]: for a Box of shape () the latter is a number and no view.
        self._row = self.observations[0, ...]
        self._seed = seed
        self._started = False

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
        arguments: dict[str, Any] = {} if seed is None else {"seed": seed}
        if options is not None:
            arguments["options"] = options
        result = self.env.reset(**arguments)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise APIUsageError(
                "reset: expected (observation, info), got "
                f"{_describe(result)}. Convert environments of the old gym API with shimmy: "
                "https://shimmy.farama.org"
            )
        observation, info = result
        self._write(observation)
        self.rewards.fill(0)
        self.terminals.fill(False)
        self.truncations.fill(False)
        self.masks.fill(True)
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
        if not self._started:
            raise APIUsageError("step: call reset() first.")
        if self.done:
            raise APIUsageError("step: the episode is over, call reset() first.")
        result = self.env.step(self._decode(actions))
        if not (isinstance(result, tuple) and len(result) == 5):
            raise APIUsageError(
                "step: expected (observation, reward, terminated, truncated, info), got "
                f"{_describe(result)}. Convert environments of the old gym API with shimmy: "
                "https://shimmy.farama.org"
            )
        observation, reward, terminated, truncated, info = result
        self._write(observation)
        self.rewards[0] = _number(reward)
        self.terminals[0] = terminated
        self.truncations[0] = truncated
        self.done = bool(terminated or truncated)
        return self.observations, self.rewards, self.terminals, self.truncations, info

    def render(self) -> Any:
        """Draw the wrapped environment, as its render mode says."""
        return self.env.render()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.env.close()

    def _write(self, observation: Any) -> None:
        if self._discrete is not None:
            if not self._discrete.contains(observation):
                raise APIUsageError(
                    f"observation: expected a value of {self._discrete}, got {observation!r:.80}."
                )
            observation = np.reshape(observation, (1,))
        copy_checked(self._row, observation, "observation")


def _make_env(
    env: object,
    env_creator: Callable[..., object] | None,
    env_args: Sequence[Any],
    env_kwargs: Mapping[str, Any],
) -> gymnasium.Env[Any, Any]:
    if (env is None) == (env_creator is None):
        raise APIUsageError("Give exactly one of env and env_creator.")
    if env_creator is not None:
        if not callable(env_creator):
            raise APIUsageError(f"env_creator must be callable, got {_describe(env_creator)}.")
        env = env_creator(*env_args, **env_kwargs)
    if not isinstance(env, gymnasium.Env):
        raise APIUsageError(
            f"Expected an instance of gymnasium.Env, got {_describe(env)}. Give a class or "
            "function as env_creator; convert old gym environments with shimmy."
        )
    return env


def _flat_observation_space(space: object) -> gymnasium.spaces.Box:
    if isinstance(space, gymnasium.spaces.Box):
        return space
    if isinstance(space, gymnasium.spaces.Discrete):
        last = int(space.start + space.n - 1)
        return gymnasium.spaces.Box(int(space.start), last, (1,), np.int64)
    raise APIUsageError(
        f"observation_space: {type(space).__name__} is not supported, only Box and Discrete. "
        "gymnasium.wrappers.FlattenObservation makes a Box of most spaces."
    )


def _number(reward: Any) -> float:
    if isinstance(reward, float):  # np.float64 is one too
        return reward
    value = np.asarray(reward)
    if value.size != 1 or value.dtype.kind not in "biuf":
        raise APIUsageError(f"reward: expected one number, got {_describe(reward)}.")
    return float(value.item())


def _describe(value: object) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return value.__name__ + " (a class)" if isinstance(value, type) else f"{value!r:.80}"
