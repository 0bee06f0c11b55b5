"""SB3VecEnv: our vectorizers as a Stable-Baselines3 `VecEnv`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_vector import control, modes
from puffer_vector.base import VecEnv
from puffer_vector.infos import split

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv as Base
except ImportError as error:
    raise ImportError(
        "puffer_vector.adapters.sb3 needs Stable-Baselines3: pip install 'puffer-vector[sb3]'."
    ) from error

Array = NDArray[Any]
Indices = int | Sequence[int] | None


class SB3VecEnv(Base):
    """Any of our vectorizers as the `VecEnv` of Stable-Baselines3, one row per sub-environment.

    `infos` hold what `Monitor` and `DummyVecEnv` give: `episode` with `r`, `l` and `t`,
    `terminal_observation` and `TimeLimit.truncated`; `reset_infos` the infos of resets. The spaces
    are the flat ones of our vectorizer, and actions count from 0.

    The environments have one agent each, or agents that are independent copies (C environments
    with `num_envs`), with one row per copy.

    Attributes:
        vecenv: The vectorizer, which belongs to this object from now on.
    """

    def __init__(self, vecenv: VecEnv) -> None:
        """Wrap a vectorizer whose batches hold all environments.

        Args:
            vecenv: What `puffer_vector.make` returned.

        Raises:
            APIUsageError: It is none, its batches are smaller, or its environments are held in
                another autoreset mode.
        """
        self.vecenv = modes.check_whole(vecenv, "SB3VecEnv")
        if vecenv.metadata["autoreset_mode"] != "SAME_STEP":
            raise APIUsageError("SB3VecEnv: the vectorizer must be in SAME_STEP mode.")
        self._agents = vecenv.num_agents // vecenv.num_envs
        self._began = time.perf_counter()
        self._held = False
        super().__init__(
            vecenv.num_agents, vecenv.single_observation_space, vecenv.single_action_space
        )
        self.metadata = dict(vecenv.metadata)

    def reset(self) -> Array:
        """Begin new episodes everywhere and return the observations `(num_envs, *obs)`.

        The seeds of `seed` and the options of `set_options` serve once.
        """
        if any(self._options):
            if not self._held:
                modes.hold(self.vecenv, "SAME_STEP")
                self._held = True
            each = self._options[:: self._agents]
            modes.set_options(self.vecenv, [options or None for options in each])
        seeds = self._seeds[:: self._agents]
        observations, infos = self.vecenv.reset(None if seeds[0] is None else seeds)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for info in split(infos)[0]:
            for row in self._rows(info.env):
                self.reset_infos[row].update(info)
        first: Array = observations.copy()
        return first

    def step_async(self, actions: Array) -> None:
        """Begin a step with one action per environment."""
        self.vecenv.send(actions)

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Finish the step.

        Returns:
            Observations `(num_envs, *obs)`, rewards float32 and dones bool `(num_envs,)`, and a
            list of `num_envs` dicts.

        Raises:
            APIUsageError: An agent died before its environment's episode ended.
        """
        observations, rewards, terminals, truncations, infos, _, masks = self.vecenv.recv()
        if not masks.all():
            raise APIUsageError("Agents that come and go have no place in SB3's VecEnv.")
        dones = terminals | truncations
        limits = (truncations & ~terminals).tolist()
        told: list[dict[str, Any]] = [{"TimeLimit.truncated": limit} for limit in limits]
        for row in np.flatnonzero(dones).tolist():
            told[row]["terminal_observation"] = self.vecenv.final_observations[row].copy()
            self.reset_infos[row] = {}
        if infos:
            self._sort(infos, told)
        return observations.copy(), rewards.copy(), dones, told

    def _sort(self, infos: list[dict[str, Any]], told: list[dict[str, Any]]) -> None:
        singles, ended = split(infos)
        for info in singles:
            for row in self._rows(info.env):
                (self.reset_infos if info.began else told)[row].update(info)
        seconds = round(time.perf_counter() - self._began, 6)
        for columns in ended:
            lists = {key: array.tolist() for key, array in columns.items()}
            rows, returns = lists.pop("agent_id"), lists.pop("episode_return")
            lengths = lists.pop("episode_length")
            for k, row in enumerate(rows):
                told[row]["episode"] = {"r": returns[k], "l": lengths[k], "t": seconds}
                told[row].update({key: values[k] for key, values in lists.items()})

    def _rows(self, env: int) -> range:
        return range(env * self._agents, (env + 1) * self._agents)

    def close(self) -> None:
        """Close the vectorizer."""
        self.vecenv.close()

    def get_images(self) -> list[Any]:
        """The pictures of all environments; call it between steps."""
        return self.env_method("render")

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Read an attribute of environments; the values must be picklable for worker processes.

        Raises:
            AttributeError: An environment has none of this name.
        """
        if attr_name == "render_mode":  # asked of all; native environments need not have one
            mode = getattr(self.vecenv.driver_env, "render_mode", None)
            return [mode] * len(self._envs(indices))
        return self._call(indices, control.get_attribute, attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Write an attribute where the environment has it."""
        self._call(indices, control.set_attribute, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of environments, between steps, and return the results."""
        return self._call(indices, control.call_method, method_name, method_args, method_kwargs)

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Tell which environments are wrapped in a class.

        Always True for SB3's `Monitor`: it asks for the `episode` infos that the vectorizer gives.
        """
        if wrapper_class is Monitor:
            return [True] * len(self._envs(indices))
        return self._call(indices, control.is_wrapped, wrapper_class)

    def _envs(self, indices: Indices) -> list[int]:
        rows = list(self._get_indices(indices))
        return [row // self._agents for row in rows]

    def _call(self, indices: Indices, function: control.Function, *arguments: Any) -> list[Any]:
        envs = self._envs(indices)
        distinct = sorted({*envs})  # rows of one environment share its answer
        results = self.vecenv._call(distinct, function, *arguments)
        by_env = dict(zip(distinct, results, strict=True))
        return [by_env[env] for env in envs]
