"""A PufferEnv under check, on rows of larger buffers so that stray writes are seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers, allocate, layout, rows
from puffer_core.check.report import Findings, show
from puffer_core.check.subject import Moment, Subject, describe, form
from puffer_core.check.values import Frozen, check_range
from puffer_core.env import PufferEnv

GUARD = 2  # rows before and after the environment's own
GUARD_BYTE = 0xA5
LOOKED_AT = 8  # agents whose episodes are followed one by one
WRITTEN = ("observations", "rewards", "terminals", "truncations", "masks")


class PufferSubject(Subject):
    """A PufferEnv, Python or C: agents are the rows of its buffers."""

    kind = "PufferEnv"
    self_resetting = True

    def __init__(
        self,
        creator: Callable[..., Any],
        probe: PufferEnv,
        findings: Findings,
        action_seed: int,
        seed: int,
        dirt: int | None = None,
    ) -> None:
        """Create the environment as a vectorizer does.

        Args:
            creator: Called with `buf` and `seed`.
            probe: An instance that says how large the buffers are.
            findings: Where to report to.
            action_seed: Seed of the random actions.
            seed: The environment's.
            dirt: If given, a byte that fills what the environment has to write, before every
                call. Results must not depend on it.
        """
        super().__init__(findings)
        self.name = str(getattr(probe, "name", type(probe).__name__))
        self._count = probe.num_agents
        fields = layout(
            probe.single_observation_space,
            probe.single_action_space,
            self._count + 2 * GUARD,
            probe.has_action_masks,
        )
        self._all = allocate(fields)
        for array in self._all.values():
            _bytes(array[:GUARD])[...] = GUARD_BYTE
            _bytes(array[-GUARD:])[...] = GUARD_BYTE
        self.buffers: Buffers = rows(self._all, GUARD, GUARD + self._count)
        self._dirt = dirt
        self.env = self._create(creator, seed)
        self._observation_space = probe.single_observation_space
        self._action_space = probe.single_action_space
        self._rng = np.random.default_rng(action_seed)
        chosen = np.linspace(0, self._count - 1, min(self._count, LOOKED_AT)).astype(int)
        self._rows = {f"row {int(row)}" if self._count > 1 else "": int(row) for row in chosen}
        self.spaces = dict.fromkeys(self._rows, self._observation_space)
        self.over = True
        self._check_buffers("buffer-ignored")

    def _create(self, creator: Callable[..., Any], seed: int) -> PufferEnv:
        try:
            env = creator(buf=self.buffers, seed=seed)
        except TypeError as error:
            if "buf" in str(error) or "seed" in str(error):
                raise self.unusable("creator", describe(error)) from error
            self.findings.add("exception", describe(error), "the constructor")
            raise self.unusable("kind", "the second instance could not be created") from error
        assert isinstance(env, PufferEnv)
        return env

    def reset(self, seed: int | None) -> Moment:
        """Begin new episodes, and check the form of the result and the buffers."""
        for name in WRITTEN[1:]:  # as vectorizers do
            self.buffers[name].fill(name == "masks")
        self._soil("observations")
        arguments = () if seed is None else (seed,)
        result = self.call("reset", self.env.reset, *arguments)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise self.unusable("reset-return", f"got {form(result)}")
        self._check_infos(result[1])
        self._check_buffers("buffer-rebound")
        self.over = False
        observations = {agent: self.buffers["observations"][i] for agent, i in self._rows.items()}
        return Moment(observations, {}, {}, {})

    def step(self, actions: Any) -> Moment:
        """Take one step, and check the form of the result and the buffers."""
        self._soil("rewards", "terminals", "truncations", "final_observations")
        np.copyto(self.buffers["actions"], actions)
        result = self.call("step", self.env.step, self.buffers["actions"])
        self.steps += 1
        if not (isinstance(result, tuple) and len(result) == 5):
            raise self.unusable("step-return", f"got {form(result)}")
        self._check_infos(result[4])
        self._check_buffers("buffer-rebound")
        names = ("observations", "rewards", "terminals", "truncations")
        return Moment(
            *(
                {agent: self.buffers[name][row] for agent, row in self._rows.items()}
                for name in names
            )
        )

    def sample(self) -> NDArray[Any]:
        """A row of random actions for every agent."""
        space, shape = self._action_space, self.buffers["actions"].shape
        if isinstance(space, gymnasium.spaces.Box):
            low = np.clip(space.low, -10, None)
            return self._rng.uniform(low, np.clip(space.high, None, 10), shape).astype(space.dtype)
        counts: Any = space.n if isinstance(space, gymnasium.spaces.Discrete) else None
        if isinstance(space, gymnasium.spaces.MultiDiscrete):
            counts = space.nvec
        return self._rng.integers(0, counts, shape)

    def inspect(self, moment: Moment, path: str = "") -> None:
        """Look for numbers out of bounds in all rows; shape and dtype hold by construction."""
        array = self.buffers["observations"]
        check_range(self._observation_space, array, "observations", self.findings, self.steps)
        if not np.isfinite(self.buffers["rewards"]).all():
            row = int(np.argwhere(~np.isfinite(self.buffers["rewards"]))[0, 0])
            evidence = f"{self.buffers['rewards'][row]} in row {row}"
            self.findings.add("reward-nan", evidence, "rewards", self.steps)

    def freeze(self, moment: Moment) -> Frozen:
        """Copies of all rows of what the environment writes."""
        return {name: self.buffers[name].copy() for name in WRITTEN}

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def finals(self) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Which rows ended in the last step, and a copy of `final_observations`."""
        ended = self.buffers["terminals"] | self.buffers["truncations"]
        return ended, self.buffers["final_observations"].copy()

    def _soil(self, *names: str) -> None:
        if self._dirt is None:
            return
        for name in names:
            array = self.buffers[name]
            if array.dtype == np.bool_:
                array.fill(True)
            else:
                _bytes(array)[...] = self._dirt

    def _check_infos(self, infos: object) -> None:
        fits = isinstance(infos, (list, tuple)) and all(isinstance(i, dict) for i in infos)
        if not fits and not isinstance(infos, dict):
            evidence = f"expected a list of dicts, got {show(infos)}"
            self.findings.add("info-type", evidence, "infos", self.steps)

    def _check_buffers(self, code: str) -> None:
        for name in WRITTEN:
            attribute = getattr(self.env, name, None)
            own = self.buffers[name]
            if attribute is not own and not (
                isinstance(attribute, np.ndarray) and np.may_share_memory(attribute, own)
            ):
                raise self.unusable(code, f"self.{name} is another array")
        for name, array in self._all.items():
            for side, guard in (("before", array[:GUARD]), ("after", array[-GUARD:])):
                if (_bytes(guard) != GUARD_BYTE).any():
                    _bytes(guard)[...] = GUARD_BYTE
                    evidence = f"the rows {side} its own were overwritten"
                    self.findings.add("buffer-outside", evidence, name, self.steps)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
