"""EmulatedEnv: a PufferEnv that stands for a foreign environment with any fixed-size spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from puffer_core.actions import action_decoder
from puffer_core.env import PufferEnv
from puffer_core.flatten import row_writer
from puffer_core.layout import Layout
from puffer_core.spaces import Space, equal, is_below


class EmulatedEnv(PufferEnv):
    """Base of the wrappers: flat spaces, buffers, and the ways in and out of them.

    Attributes:
        layout: How an observation lies in memory.
        obs_dtype: What un-flattens observations, `observations.view(obs_dtype)`: structured for
            Dict and Tuple, else the dtype of an element.
        obs_struct: The observations as what they hold, a view: structured `(N,)`, or
            `(N, *leaf shape)`.
        atn_dtype: dtype of the actions, int32 or that of the Box.
        is_obs_emulated: The flat observation space is not the wrapped environment's.
        is_atn_emulated: The flat action space is not the wrapped environment's.
        emulated: `{"observation_dtype", "emulated_observation_dtype"}`: the dtype of the flat
            observations, and that of the layout.
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        num_agents: int,
        buf: Mapping[str, NDArray[Any]] | None,
        strict: bool,
        path: str = "observation",
    ) -> None:
        """Flatten the spaces and adopt the buffers.

        Args:
            observation_space: One agent's space in the wrapped environment.
            action_space: One agent's space in the wrapped environment.
            num_agents: N.
            buf: Buffers to adopt; None allocates private ones.
            strict: Refuse observations outside the bounds of their Box spaces.
            path: Name of an observation in messages.

        Raises:
            APIUsageError: A space that is not supported, or a buffer that does not fit.
        """
        self.layout = Layout(observation_space, path)
        self.single_observation_space = self.layout.flat_space
        self.single_action_space, self._decode = action_decoder(action_space)
        self._discrete = action_space if isinstance(action_space, Discrete) else None
        self.num_agents = num_agents
        self.is_obs_emulated = self.single_observation_space is not observation_space
        self.is_atn_emulated = not equal(self.single_action_space, action_space)
        self.obs_dtype: np.dtype[Any] = self.layout.dtype.base
        self.emulated = {
            "observation_dtype": np.dtype(self.single_observation_space.dtype),
            "emulated_observation_dtype": self.layout.dtype,
        }
        if self.is_obs_emulated and self.layout.dtype.shape == () and not self.layout.children:
            # A lone Discrete, whose flat observation has a shape, unlike a Box of shape ().
            self.emulated["emulated_observation_dtype"] = np.dtype((self.obs_dtype, (1,)))
        super().__init__(buf)
        self.atn_dtype: np.dtype[Any] = self.actions.dtype
        self.obs_struct = self.layout.view(self.observations)
        # [i, ...] and not [i]: for a Box of shape () the latter is a number and no view.
        self._writers = [
            row_writer(self.layout, self.observations[i, ...], strict) for i in range(num_agents)
        ]

    def decode_actions(self, actions: NDArray[Any]) -> list[Any]:
        """Decode rows of an action buffer, of this environment and others of the same spaces.

        Args:
            actions: `(n,)`, `(n, K)` or `(n, *box)`.

        Returns:
            n actions as the wrapped environments expect them.

        Raises:
            APIUsageError: An action outside the space.
        """
        if self._discrete is not None and is_below(actions, self._discrete.n):
            first = int(self._discrete.start)
            # int64 before it is added: what fits the buffer may not fit with it.
            actions = actions if first == 0 else actions.astype(np.int64) + first
            numbers: list[Any] = actions.tolist()
            return numbers
        return [self._decode(row) for row in actions]


def dtype_from_space(space: Space) -> np.dtype[Any]:
    """Return the numpy dtype of a value: structured for Dict and Tuple, else of an element."""
    return Layout(space).dtype.base


def emulate_observation_space(space: Space) -> tuple[Space, np.dtype[Any]]:
    """Return the flat Box of an observation space, and the dtype that un-flattens it."""
    layout = Layout(space)
    return layout.flat_space, layout.dtype.base


def emulate_action_space(space: Space) -> tuple[Space, np.dtype[Any]]:
    """Return the flat space of an action space, and the dtype of its buffer."""
    flat = action_decoder(space)[0]
    dtype = flat.dtype if isinstance(flat, gymnasium.spaces.Box) else np.int32
    return flat, np.dtype(dtype)
