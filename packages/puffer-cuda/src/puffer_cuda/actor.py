"""A policy that plays and does not learn: in evaluations, matches, and as an opponent."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from puffer_cuda.adapter import PolicyAdapter, cleared
from puffer_cuda.cursors import Agents
from puffer_cuda.sampling import best_action, sample_logits


class Actor:
    """Fixed weights and the recurrent state of every agent that they may play."""

    def __init__(
        self,
        policy: nn.Module,
        observations: Tensor,
        num_agents: int,
        generator: torch.Generator,
        greedy: bool = False,
    ) -> None:
        """Begin with the state of new episodes.

        Args:
            policy: on the device of `observations`.
            observations: `(batch, *obs)`, any; to find out about the policy's state.
            num_agents: of whom it may play some.
            generator: random numbers for drawing actions.
            greedy: play the most likely action instead.
        """
        self.adapter = PolicyAdapter(policy, observations)
        self.state = self.adapter.initial_state(num_agents, observations.device)
        self.generator, self.greedy = generator, greedy

    @torch.no_grad()
    def act(
        self, agents: Agents, observations: Tensor, begins: Tensor, allowed: Tensor | None = None
    ) -> Tensor:
        """Actions of some agents, in the form of `sample_logits`.

        Args:
            agents: which ones.
            observations: theirs, `(n, *obs)`.
            begins: `(n,)` bool, an episode begins with this observation.
            allowed: their action masks, `(n, choices)` bool; None allows all.
        """
        state = cleared(tuple(tensor[agents] for tensor in self.state), begins)
        logits, _, state = self.adapter.act(observations, state)
        for tensor, new in zip(self.state, state, strict=True):
            tensor[agents] = new
        if self.greedy:
            return best_action(logits, allowed)
        return sample_logits(logits, generator=self.generator, allowed=allowed)[0]
