"""Held: an environment that waits after the end of an episode, as Gymnasium's other modes do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.env import PufferEnv, StepResult
from puffer_core.errors import APIUsageError

MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")


class Held(PufferEnv):
    """Stands in an `EnvGroup` for an environment of one agent and decides when episodes begin.

    - `SAME_STEP`: nothing is held.
    - `NEXT_STEP`: the step that ends an episode shows its last observation. The next one ignores
      its action and shows the first observation of the next episode, with reward 0, no flags and
      mask off, since nobody acted.
    - `DISABLED`: a step after the end is an error; `begin` starts the next episode.

    A native environment has begun the next episode when its step returns; its first observation
    is kept back until it is due, so that its random stream is the same in every mode.
    """

    def __init__(self, env: PufferEnv, mode: str) -> None:
        """Stand in for `env`, whose buffers stay the ones it writes."""
        self.env = env
        self.mode = mode
        self.options: dict[str, Any] | None = None  # of the next reset only
        self.emulated = env.emulated or mode != "SAME_STEP"
        self._over = False
        self._idle = False  # the last step only began an episode
        self._first: NDArray[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in ("get_state", "set_state") and self.mode != "SAME_STEP":
            raise AttributeError(name)  # the environment's own would forget what is kept back
        return getattr(self.__dict__["env"], name)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Any]:
        """Begin an episode, whatever the state of the last one."""
        options, self.options = self.options, None
        self._over = self._idle = False
        self._first = None
        if options is not None:
            result = self.env.reset(seed=seed, options=options)  # type: ignore[call-arg]
        else:  # no argument without a seed: users write reset(self, seed=0) as well
            result = self.env.reset() if seed is None else self.env.reset(seed)
        self.done = False
        return result

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        """Begin an episode between two steps, clear reward and flags, and return the info."""
        self.options = options
        info = self._continue() if seed is None and options is None else self.reset(seed)[1]
        self._clear()
        self.env.masks.fill(True)
        return info

    def step(self, actions: NDArray[Any]) -> StepResult:
        """Step, or, after the end of an episode, do what the mode says."""
        env = self.env
        if self._over:
            if self.mode == "DISABLED":
                raise APIUsageError("step: the episode is over, reset this environment first.")
            info = self._continue()
            self._clear()
            env.masks.fill(False)
            self._idle = True
            return env.observations, env.rewards, env.terminals, env.truncations, info
        if self._idle:
            env.masks.fill(True)
            self._idle = False
        result = env.step(actions)
        if self.mode == "SAME_STEP":
            self.done = env.done  # the group resets wrappers
        elif env.terminals[0] or env.truncations[0]:
            self._over = True
            if not env.emulated:
                self._first = env.observations.copy()
                np.copyto(env.observations, env.final_observations)
        return result

    def render(self) -> Any:
        """Draw the environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _continue(self) -> Any:
        """Show the first observation that was kept back, or reset; return the info."""
        if self._first is None:
            return self.reset()[1]
        np.copyto(self.env.observations, self._first)
        self._first, self._over = None, False
        return []

    def _clear(self) -> None:
        self.env.rewards.fill(0)
        self.env.terminals.fill(False)
        self.env.truncations.fill(False)
