"""The rollout: N segments of H transitions, and the loop that fills them."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from puffer_cuda.adapter import PolicyAdapter
from puffer_cuda.profile import Profile
from puffer_cuda.sampling import sample_logits
from puffer_cuda.statistics import EpisodeStatistics


class Rollout:
    """Tensors of one rollout, one row an agent, and the agents' state between rollouts.

    `(N, H, ...)`: observations (the environment's dtype), actions, log_probs, rewards (clipped),
    terminals, truncations, masks, starts (the observation is an episode's first), final_values (V
    of the final observation where truncated). `values` is `(N, H + 1)`: the last action counts.

    The vectorizer may hand out its agents in several contiguous batches; while the policy acts on
    one, the environments of the others run.
    """

    def __init__(
        self,
        vecenv: Any,
        policy: PolicyAdapter,
        horizon: int,
        reward_scale: float,
        reward_clip: float,
        seed: int,
        device: torch.device,
        generator: torch.Generator,
        profile: Profile,
    ) -> None:
        """Allocate, reset the environments with `seed`, receive the first observations."""
        agents, box = vecenv.num_agents, vecenv.single_observation_space
        space = vecenv.single_action_space
        self.vecenv, self.policy, self.horizon, self.device = vecenv, policy, horizon, device
        self.generator, self.profile, self.reward_clip = generator, profile, reward_clip
        self.reward_scale = reward_scale
        self.continuous = isinstance(space, gymnasium.spaces.Box)
        self.action_space = space

        obs_dtype = torch.from_numpy(np.empty(0, box.dtype)).dtype
        action_shape: tuple[int, ...] = getattr(space, "nvec", np.empty(())).shape
        action_dtype = torch.int64
        if self.continuous:
            action_shape, action_dtype = (math.prod(space.shape),), torch.float32

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(agents, *shape, dtype=dtype, device=device)

        self.observations = zeros(horizon, *box.shape, dtype=obs_dtype)
        self.actions = zeros(horizon, *action_shape, dtype=action_dtype)
        self.log_probs = zeros(horizon)
        self.rewards = zeros(horizon)
        self.terminals = zeros(horizon, dtype=torch.bool)
        self.truncations = zeros(horizon, dtype=torch.bool)
        self.masks = zeros(horizon, dtype=torch.bool)
        self.starts = zeros(horizon, dtype=torch.bool)
        self.final_values = zeros(horizon)
        self.values = zeros(horizon + 1)

        self.state = policy.initial_state(agents, device)
        self.initial_state = tuple(torch.zeros_like(tensor) for tensor in self.state)
        self.begins = torch.ones(agents, dtype=torch.bool, device=device)  # of the next observation

        self.statistics = EpisodeStatistics()
        self.steps = 0
        self.clipped_rewards = 0
        vecenv.async_reset(seed)
        self.receive_first()

    def receive_first(self) -> None:
        """Receive the observations that wait after a reset or a restored state."""
        self.batches: list[slice] = []
        self.current: list[Tensor] = []
        for _ in range(self.vecenv.num_agents // self.vecenv.agents_per_batch):
            observations, _, _, _, infos, agent_ids, _ = self.vecenv.recv()
            self.batches.append(_contiguous(agent_ids))
            self.current.append(self._tensor(observations))
            self.statistics.add(infos)

    @torch.no_grad()
    def collect(self) -> None:
        """Fill the rollout with H transitions of every agent."""
        for t in range(self.horizon):
            for batch in range(len(self.batches)):
                if t:
                    self._receive(batch, t - 1)
                self._act(batch, t)
        for batch in range(len(self.batches)):
            self._receive(batch, self.horizon - 1)
        with self.profile("rollout/policy"):
            for rows, observations in zip(self.batches, self.current, strict=True):
                _, values, _ = self.policy.act(observations, self._cleared(rows))
                self.values[rows, self.horizon] = values

    def _act(self, batch: int, t: int) -> None:
        rows, observations = self.batches[batch], self.current[batch]
        with self.profile("rollout/policy"):
            if t == 0:
                for stored, tensor in zip(self.initial_state, self.state, strict=True):
                    stored[rows] = tensor[rows]
            logits, values, state = self.policy.act(observations, self._cleared(rows))
            for tensor, new in zip(self.state, state, strict=True):
                tensor[rows] = new
            actions, log_probs, _ = sample_logits(logits, generator=self.generator)
        with self.profile("rollout/copy"):
            self.observations[rows, t] = observations
            self.starts[rows, t] = self.begins[rows]
            self.actions[rows, t] = actions
            self.log_probs[rows, t] = log_probs
            self.values[rows, t] = values
        with self.profile("rollout/env"):
            self.vecenv.send(self._to_environment(actions))

    def _receive(self, batch: int, t: int) -> None:
        rows = self.batches[batch]
        with self.profile("rollout/env"):
            observations, rewards, terminals, truncations, infos, _, masks = self.vecenv.recv()
        with self.profile("rollout/copy"):
            self.statistics.add(infos)
            self.steps += int(np.count_nonzero(masks))
            self.current[batch] = self._tensor(observations)
            self.rewards[rows, t] = self._tensor(self._learnt(rewards, rows.start))
            self.masks[rows, t] = self._tensor(masks)
            self.terminals[rows, t] = self._tensor(terminals)
            cut = truncations & ~terminals
            self.truncations[rows, t] = self._tensor(cut)
            # An agent that did not act is dead or just born: its next action begins an episode.
            self.begins[rows] = self._tensor(terminals | truncations | ~masks)
        if cut.any():
            with self.profile("rollout/policy"):
                self._value_final(rows, t, np.flatnonzero(cut))

    def _value_final(self, rows: slice, t: int, cut: npt.NDArray[np.intp]) -> None:
        """V of the final observations of truncated episodes, with the state that led there."""
        where = torch.from_numpy(cut).to(self.device)
        observations = self._tensor(self.vecenv.final_observations[cut])
        state = tuple(tensor[rows][where] for tensor in self.state)
        _, values, _ = self.policy.act(observations, state)
        self.final_values[rows, t] = self.final_values[rows, t].index_copy(0, where, values)

    def _cleared(self, rows: slice) -> tuple[Tensor, ...]:
        """The state of these agents, zero where an episode begins."""
        begins = self.begins[rows]
        return tuple(
            tensor[rows].masked_fill(begins.view(-1, *(1,) * (tensor.dim() - 1)), 0)
            for tensor in self.state
        )

    def _learnt(self, rewards: npt.NDArray[np.float32], agent: int) -> npt.NDArray[np.float32]:
        """Rewards as the learner sees them: scaled, clipped, and certainly finite."""
        if not np.isfinite(rewards).all():
            row = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise FloatingPointError(
                f"the environment returned reward {rewards[row]} for agent {agent + row} "
                f"after {self.steps} steps."
            )
        rewards = rewards * np.float32(self.reward_scale)
        if self.reward_clip:
            self.clipped_rewards += int(np.count_nonzero(np.abs(rewards) > self.reward_clip))
            rewards = rewards.clip(-self.reward_clip, self.reward_clip)
        return rewards

    def _to_environment(self, actions: Tensor) -> npt.NDArray[Any]:
        """Raw samples in the shape of the space; the vectorizer clips floats to its bounds."""
        array: npt.NDArray[Any] = actions.cpu().numpy()
        return array.reshape(-1, *self.action_space.shape) if self.continuous else array

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _contiguous(agent_ids: npt.NDArray[np.int64]) -> slice:
    first, count = int(agent_ids[0]), len(agent_ids)
    if not np.array_equal(agent_ids, np.arange(first, first + count)):
        raise ValueError(
            "the trainer needs batches of neighbouring agents: make the vectorizer with "
            "zero_copy=True, or with batch_size = num_envs."
        )
    return slice(first, first + count)
