"""Serial: all environments in this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers, allocate
from puffer_core.errors import APIUsageError
from puffer_vector import control
from puffer_vector.base import AT_WORK, Batch, Infos, Reply, VecEnv
from puffer_vector.group import EnvGroup
from puffer_vector.recipes import Facts, make_recipes
from puffer_vector.seeds import expand_seeds


class Serial(VecEnv):
    """Environments stepping in order on slices of joint buffers; `send` does the work.

    An additional environment is built first and closed again, to learn the size of the buffers.
    """

    def __init__(
        self,
        env_creators: object,
        env_args: object = None,
        env_kwargs: object = None,
        num_envs: int = 1,
        seed: object = 0,
    ) -> None:
        """Build the environments; the arguments are those of `make`."""
        recipes = make_recipes(env_creators, env_args, env_kwargs, num_envs)
        seeds = expand_seeds(seed, len(recipes))
        facts = Facts.of(recipes[0].probe(seeds[0]))
        super().__init__(facts, len(recipes), len(recipes), seeds)
        buffers = allocate(facts.layout(len(recipes)))
        self._start(EnvGroup(facts, buffers), buffers)
        try:
            for recipe, env_seed in zip(recipes, seeds, strict=True):
                self._group.build(recipe, env_seed)
        except BaseException:
            self._group.close()
            raise
        self.driver_env = self._group.envs[0]

    def _start(self, group: EnvGroup, buffers: Buffers) -> None:
        self._group = group
        self._batch = Batch(
            range(self.num_envs), slice(0, self.num_agents), self.agent_ids, buffers
        )
        self.final_observations = buffers["final_observations"]
        self._reply: Reply | None = None

    def _launch_reset(self, seeds: list[int] | None) -> None:
        self._reply = None  # in case an environment raises
        self._reply = Reply(self._batch, self._group.reset(seeds), None)

    def _launch_step(self, batch: Batch, actions: NDArray[Any]) -> None:
        np.copyto(batch.data["actions"], actions, casting="unsafe")  # checked by send
        infos: Infos = self._group.step()
        self._reply = Reply(batch, infos, batch.data["masks"])

    def _collect(self) -> Reply | None:
        reply, self._reply = self._reply, None
        return reply

    def _launch_call(self, env_ids: Sequence[int], call: tuple[Any, ...]) -> list[Any]:
        if self._reply is not None and env_ids:
            raise APIUsageError(AT_WORK.format(env_ids[0]))
        results: list[Any] = control.run(self._group, 0, env_ids, call)
        return results

    def _settle(self) -> None:
        self._reply = None

    def _present(self, shown: list[Buffers]) -> None:
        self._reply = Reply(self._batch, [], None)  # the rows hold what is shown

    def _stop(self) -> None:
        self._group.close()
