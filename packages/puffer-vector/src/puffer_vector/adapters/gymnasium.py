"""GymnasiumVectorEnv: our vectorizers as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_vector import control, modes
from puffer_vector.base import VecEnv
from puffer_vector.infos import split

try:
    from gymnasium.vector import AutoresetMode
except ImportError as error:
    raise ImportError(
        "puffer_vector.adapters.gymnasium needs gymnasium >= 1.1, which has autoreset modes; this "
        f"is {gymnasium.__version__}. The vectorizers themselves work with 0.29 too."
    ) from error

Array = NDArray[Any]
VectorInfos = dict[str, Any]
OWN = ("agent_id", "episode_return", "episode_length")


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Any of our vectorizers as Gymnasium's vector environment, one row per sub-environment.

    Equal to `gymnasium.vector.SyncVectorEnv` of the same environments and seeds, but:
    the spaces are the flat ones of our vectorizer (actions count from 0); rewards went through
    float32; the first `reset` without a seed uses the one given to `make`.

    The environments have one agent each; in SAME_STEP also those whose agents are independent
    copies (C environments with `num_envs`), with one row per copy.

    Attributes:
        vecenv: The vectorizer, which belongs to this object from now on.
        autoreset_mode: `AutoresetMode.SAME_STEP`, `NEXT_STEP` or `DISABLED`.
    """

    def __init__(
        self,
        vecenv: VecEnv,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        episode_statistics: bool = False,
    ) -> None:
        """Wrap a vectorizer whose batches hold all environments.

        Args:
            vecenv: What `puffer_vector.make` returned.
            autoreset_mode: When the next episode begins, the mode or its name: in the step that
                ends one, in the next step (which ignores its action), or by
                `reset(options={"reset_mask": mask})`.
            copy: Whether observations are copies or the live buffer, which the next step changes.
            episode_statistics: Add `infos["episode"]` with `r` (float64, return of the raw
                rewards) and `l` (int64, length), and the mask `infos["_episode"]`.

        Raises:
            APIUsageError: A mode that these environments cannot follow.
        """
        self.vecenv = modes.check_whole(vecenv, "GymnasiumVectorEnv")
        if isinstance(autoreset_mode, str) and autoreset_mode in AutoresetMode.__members__:
            autoreset_mode = AutoresetMode[autoreset_mode]
        self.autoreset_mode = AutoresetMode(autoreset_mode)  # also Gymnasium's "NextStep"
        self._mode = self.autoreset_mode.name
        self._held = self._mode != "SAME_STEP" or vecenv.metadata["autoreset_mode"] != "SAME_STEP"
        if self._held:
            modes.hold(vecenv, self._mode)
        self.num_envs = vecenv.num_agents
        self.metadata = {**vecenv.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = getattr(vecenv.driver_env, "render_mode", None)
        self.single_observation_space = vecenv.single_observation_space
        self.single_action_space = vecenv.single_action_space
        self._copy = copy
        self._statistics = episode_statistics
        self._over: NDArray[np.bool_] | None = None  # None before the first reset

    @property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """The batched observation space, built on first use."""
        return self.vecenv.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """The batched action space, built on first use."""
        return self.vecenv.action_space

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, VectorInfos]:
        """Begin new episodes, in all environments or where `options["reset_mask"]` is True.

        Args:
            seed: Environment i gets `seed + i`, or entry i of a list. None continues the random
                streams.
            options: Given to the environments, less `reset_mask`, a bool array `(num_envs,)`.

        Returns:
            Observations `(num_envs, *obs)` and the infos of the resets.
        """
        if options is not None and "reset_mask" in options:
            others = {key: value for key, value in options.items() if key != "reset_mask"}
            return self._reset_some(options["reset_mask"], seed, others)
        if options is not None and (options or self.vecenv.emulated):
            self._hold()
            modes.set_options(self.vecenv, [options] * self.vecenv.num_envs)
        observations, infos = self.vecenv.reset(seed)  # type: ignore[arg-type]
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        return self._mine(observations), self._collect(infos, self._over)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, VectorInfos]:
        """Step all environments.

        Args:
            actions: One row per environment, of `action_space`.

        Returns:
            Observations `(num_envs, *obs)`, rewards float64, terminations and truncations bool,
            each `(num_envs,)`, and infos: a dict of arrays with masks `_key`. In SAME_STEP
            `final_obs` and `final_info` hold the last observation and info where an episode ended.

        Raises:
            APIUsageError: Before `reset`, in DISABLED mode after an end without a reset, or when
                agents die before their environment's episode ends.
        """
        if self._over is None:
            raise APIUsageError("step: call reset() first.")
        if self._mode == "DISABLED" and self._over.any():
            raise APIUsageError(
                f"step: the episodes of environments {np.flatnonzero(self._over).tolist()} are "
                "over: call reset(options={'reset_mask': mask}) first."
            )
        self.vecenv.send(actions)
        observations, rewards, terminals, truncations, infos, _, masks = self.vecenv.recv()
        if self._mode == "SAME_STEP" and not masks.all():
            raise APIUsageError("Agents that come and go have no place in Gymnasium's VectorEnv.")
        self._over = terminals | truncations
        return (
            self._mine(observations),
            rewards.astype(np.float64),
            terminals.copy(),
            truncations.copy(),
            self._collect(infos, self._over),
        )

    def render(self) -> tuple[Any, ...]:
        """The pictures of all environments, as their render mode says."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute; the results in order."""
        function = control.call_or_get
        results = self.vecenv._call(range(self.vecenv.num_envs), function, name, args, kwargs)
        return tuple(results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Write an attribute of every environment: one value for all, or a list of them."""
        n = self.vecenv.num_envs
        listed = list(values) if isinstance(values, (list, tuple)) else [values] * n
        if len(listed) != n:
            raise ValueError(f"Expected {n} values for as many environments, got {len(listed)}.")
        call = (control.set_attribute, [(name, value) for value in listed])
        self.vecenv._launch_call(range(n), call)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the vectorizer."""
        self.vecenv.close()

    def _mine(self, observations: Array) -> Array:
        return observations.copy() if self._copy else observations

    def _hold(self) -> None:
        if not self._held:
            modes.hold(self.vecenv, self._mode)
            self._held = True

    def _reset_some(
        self, mask: Any, seed: int | Sequence[int | None] | None, options: dict[str, Any]
    ) -> tuple[Array, VectorInfos]:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"reset_mask must be a numpy array of bool, got {mask!r:.80}.")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask must have shape ({self.num_envs},) and a True value.")
        if self._over is None:
            raise APIUsageError("reset: the first reset is one of all environments.")
        if self.num_envs != self.vecenv.num_envs:
            raise APIUsageError("reset: reset_mask needs environments of one agent.")
        seeds = (
            [None if seed is None else seed + i for i in range(self.num_envs)]
            if (seed is None or isinstance(seed, int))
            else list(seed)
        )
        if len(seeds) != self.num_envs:
            raise ValueError(f"Expected {self.num_envs} seeds, got {len(seeds)}.")
        self._hold()
        rows = np.flatnonzero(mask).tolist()
        given = options if options or self.vecenv.emulated else None
        infos = modes.begin(self.vecenv, rows, [seeds[row] for row in rows], given)
        self._over = self._over & ~mask
        (batch,) = self.vecenv._unanswered
        observations = self._mine(batch.data["observations"])
        return observations, self._collect(infos, np.zeros_like(mask))

    def _collect(self, infos: Sequence[dict[str, Any]], over: NDArray[np.bool_]) -> VectorInfos:
        """Sort infos by environment, in the form of Gymnasium's vector environments."""
        same_step = self._mode == "SAME_STEP"
        if not infos and not (same_step and over.any()):
            return {}
        told, ended = split(infos)
        finals: dict[int, dict[str, Any]] = {}
        if same_step:
            finals = {int(row): {} for row in np.flatnonzero(over)}
        others: dict[int, dict[str, Any]] = {}
        agents = self.num_envs // self.vecenv.num_envs
        for info in told:
            for row in range(info.env * agents, (info.env + 1) * agents):
                is_final = row in finals and not info.began
                (finals if is_final else others).setdefault(row, {}).update(info)
        result: VectorInfos = {}
        for statistics in ended:
            for k, row in enumerate(statistics["agent_id"].tolist()):
                fields = {key: array[k] for key, array in statistics.items() if key not in OWN}
                (finals if same_step else others).setdefault(row, {}).update(fields)
                if self._statistics:
                    r, n = statistics["episode_return"][k], statistics["episode_length"][k]
                    self._add_info(result, {"episode": {"r": r, "l": n}}, row)
        for row in sorted({*finals, *others}):
            if row in finals:
                last = self.vecenv.final_observations[row].copy()
                self._add_info(result, {"final_obs": last, "final_info": finals[row]}, row)
            self._add_info(result, others.get(row, {}), row)
        return result
