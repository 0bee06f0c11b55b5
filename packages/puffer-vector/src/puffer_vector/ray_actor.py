"""EnvActor: a group of environments inside a Ray actor."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import allocate
from puffer_vector.control import run_pickled
from puffer_vector.group import WRITTEN, EnvGroup
from puffer_vector.worker import ONE_THREAD, begin_again

Arrays: TypeAlias = "list[NDArray[Any]]"  # those of WRITTEN, and the rows of episodes that ended
Answer: TypeAlias = "tuple[str, Any, Arrays]"


class EnvActor:
    """Environments on buffers of their own, which travel with every answer.

    Every method answers `("ok", infos or the answer of a call, arrays)`, or
    `("error", (environment index, traceback), [])`. The environments are not to be used any more
    after an error.
    """

    def __init__(self) -> None:
        self._group: EnvGroup | None = None
        self._first_env = 0

    def where(self) -> tuple[str, int]:
        """Return the address of the node and the id of the process, for messages."""
        import ray

        return str(ray.util.get_node_ip_address()), os.getpid()

    def build(
        self, payload: bytes, first_env: int, seeds: Sequence[int], again: bytes | None
    ) -> Answer:
        """Build the environments.

        Args:
            payload: The facts and recipes, pickled by value.
            first_env: Global index of the first environment.
            seeds: Their seeds.
            again: In place of a worker that failed: pickled calls to run on the new environments.
                They are reset then, which answers what the other left unanswered.
        """
        self._first_env = first_env

        def work() -> list[Any]:
            for name, value in ONE_THREAD.items():
                os.environ.setdefault(name, value)
            facts, recipes = pickle.loads(payload)  # made by our own driver
            if torch := sys.modules.get("torch"):
                torch.set_num_threads(1)
            self._buffers = allocate(facts.layout(len(recipes)))
            self._group = EnvGroup(facts, self._buffers, first_env)
            for recipe, seed in zip(recipes, seeds, strict=True):
                self._group.build(recipe, seed)
            return [] if again is None else begin_again(self._group, first_env, again, seeds)

        return self._answer(work)

    def reset(self, seeds: Sequence[int] | None) -> Answer:
        """Begin new episodes, see `EnvGroup.reset`."""
        return self._answer(lambda: self._envs.reset(seeds))

    def step(self, actions: NDArray[Any]) -> Answer:
        """Step all environments.

        Args:
            actions: Those of their agents, as in the buffers.
        """
        np.copyto(self._buffers["actions"], actions)
        return self._answer(self._envs.step)

    def call(self, payload: bytes) -> Answer:
        """Run a call of `puffer_vector.control`, which may also change observations."""
        return self._answer(lambda: run_pickled(self._envs, self._first_env, payload))

    def close(self) -> None:
        """Close the environments."""
        if self._group is not None:
            self._group.close()

    @property
    def _envs(self) -> EnvGroup:
        assert self._group is not None
        return self._group

    def _answer(self, work: Callable[[], Any]) -> Answer:
        try:
            result = work()
        except BaseException:  # also SystemExit: the driver must hear about it
            env = self._first_env if self._group is None else self._group.current
            return "error", (env, traceback.format_exc()), []
        ends = self._buffers["terminals"] | self._buffers["truncations"]
        arrays = [self._buffers[name] for name in WRITTEN]
        return "ok", result, [*arrays, self._buffers["final_observations"][ends]]
