"""TorchRLEnv: our vectorizers as a TorchRL `EnvBase`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.errors import APIUsageError
from puffer_core.spaces import Space
from puffer_vector import modes
from puffer_vector.base import VecEnv
from puffer_vector.seeds import expand_seeds

try:
    import torch
    from tensordict import TensorDict
    from torchrl.data import Bounded, Categorical, Composite, MultiCategorical, Unbounded
    from torchrl.envs import EnvBase
except ImportError as error:
    raise ImportError(
        f"puffer_vector.adapters.torchrl needs TorchRL: pip install 'puffer-vector[torchrl]' "
        f"({error})."
    ) from error


class TorchRLEnv(EnvBase):
    """Any of our vectorizers as a batched TorchRL environment on the CPU, batch size `[N]`.

    Keys: `observation` `(N, *obs)`, `action` in the action space's shape, `reward` `(N, 1)`
    float32, and `done`, `terminated`, `truncated` `(N, 1)` bool. `next` holds the true last
    observation of an episode. The spaces are the flat ones of our vectorizer, actions count from 0.

    The vectorizer begins the next episode in the step that ends one; TorchRL's reset of ended
    rows, which follows, only shows its first observation and costs no round trip.
    """

    def __init__(self, vecenv: VecEnv) -> None:
        """Wrap a vectorizer whose batches hold all environments.

        Args:
            vecenv: What `puffer_vector.make` returned; it belongs to this object from now on.

        Raises:
            APIUsageError: It is none, its batches are smaller, or its environments are held in
                another autoreset mode.
        """
        modes.check_whole(vecenv, "TorchRLEnv")
        if vecenv.metadata["autoreset_mode"] != "SAME_STEP":
            raise APIUsageError("TorchRLEnv: the vectorizer must be in SAME_STEP mode.")
        n = vecenv.num_agents
        super().__init__(device="cpu", batch_size=[n])
        self.vecenv = vecenv
        self._next_seeds: list[int] | None = None
        self._over = np.zeros(n, dtype=np.bool_)
        self._started = False
        self._held = False
        observation = _spec(vecenv.single_observation_space, n)
        self.observation_spec = Composite(observation=observation, shape=[n])
        self.action_spec = _spec(vecenv.single_action_space, n)
        self.reward_spec = Unbounded(shape=(n, 1), dtype=torch.float32)
        flags = ("done", "terminated", "truncated")
        self.done_spec = Composite(
            {name: Categorical(2, shape=(n, 1), dtype=torch.bool) for name in flags}, shape=[n]
        )

    def _reset(self, tensordict: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            raise APIUsageError(f"TorchRLEnv.reset takes no {', '.join(kwargs)}.")
        chosen = None if tensordict is None else tensordict.get("_reset", None)
        begins = not self._started or self._next_seeds is not None
        if chosen is None or (begins and chosen.all()):
            observations, _ = self.vecenv.reset(self._next_seeds)
            self._next_seeds = None
            self._over.fill(False)
            self._started = True
        else:
            observations = self._reset_some(chosen.reshape(-1).numpy())
        flags = np.zeros(self.vecenv.num_agents, dtype=np.bool_)
        return self._tensors(observations, flags, flags)

    def _reset_some(self, chosen: NDArray[np.bool_]) -> NDArray[Any]:
        if not self._started:
            raise APIUsageError("reset: the first reset is one of all rows.")
        if running := np.flatnonzero(chosen & ~self._over).tolist():
            if self.vecenv.num_agents != self.vecenv.num_envs:
                raise APIUsageError(
                    f"reset: rows {running} are in the middle of an episode that other rows share."
                )
            if not self._held:
                modes.hold(self.vecenv, "SAME_STEP")
                self._held = True
            modes.begin(self.vecenv, running, [None] * len(running), None)
        self._over &= ~chosen
        (batch,) = self.vecenv._unanswered
        return batch.data["observations"]

    def _step(self, tensordict: Any) -> Any:
        self.vecenv.send(tensordict["action"].numpy())
        observations, rewards, terminals, truncations, _, _, masks = self.vecenv.recv()
        if not masks.all():
            raise APIUsageError("Agents that come and go have no place in this TorchRL batch.")
        self._over = terminals | truncations
        if self._over.any():
            observations = observations.copy()
            observations[self._over] = self.vecenv.final_observations[self._over]
        result = self._tensors(observations, terminals, truncations)
        result["reward"] = torch.from_numpy(rewards.copy())[:, None]
        return result

    def _tensors(
        self, observations: NDArray[Any], terminals: NDArray[Any], truncations: NDArray[Any]
    ) -> Any:
        arrays = {
            "observation": observations,
            "done": (terminals | truncations)[:, None],
            "terminated": terminals[:, None],
            "truncated": truncations[:, None],
        }
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        return TensorDict(tensors, batch_size=self.batch_size)

    def _set_seed(self, seed: int | None) -> None:
        """Environment i is reset with `seed + i` the next time all are."""
        self._next_seeds = None if seed is None else expand_seeds(seed, self.vecenv.num_envs)

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the vectorizer."""
        self.vecenv.close()
        super().close(raise_if_closed=raise_if_closed)


def _spec(space: Space, n: int) -> Any:
    """The TorchRL spec of `n` rows of a space."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return Categorical(int(space.n), shape=(n,), dtype=torch.int64)
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        nvec = [int(count) for count in space.nvec]
        return MultiCategorical(nvec, shape=(n, len(nvec)), dtype=torch.int64)
    assert isinstance(space, gymnasium.spaces.Box)
    shape = (n, *space.shape)
    dtype = torch.from_numpy(np.empty(0, dtype=space.dtype)).dtype
    if dtype == torch.bool:
        return Categorical(2, shape=shape, dtype=dtype)
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return Unbounded(shape=shape, dtype=dtype)
    bounds = [np.broadcast_to(bound, shape).copy() for bound in (space.low, space.high)]
    return Bounded(*map(torch.from_numpy, bounds), shape=shape, dtype=dtype)
