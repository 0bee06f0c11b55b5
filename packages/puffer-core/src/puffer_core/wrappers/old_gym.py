"""Environments of the old gym interface that use Gymnasium's spaces."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium

from puffer_core.errors import APIUsageError


class GymToGymnasium(gymnasium.Env[Any, Any]):
    """An environment whose `reset` returns an observation and whose `step` returns four values.

    `done` becomes `truncated` where the info says `TimeLimit.truncated`, else `terminated`. A
    seed goes to `reset(seed=...)`, or to `seed(...)` where `reset` does not take one.

    For environments with spaces of the `gym` package use `shimmy`, which converts them.
    """

    def __init__(self, env: Any) -> None:
        """Wrap an environment.

        Raises:
            APIUsageError: Its spaces are not Gymnasium's.
        """
        for name in ("observation_space", "action_space"):
            space = getattr(env, name, None)
            if not isinstance(space, gymnasium.Space):
                raise APIUsageError(
                    f"GymToGymnasium: {name} must be a space of Gymnasium, got "
                    f"{type(space).__module__}.{type(space).__name__}. For spaces of gym use "
                    "shimmy: https://shimmy.farama.org"
                )
        self.env = env
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.metadata = dict(getattr(env, "metadata", None) or {})
        self.render_mode = getattr(env, "render_mode", None)
        parameters = inspect.signature(env.reset).parameters.values()
        self._reset_takes_seed = any(
            parameter.name == "seed" or parameter.kind is parameter.VAR_KEYWORD
            for parameter in parameters
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Raises:
            APIUsageError: A seed or options that the environment does not take.
        """
        if options:
            raise APIUsageError(f"The old gym interface has no reset options, got {options!r}.")
        if seed is None:
            return self.env.reset(), {}
        if self._reset_takes_seed:
            return self.env.reset(seed=seed), {}
        if not callable(getattr(self.env, "seed", None)):
            raise APIUsageError(
                f"{type(self.env).__name__} takes no seed: give reset() a keyword seed, or the "
                "class a method seed(seed)."
            )
        self.env.seed(seed)
        return self.env.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step.

        Raises:
            APIUsageError: The environment does not return four values.
        """
        result = self.env.step(action)
        if not (isinstance(result, tuple) and len(result) == 4):
            raise APIUsageError(
                "GymToGymnasium: step must return (observation, reward, done, info), got "
                f"{result!r:.80}."
            )
        observation, reward, done, info = result
        truncated = bool(done and info.get("TimeLimit.truncated", False))
        return observation, float(reward), bool(done) and not truncated, truncated, info

    def render(self) -> Any:
        """Draw the environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment, if it can be closed."""
        close = getattr(self.env, "close", None)
        if close is not None:
            close()
