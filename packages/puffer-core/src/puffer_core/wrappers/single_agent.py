"""Wrappers of Gymnasium environments: statistics of episodes, smaller pictures."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError


class EpisodeStats(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds `episode_return` and `episode_length` to the info of the step that ends an episode.

    The return is the sum of the rewards as the environment gave them. All infos of the
    environment pass through unchanged, at every step.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._return = 0.0
        self._length = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and its statistics."""
        self._return, self._length = 0.0, 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and count it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        self._length += 1
        if terminated or truncated:
            statistics = {"episode_return": self._return, "episode_length": self._length}
            info = {**info, **statistics}
        return observation, reward, terminated, truncated, info


class ResizeObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Keeps every `downscale`-th row and column of a picture, `(H, W)` or `(H, W, channels)`.

    The dtype stays, and the bounds are those of the pixels that are kept.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], downscale: int = 2) -> None:
        """Wrap an environment.

        Args:
            env: Its observations are a `Box` of 2 or 3 axes.
            downscale: A whole number that divides height and width.

        Raises:
            APIUsageError: The space or the number does not fit.
        """
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) not in (2, 3):
            raise APIUsageError(
                f"ResizeObservation needs a Box of shape (height, width) or (height, width, "
                f"channels), got {space}."
            )
        if downscale < 1 or space.shape[0] % downscale or space.shape[1] % downscale:
            raise APIUsageError(
                f"downscale must be a whole number that divides height and width of "
                f"{space.shape[:2]}, got {downscale}."
            )
        self.downscale = downscale
        self.observation_space = gymnasium.spaces.Box(
            self.observation(space.low), self.observation(space.high), dtype=space.low.dtype.type
        )

    def observation(self, observation: NDArray[Any]) -> NDArray[Any]:
        """The smaller picture, a copy."""
        return np.ascontiguousarray(observation[:: self.downscale, :: self.downscale])
