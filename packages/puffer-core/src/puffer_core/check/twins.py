"""Runs that must agree: the same seed and actions under circumstances that must not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from puffer_core.check.clock import Clock
from puffer_core.check.episodes import SAME_LENGTH, Course
from puffer_core.check.report import Findings
from puffer_core.check.subject import Moment, Subject, Unusable, close_quietly
from puffer_core.check.values import Frozen, difference, leaves

STEPS = 1000
MEMORY = 2**26  # bytes of a recording
WARM_UP = 50  # steps before the reset whose result must not depend on them


class Maker(Protocol):
    """Makes new subjects: one instance of the environment each."""

    def __call__(self, findings: Findings, seed: int, dirt: int | None = None) -> Subject:
        """Create an instance; the random actions of all are the same."""


class Recording(NamedTuple):
    """A run to compare with."""

    frozen: list[Frozen]  # every reset and step in order
    first_end: int  # index of the first moment that belongs to a later episode
    steps: int


class Split(NamedTuple):
    """Where a second run left the recording."""

    step: int
    path: str
    evidence: str
    later_episode: bool


def play(subject: Subject, seed: int, steps: int) -> Iterator[Moment]:
    """Run with the subject's random actions; yields every reset and step."""
    yield subject.reset(seed)
    for _ in range(steps):
        yield subject.step(subject.sample())
        if subject.over:
            yield subject.reset(None)


def record(subject: Subject, seed: int, steps: int, clock: Clock, limit: float) -> Recording:
    """Run and remember everything; shorter if time or memory run out."""
    frozen: list[Frozen] = []
    first_end = None
    size = 0
    for moment in play(subject, seed, steps):
        frozen.append(subject.freeze(moment))
        if first_end is None and moment.ended and (subject.over or subject.self_resetting):
            first_end = len(frozen) - subject.self_resetting
        size += sum(array.nbytes for array in frozen[-1].values())
        if clock.used > limit or size > MEMORY:
            break
    return Recording(frozen, len(frozen) if first_end is None else first_end, subject.steps)


def replay(
    subject: Subject,
    seed: int,
    recording: Recording,
    clock: Clock,
    after: Callable[[Moment], None] = lambda moment: None,
) -> Split | None:
    """Run again and stop where the results leave the recording.

    Args:
        subject: An instance whose random actions begin anew.
        seed: Of the reset.
        recording: What to compare with.
        clock: The time that is left.
        after: Called with every moment after it was compared.
    """
    begin = subject.steps
    run = play(subject, seed, recording.steps)
    for index, (expected, moment) in enumerate(zip(recording.frozen, run, strict=False)):
        differs = difference(expected, subject.freeze(moment))
        if differs:
            return Split(subject.steps - begin, *differs, index >= recording.first_end)
        after(moment)
        if clock.used > 1:
            break
    return None


def check_twins(
    make: Maker, findings: Findings, seed: int, courses: list[Course], clock: Clock, steps: int
) -> None:
    """Compare runs that must agree, and report those that do not."""
    quiet = Findings()  # what the main run reports is not reported again
    subject = make(quiet, seed)
    try:
        recording = record(subject, seed, min(steps, STEPS), clock, 0.6)
    finally:
        close_quietly(subject)
    if not _check_same_seed(make, quiet, findings, seed, recording, clock):
        return  # without reproducible runs the others say nothing
    _check_other_seeds(make, quiet, findings, seed, recording, courses, clock)
    for check in (_check_shared, _check_leaks, _check_alias):
        if clock.used > 1:
            return
        check(make, quiet, findings, seed, recording, clock)


def _check_same_seed(
    make: Maker, quiet: Findings, findings: Findings, seed: int, recording: Recording, clock: Clock
) -> bool:
    subject = make(quiet, seed)
    split = replay(subject, seed, recording, clock)
    close_quietly(subject)
    if split is None:
        return True
    code = "seed-first-episode" if split.later_episode else "seed-not-reproducible"
    findings.add(code, f"seed {seed} twice: {split.evidence}", split.path, split.step)
    return False


def _check_other_seeds(
    make: Maker,
    quiet: Findings,
    findings: Findings,
    seed: int,
    recording: Recording,
    courses: list[Course],
    clock: Clock,
) -> None:
    splits = []
    for other in (seed + 1, seed + 2):
        subject = make(quiet, other)
        splits.append(replay(subject, other, recording, clock))
        close_quietly(subject)
    tables = [course.first_observations() for course in courses]
    tables = [table for table in tables if len(table) >= SAME_LENGTH]
    constant = bool(tables) and all((table == table[0]).all() for table in tables)
    if any(splits):
        if constant and all(split and split.step == 0 for split in splits):
            evidence = f"{len(tables[0])} resets without a seed, one first observation"
            findings.add("episodes-identical", evidence)
        return
    evidence = f"seeds {seed}, {seed + 1} and {seed + 2}, {recording.steps} steps each"
    findings.add("seed-no-effect" if constant or not tables else "seed-ignored", evidence)


def _check_shared(
    make: Maker, quiet: Findings, findings: Findings, seed: int, recording: Recording, clock: Clock
) -> None:
    """Run beside another instance that is created late and steps in between."""
    others: list[Subject] = []
    turns: list[Iterator[Moment]] = []

    def disturb(moment: Moment) -> None:
        if not others:
            others.append(make(quiet, seed + 1))
            turns.append(play(others[0], seed + 1, recording.steps))
        else:  # a step later: creating it must not matter either
            next(turns[0], None)

    subject = make(quiet, seed)
    broken = None
    try:
        split = replay(subject, seed, recording, clock, disturb)
    except Unusable as error:
        split, broken = None, error
    for instance in (subject, *others):
        close_quietly(instance)
    if split:
        evidence = f"alone, then beside another instance: {split.evidence}"
        findings.add("shared-state", evidence, split.path, split.step)
    elif broken:
        findings.add("shared-state", f"beside another instance it raised {broken.__cause__!r}")


def _check_leaks(
    make: Maker, quiet: Findings, findings: Findings, seed: int, recording: Recording, clock: Clock
) -> None:
    """Run an instance that has played before."""
    used, fresh = make(quiet, seed), make(quiet, seed)
    used.reset(seed + 1)
    for _ in range(WARM_UP):
        if used.over:
            used.reset(None)
        used.step(used.sample())
        if clock.used > 1:
            break
    used.sample = fresh.sample  # type: ignore[method-assign]  # actions from the beginning
    split = replay(used, seed, recording, clock)
    for instance in (used, fresh):
        close_quietly(instance)
    if split:
        evidence = f"new, then after {WARM_UP} steps and reset({seed}): {split.evidence}"
        findings.add("reset-leaks", evidence, split.path, split.step)


def _check_alias(
    make: Maker, quiet: Findings, findings: Findings, seed: int, recording: Recording, clock: Clock
) -> None:
    """Run while every returned observation is overwritten as soon as it was looked at."""
    subject = make(quiet, seed)
    if subject.self_resetting:  # its rows are its memory, by contract
        close_quietly(subject)
        return
    broken = None
    try:
        split = replay(subject, seed, recording, clock, _scribble)
    except Unusable as error:
        split, broken = None, error
    close_quietly(subject)
    if split:
        evidence = f"after writing 0 or 1 into it: {split.evidence}"
        findings.add("observation-alias", evidence, split.path, split.step)
    elif broken:
        findings.add("observation-alias", f"after writing into it {broken.__cause__!r} was raised")


def _scribble(moment: Moment) -> None:
    for _, leaf in leaves(dict(moment.observations), ""):
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable and leaf.dtype.kind in "biuf":
            leaf[...] = leaf == 0
