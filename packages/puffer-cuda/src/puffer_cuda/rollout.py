"""The rollout: segments of H transitions, and the loop that fills them."""

from __future__ import annotations

import logging
import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from puffer_cuda import finite
from puffer_cuda.adapter import PolicyAdapter, cleared
from puffer_cuda.config import TrainConfig
from puffer_cuda.cursors import Agents, Blocks, FirstCome
from puffer_cuda.errors import DivergedError, NonFiniteError
from puffer_cuda.profile import Profile
from puffer_cuda.rewards import RewardScaler
from puffer_cuda.sampling import sample_logits
from puffer_cuda.selfplay import Opponents
from puffer_cuda.staging import Staging
from puffer_cuda.statistics import EpisodeStatistics
from puffer_cuda.teams import agents_per_env

LOGGER = logging.getLogger("puffer_cuda")


@dataclass
class Batch:
    """Agents whose observations wait for actions.

    `bad` marks observations that are not finite; they are zeros here.
    """

    agents: Agents
    observations: Tensor
    allowed: Tensor | None
    bad: Tensor | None = None


class Rollout:
    """Tensors of one rollout, and the agents' state between rollouts.

    `(rows, H, ...)`: observations (the environment's dtype), actions, log_probs, rewards (as
    learnt), terminals, truncations, masks, starts (the observation is an episode's first),
    final_values (V of the final observation where truncated), allowed (action masks; None without
    them). `values` is `(rows, H + 1)`: the last action counts.

    A row is a segment of one agent: row i of agent i, but see `FirstCome`. The vectorizer may hand
    out its agents in several batches; while the policy acts on one, the environments of the others
    run.

    Attributes:
        steps: agent steps so far, of this process.
        segments: rows of the last rollout that count.
    """

    def __init__(
        self,
        vecenv: Any,
        policy: PolicyAdapter,
        config: TrainConfig,
        device: torch.device,
        generator: torch.Generator,
        profile: Profile,
        seed: int,
    ) -> None:
        """Allocate, reset the environments with `seed`, receive the first observations."""
        agents, box = vecenv.num_agents, vecenv.single_observation_space
        space = vecenv.single_action_space
        self.vecenv, self.policy, self.device, self.profile = vecenv, policy, device, profile
        self.horizon, self.generator = config.horizon, generator
        self.opponents: Opponents | None = None
        self.stop_at_non_finite = config.on_non_finite == "stop"
        self.rewards_of = RewardScaler(
            agents, config.reward_scale, config.reward_clip, config.normalize_rewards, config.gamma
        )
        self.continuous = isinstance(space, gymnasium.spaces.Box)
        self.action_space = space
        self.fixed = getattr(vecenv, "fixed_batches", True)
        self.cursor = (Blocks if self.fixed else FirstCome)(agents, config.horizon)

        obs_dtype = torch.from_numpy(np.empty(0, box.dtype)).dtype
        action_shape: tuple[int, ...] = getattr(space, "nvec", np.empty(())).shape
        action_dtype = torch.int64
        if self.continuous:
            action_shape, action_dtype = (math.prod(space.shape),), torch.float32

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(self.cursor.rows, *shape, dtype=dtype, device=device)

        horizon = config.horizon
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
        self.allowed: Tensor | None = None

        self.state = policy.initial_state(agents, device)
        self.initial_state = tuple(zeros(*tensor.shape[1:]) for tensor in self.state)
        self.begins = torch.ones(agents, dtype=torch.bool, device=device)  # of the next observation

        self.statistics = EpisodeStatistics()
        self.steps = 0
        self.non_finite = 0
        self.staging = Staging(device)
        vecenv.async_reset(seed)
        self.receive_first()

    @property
    def segments(self) -> int:
        """Rows that hold transitions."""
        return self.cursor.used

    def receive_first(self) -> None:
        """Receive the observations that wait after a reset or a restored state."""
        self.num_batches = self.vecenv.num_agents // self.vecenv.agents_per_batch
        self.waiting: deque[Batch] = deque()
        for index in range(self.num_batches):
            observations, _, _, _, infos, ids, _ = self.vecenv.recv()
            self.statistics.add(infos)
            agents = self.cursor.agents(ids)
            self.waiting.append(self._batch(agents, observations, index))
        allowed = self.waiting[0].allowed
        if allowed is not None and self.allowed is None:
            shape = (self.cursor.rows, self.horizon, allowed.shape[1])
            self.allowed = torch.ones(shape, dtype=torch.bool, device=self.device)

    @torch.no_grad()
    def collect(self) -> None:
        """Fill the rollout with H transitions of every agent, or as many in all."""
        self.cursor.begin()
        if not self.fixed:
            self.masks.zero_()  # rows may stay short
        for index in range(self.num_batches * self.horizon):
            if not self.waiting:
                self.waiting.append(self._receive(index))
            self._act(self.waiting.popleft())
        for index in range(self.num_batches - len(self.waiting)):
            self.waiting.append(self._receive(index))
        with self.profile("rollout/policy"):
            for batch in self.waiting:
                self._end(batch)

    def _act(self, batch: Batch) -> None:
        agents, observations = batch.agents, batch.observations
        with self.profile("rollout/policy"):
            fresh = self.cursor.fresh(agents)
            if fresh is not None:
                for stored, tensor in zip(self.initial_state, self.state, strict=True):
                    stored[fresh[0]] = tensor[fresh[1]]
            logits, values, state = self.policy.act(observations, self._cleared(agents))
            actions, log_probs, _ = sample_logits(
                logits, generator=self.generator, allowed=batch.allowed
            )
            played = actions
            if self.opponents is not None:
                played = self.opponents.act(
                    agents, observations, actions, self.begins[agents], batch.allowed
                )
            array = self._to_environment(played)
        if not torch.isfinite(values.sum()):  # after the wait for the actions: none of its own
            batch.observations, batch.bad = self._clean(observations, agents)
            return self._act(batch)
        with self.profile("rollout/copy"):
            place = self.cursor.place(agents)
            self.observations[place] = observations  # a live buffer, until the batch is answered
            if self.allowed is not None and batch.allowed is not None:
                self.allowed[place] = batch.allowed
        with self.profile("rollout/env"):
            self.vecenv.send(array)
        with self.profile("rollout/copy"):
            for tensor, new in zip(self.state, state, strict=True):
                tensor[agents] = new
            self.starts[place] = self.begins[agents]
            self.actions[place] = actions
            self.log_probs[place] = log_probs
            self.values[place] = values
            self.masks[place] = True if batch.bad is None else ~batch.bad

    def _receive(self, index: int) -> Batch:
        """Take a batch out of flight, with the result of its last actions."""
        with self.profile("rollout/env"):
            observations, rewards, terminals, truncations, infos, ids, acted = self.vecenv.recv()
        with self.profile("rollout/copy"):
            agents = self.cursor.agents(ids)
            place = self.cursor.last(agents)
            ends, learns = terminals | truncations, acted
            if self.opponents is not None:
                learns = acted & self.opponents.learners(ids)
                infos = self.opponents.results(infos)
            self.statistics.add(infos)
            self.steps += int(np.count_nonzero(learns))
            rewards, good = self._finite_rewards(rewards, ids)
            learns = learns & good
            rows = agents if isinstance(agents, slice) else ids
            self.rewards[place] = self._tensor(self.rewards_of(rewards, ends, learns, rows))
            self.masks[place] &= self._tensor(learns)
            self.terminals[place] = self._tensor(terminals)
            cut = truncations & ~terminals
            self.truncations[place] = self._tensor(cut)
            # An agent that did not act is dead or just born: its next action begins an episode.
            self.begins[agents] = self._tensor(ends | ~acted)
        if cut.any():
            with self.profile("rollout/policy"):
                self._value_final(agents, place, np.flatnonzero(cut))
        with self.profile("rollout/copy"):
            return self._batch(agents, observations, index)

    def _value_final(self, agents: Agents, place: Any, cut: npt.NDArray[np.intp]) -> None:
        """V of the final observations of truncated episodes, with the state that led there."""
        where = torch.from_numpy(cut).to(self.device)
        observations = self._tensor(self.vecenv.final_observations[cut])
        state = tuple(tensor[agents][where] for tensor in self.state)
        ids = torch.arange(len(self.begins), device=self.device)[agents][where]
        values = self._values(observations, state, ids)
        self.final_values[place] = self.final_values[place].index_copy(0, where, values)

    def _end(self, batch: Batch) -> None:
        """V of the observations after the last actions; rows that are not full are cut there."""
        agents = batch.agents
        values = self._values(batch.observations, self._cleared(agents), agents)
        if isinstance(self.cursor, Blocks):
            self.values[agents, self.horizon] = values
            return
        rows, last = self.cursor.last(agents)
        acted = last >= 0
        rows, last, values = rows[acted], last[acted], values[acted.to(self.device)]
        self.values[rows, last + 1] = values
        short = (last + 1 < self.horizon).to(self.device)
        cut = short & ~self.terminals[rows, last] & ~self.truncations[rows, last]
        self.truncations[rows, last] |= cut
        self.final_values[rows, last] = torch.where(cut, values, self.final_values[rows, last])

    def _values(self, observations: Tensor, state: tuple[Tensor, ...], agents: Agents) -> Tensor:
        _, values, _ = self.policy.act(observations, state)
        if torch.isfinite(values.sum()):
            return values
        observations, _ = self._clean(observations, agents)
        return self.policy.act(observations, state)[1]

    def _clean(self, observations: Tensor, agents: Agents) -> tuple[Tensor, Tensor]:
        """Find out why values are not finite; zeros instead of bad observations, and which.

        Raises:
            NonFiniteError: the environment is to blame, and the run is to stop then.
            DivergedError: the policy is.
        """
        emulated = self.vecenv.emulated
        bad = finite.bad_rows(observations, emulated)
        if not bad.any():
            raise DivergedError(
                f"the policy gives values that are not finite after {self.steps} steps, and its "
                "observations are fine: its weights have diverged."
            )
        row = int(bad.nonzero()[0])
        agent = int(torch.arange(len(self.begins))[agents][row])
        self._report(finite.describe(observations, row, emulated), agent, int(bad.sum()))
        wide = bad.view(-1, *(1,) * (observations.dim() - 1))
        return observations.masked_fill(wide, 0), bad

    def _finite_rewards(
        self, rewards: npt.NDArray[np.float32], ids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Rewards with zeros for those that are not finite, and which are."""
        good = np.isfinite(rewards)
        if not good.all():
            row = int(np.flatnonzero(~good)[0])
            count = int(np.count_nonzero(~good))
            self._report(f"reward is {rewards[row]}", int(ids[row]), count)
            rewards = np.where(good, rewards, np.float32(0))
        return rewards, good

    def _report(self, what: str, agent: int, count: int) -> None:
        text = (
            f"environment {agent // agents_per_env(self.vecenv)}, agent {agent}, after "
            f"{self.steps} steps: {what}."
        )
        if self.stop_at_non_finite:
            raise NonFiniteError(f"{text} train.on_non_finite = mask goes on without such samples.")
        if not self.non_finite:
            LOGGER.warning("%s Such samples are left out; losses/non_finite counts them.", text)
        self.non_finite += count

    def _cleared(self, agents: Agents) -> tuple[Tensor, ...]:
        """The state of these agents, zero where an episode begins."""
        return cleared(tuple(tensor[agents] for tensor in self.state), self.begins[agents])

    def _batch(self, agents: Agents, observations: npt.NDArray[Any], index: int) -> Batch:
        tensor = self.staging(observations, index % self.num_batches)
        masks = getattr(self.vecenv, "action_masks", None)
        return Batch(agents, tensor, None if masks is None else self._tensor(masks))

    def _to_environment(self, actions: Tensor) -> npt.NDArray[Any]:
        """Raw samples in the shape of the space; the vectorizer clips floats to its bounds."""
        array: npt.NDArray[Any] = actions.cpu().numpy()
        return array.reshape(-1, *self.action_space.shape) if self.continuous else array

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)
