"""EnvGroup: environments stepping in order on neighbouring rows of the same buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers, rows
from puffer_core.emulation import GymnasiumPufferEnv
from puffer_core.env import PufferEnv
from puffer_core.errors import APIUsageError
from puffer_vector.infos import Info
from puffer_vector.recipes import Facts, Recipe

WRITTEN = ("observations", "rewards", "terminals", "truncations", "masks")


def written(has_action_masks: bool) -> tuple[str, ...]:
    """Return the buffers that every step of an environment writes."""
    return (*WRITTEN, "action_masks") if has_action_masks else WRITTEN


class EnvGroup:
    """The environments of one process.

    Attributes:
        envs: The environments built so far.
        current: Global index of the environment at work, for messages about its errors.
    """

    def __init__(self, facts: Facts, buffers: Buffers, first_env: int = 0) -> None:
        """Prepare for environments on `buffers`.

        Args:
            facts: What every environment must look like.
            buffers: The rows of this group, `facts.num_agents` for each environment.
            first_env: Global index of the group's first environment.
        """
        self.envs: list[PufferEnv] = []
        self.current = first_env
        self._facts = facts
        self._buffers = buffers
        self._first_env = first_env
        self._only_wrappers = False
        self._views: list[Buffers] = []
        self._arrays: list[tuple[NDArray[Any], ...]] = []  # the actions and WRITTEN, of each

    def build(self, recipe: Recipe, seed: int) -> None:
        """Build the next environment on its rows.

        Raises:
            APIUsageError: It ignores the buffers it is given, or differs from the others.
        """
        index = len(self.envs)
        self.current = self._first_env + index
        agents = self._facts.num_agents
        view = rows(self._buffers, index * agents, (index + 1) * agents)
        self.adopt(recipe.build(view, seed), view)

    def adopt(self, env: PufferEnv, view: Buffers) -> None:
        """Take over an environment that lives on `view`."""
        self.envs.append(env)  # before the checks: close() must reach it
        self._views.append(view)
        self._arrays.append(tuple(view[name] for name in ("actions", *WRITTEN)))
        self._facts.check(env)
        _check_bound(env, view)
        self.replace(len(self.envs) - 1, env)

    def replace(self, index: int, env: PufferEnv) -> None:
        """Put another environment in the place of one; it uses the same rows."""
        self.envs[index] = env
        # A subclass may step in its own way, and then it must be asked.
        self._only_wrappers = all(type(e).step is GymnasiumPufferEnv.step for e in self.envs)

    def reset(self, seeds: Sequence[int] | None) -> list[dict[str, Any]]:
        """Begin new episodes in all environments.

        Args:
            seeds: One per environment; None continues their random streams.

        Returns:
            The infos that are not empty, in order of the environments.
        """
        for name in WRITTEN[1:]:
            self._buffers[name].fill(name == "masks")
        if "action_masks" in self._buffers:
            self._buffers["action_masks"].fill(True)
        infos: list[dict[str, Any]] = []
        for i, (env, view) in enumerate(zip(self.envs, self._views, strict=True)):
            self.current = self._first_env + i
            # Without a seed no argument at all: users write reset(self, seed=0) as well.
            result = env.reset() if seeds is None else env.reset(seeds[i])
            if not (isinstance(result, tuple) and len(result) == 2):
                raise APIUsageError(
                    f"{type(env).__name__}.reset must return (observations, infos), got "
                    f"{result!r:.80}."
                )
            infos += self._infos(i, result[1])
            _check_bound(env, view)
        return infos

    def step(self) -> list[dict[str, Any]]:
        """Step all environments with the actions in the buffers, and reset those that ended.

        Returns:
            The infos that are not empty, in order of the environments.
        """
        if self._only_wrappers:
            return self._step_wrappers()
        infos: list[dict[str, Any]] = []
        for i, (env, view) in enumerate(zip(self.envs, self._views, strict=True)):
            self.current = self._first_env + i
            actions, observations, rewards, terminals, truncations, masks = self._arrays[i]
            result = env.step(actions)
            if len(result) != 5:
                raise APIUsageError(
                    f"{type(env).__name__}.step must return (observations, rewards, terminals, "
                    f"truncations, infos), got {len(result)} values."
                )
            # Of the whole step of a cheap environment, a loop over names would be a tenth.
            if (
                env.observations is not observations
                or env.rewards is not rewards
                or env.terminals is not terminals
                or env.truncations is not truncations
                or env.masks is not masks
            ):
                _check_bound(env, view)
            if result[4]:
                infos += self._infos(i, result[4])
            if env.emulated and env.done:  # native environments reset themselves
                infos += self._infos(i, _reset_in_step(env, view), began=True)
        return infos

    def _step_wrappers(self) -> list[dict[str, Any]]:
        """Do what `step` does for wrappers of Gymnasium environments, at half the cost.

        Actions are decoded and rewards written for all at once, and a reset in between need not
        keep what it clears.
        """
        infos: list[dict[str, Any]] = []
        rewards: list[float] = []
        envs: Any = self.envs
        first_env = self._first_env
        observations, finals = self._buffers["observations"], self._buffers["final_observations"]
        terminals, truncations = self._buffers["terminals"], self._buffers["truncations"]
        terminals.fill(False)
        truncations.fill(False)
        actions = envs[0].decode_actions(self._buffers["actions"])
        for i, (env, action) in enumerate(zip(envs, actions, strict=True)):
            self.current = first_env + i
            reward, terminal, truncation, info = env.advance(action)
            rewards.append(reward)
            if info:
                infos += self._infos(i, info)
            if terminal or truncation:
                finals[i] = observations[i]
                _, info = env.reset()
                if info:
                    infos += self._infos(i, info, began=True)
                terminals[i], truncations[i] = terminal, truncation
        self._buffers["rewards"][:] = rewards
        return infos

    def close(self) -> None:
        """Close all environments, even if one of them raises; then raise the first error."""
        errors = []
        for env in self.envs:
            try:
                env.close()
            except Exception as error:
                errors.append(error)
        self.envs.clear()
        if errors:
            raise errors[0]

    def _infos(self, index: int, infos: object, began: bool = False) -> list[dict[str, Any]]:
        """Return an environment's infos as a list, with global agent ids in the statistics."""
        if not infos and isinstance(infos, (dict, list, tuple)):
            return []
        if isinstance(infos, dict):
            infos = [infos]
        if not isinstance(infos, (list, tuple)):
            raise APIUsageError(
                f"{type(self.envs[index]).__name__}: infos must be a list of dicts, got "
                f"{infos!r:.80}."
            )
        env = self._first_env + index
        told: list[dict[str, Any]] = [Info(info, env, began) for info in infos if info]
        first_row = env * self._facts.num_agents
        if not (self._facts.logs_episodes and first_row):
            return told
        for info in told:
            if "agent_id" in info:
                info["agent_id"] = info["agent_id"] + first_row
        return told


def _reset_in_step(env: PufferEnv, view: Buffers) -> object:
    """Keep the last observation, begin the next episode, and return the info of that reset."""
    np.copyto(view["final_observations"], view["observations"])
    kept = {name: view[name].copy() for name in WRITTEN[1:]}
    _, info = env.reset()
    for name, values in kept.items():  # reward and flags stay those of the ended episode
        np.copyto(view[name], values)
    return info


def _check_bound(env: PufferEnv, view: Buffers) -> None:
    """Refuse an environment that writes anywhere else than into its rows."""
    for name in written(env.has_action_masks):
        array = getattr(env, name)
        if array is not view[name] and not np.may_share_memory(array, view[name]):
            raise APIUsageError(
                f"{type(env).__name__}.{name} is not the buffer that the vectorizer gave it. Its "
                "constructor must pass buf to super().__init__(buf), and its methods must write "
                f"in place (self.{name}[:] = ...) and never rebind self.{name}."
            )
