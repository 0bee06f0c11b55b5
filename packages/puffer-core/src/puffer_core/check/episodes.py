"""What the whole course of an agent tells: ends, resets without a flag, rewards, time limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_core.check.catalogue import Severity
from puffer_core.check.report import Findings
from puffer_core.check.subject import place
from puffer_core.check.values import measurable
from puffer_core.spaces import Space

FEATURES = 256  # numbers of an observation that are followed; larger ones are sampled
ROWS = 10_000  # observations that are followed
FAR = 6.0  # ordinary steps that a jump must span
EVENTS = 3  # jumps before they are believed
MANY_STEPS = 1000  # below, "never" says nothing
SAME_LENGTH = 5  # episodes of one length before that is no chance
PILE = 20  # episodes, and per cent of them, that end at the greatest length


class Course:
    """Observations, rewards and ends of one agent over the main run."""

    def __init__(self, agent: str, space: Space, max_steps: int | None = None) -> None:
        self.agent = agent
        self.max_steps = max_steps
        self.rewards: list[float] = []
        self.lengths: list[tuple[int, bool]] = []  # of finished episodes; whether by `terminated`
        self.firsts: list[int] = []  # indices of observations after an unseeded reset
        self.both = 0
        self._observations: list[NDArray[np.float64]] = []
        self._breaks: set[int] = set()  # observations that do not follow from the one before
        metric = measurable(space)
        chosen = np.random.default_rng(0).permutation(metric.size)[:FEATURES]
        self._size, self._chosen = metric.size, np.sort(chosen)
        self._metric = metric[self._chosen]
        self._length = 0

    def observe(self, frozen: Iterable[NDArray[Any]], first: bool, seeded: bool = False) -> None:
        """Add an observation; `first` ones begin an episode."""
        flat = np.concatenate([part.ravel().astype(np.float64) for part in frozen])
        if first:
            self._length = 0
        # Of another size: already a finding.
        if flat.size != self._size or len(self._observations) >= ROWS:
            return
        if first:
            self._breaks.add(len(self._observations))
            if not seeded:
                self.firsts.append(len(self._observations))
        self._observations.append(flat[self._chosen])

    def step(self, reward: float, terminated: bool, truncated: bool) -> None:
        """Add the reward and the flags of a step."""
        self.rewards.append(reward)
        self._length += 1
        self.both += terminated and truncated
        if terminated or truncated:
            self.lengths.append((self._length, terminated and not truncated))

    def judge(self, findings: Findings, steps: int) -> None:
        """Report what the whole course of `steps` steps tells."""
        if self._observations:
            table = np.stack(self._observations)
            self._judge_observations(table, findings, steps)
        self._judge_rewards(findings, steps)
        self._judge_ends(findings)

    def _judge_observations(
        self, table: NDArray[np.float64], findings: Findings, steps: int
    ) -> None:
        path = place(self.agent, "observation")
        if steps >= MANY_STEPS and (table == table[0]).all():
            findings.add("observation-constant", f"the same in {steps:,} steps", path)
            return
        jumps = silent_resets(table, self._breaks, self._metric)
        if len(jumps) >= EVENTS:
            before, after = (_brief(table[i]) for i in (jumps[0] - 1, jumps[0]))
            step = jumps[0] + 1 - sum(start <= jumps[0] for start in self._breaks)
            evidence = (
                f"from {before} to {after}, as after a reset, in one step; {len(jumps)} such "
                f"jumps, the first about step {step}"
            )
            never = not self.lengths
            findings.add("silent-reset", evidence, path, step, "error" if never else None)

    def _judge_rewards(self, findings: Findings, steps: int) -> None:
        rewards = np.array(self.rewards)
        if not rewards.size or not np.isfinite(rewards).all():
            return
        path = place(self.agent, "reward")
        if steps >= MANY_STEPS and (rewards == rewards[0]).all():
            # Neither rewards nor the lengths of episodes differ: nothing tells good from bad.
            severity: Severity | None = None if self.lengths else "warning"
            evidence = f"{rewards[0]:g} in all of {steps:,} steps"
            findings.add("reward-constant", evidence, path, None, severity)
        outside = np.flatnonzero(np.abs(rewards) > 1)
        if outside.size:
            share = outside.size / rewards.size
            evidence = f"{rewards.min():g} to {rewards.max():g}, {share:.1%} of them outside"
            findings.add("reward-scale", evidence, path, int(outside[0]) + 1)

    def _judge_ends(self, findings: Findings) -> None:
        path = self.agent
        if not self.lengths:
            return
        if self.both:
            evidence = f"in {self.both} of {len(self.lengths)} ends"
            findings.add("both-flags", evidence, path)
        longest = max(length for length, _ in self.lengths)
        at_longest = [by_end for length, by_end in self.lengths if length == longest]
        terminated = sum(at_longest)
        if longest < 2 or terminated < len(at_longest):
            return
        evidence = f"{terminated} of {len(self.lengths)} episodes end by terminated at {longest}"
        if longest == self.max_steps and terminated >= EVENTS:
            findings.add("time-limit", f"{evidence}, the environment's max_episode_steps", path)
        elif terminated == len(self.lengths) and terminated >= SAME_LENGTH:
            findings.add("time-limit", f"{evidence}, none at another step", path)
        elif terminated >= max(PILE, len(self.lengths) * PILE / 100):
            evidence += " steps, none takes longer"
            findings.add("time-limit", evidence, path, None, "note")

    def first_observations(self) -> NDArray[np.float64]:
        """The first observations of episodes that were begun without a seed."""
        if not self.firsts:
            return np.empty((0, 0))
        return np.stack([self._observations[i] for i in self.firsts])


def silent_resets(
    table: NDArray[np.float64], breaks: set[int], metric: NDArray[np.bool_]
) -> list[int]:
    """Find observations that look like the first of an episode and come out of the blue.

    Three things must hold for row t. It lies within the hull of the stated first observations, in
    every number. Row t-1 does not. And the way from row t-1 into the hull is longer than `FAR`
    ordinary steps, measured in that number's own median change, or it changes `FAR` times as many
    numbers as ordinary steps do. Moving over the start by small steps is thus never a reset. Where
    an observation is one choice, or a grid with few changes, a jump looks like a move and is not
    reported.

    Args:
        table: `(T, D)`, one observation a row.
        breaks: Rows that begin an episode as stated.
        metric: `(D,)`, whether differences of a number are distances.
    """
    firsts = table[sorted(breaks)]
    low, high = firsts.min(axis=0), firsts.max(axis=0)
    margin = (high - low) / 4 + 1e-9
    low, high = low - margin, high + margin
    follows = np.ones(len(table), dtype=bool)
    follows[sorted(breaks)] = False
    follows[0] = False
    change = np.abs(np.diff(table, axis=0, prepend=table[:1]))
    change[~follows] = 0
    moved = np.where(change > 0, change, np.nan)
    active = (change > 0).any(axis=0)
    if not active.any():
        return []
    active &= metric
    ordinary = np.full(table.shape[1], np.inf)  # a number that never moves shows no jump
    ordinary[active] = np.nanmedian(moved[:, active], axis=0)
    usual_count = max(1.0, float(np.quantile((change > 0).sum(axis=1)[follows], 0.9)))

    inside = ((table >= low) & (table <= high)).all(axis=1)
    gap = np.maximum(np.maximum(low - table, table - high), 0)  # of each number to the hull
    reach = (gap[:-1] / ordinary).max(axis=1)
    count = ((gap[:-1] > 0) & (change[1:] > 0)).sum(axis=1)
    far = (reach >= FAR) | (count >= FAR * usual_count)
    return [int(t) for t in 1 + np.flatnonzero(follows[1:] & inside[1:] & ~inside[:-1] & far)]


def _brief(row: NDArray[np.float64]) -> str:
    numbers = ", ".join(f"{number:.3g}" for number in row[:4])
    return f"({numbers}{', ...' if row.size > 4 else ''})"
