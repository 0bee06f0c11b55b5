"""Checks that only a PufferEnv needs: does it write what it owns, all of it, in time?"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_core.check.catalogue import Severity
from puffer_core.check.clock import Clock
from puffer_core.check.native import PufferSubject
from puffer_core.check.report import Findings
from puffer_core.check.subject import Subject, close_quietly
from puffer_core.check.twins import STEPS, Maker
from puffer_core.check.values import difference

DIRT = (0x11, 0x5A)
Array: TypeAlias = "NDArray[Any]"
# Flags first: a stale one changes everything else too.
ORDER = ("terminals", "truncations", "rewards", "observations", "masks")
OTHER_CAUSES = ("seed-not-reproducible", "seed-first-episode", "shared-state")
ENDS = 5  # before `final_observations` is judged


def check_buffers(make: Maker, findings: Findings, seed: int, clock: Clock, steps: int) -> None:
    """Run two instances whose buffers are soiled differently, and one whose are clean.

    Vectorizers do not clear rewards and flags between steps, so what an environment does not
    write would be read again. Observations are soiled before `reset` only: between steps an
    environment may rely on what it wrote.
    """
    if any(code in findings for code in OTHER_CAUSES):
        return  # instances differ, whatever their buffers hold
    quiet = Findings()
    clean, *dirty = (make(quiet, seed, dirt) for dirt in (None, *DIRT))
    try:
        _compare(clean, dirty, findings, seed, clock, steps)
    finally:
        for subject in (clean, *dirty):
            close_quietly(subject)


def _compare(
    clean: Subject, dirty: list[Subject], findings: Findings, seed: int, clock: Clock, steps: int
) -> None:
    expected = clean.freeze(clean.reset(seed))
    for subject in dirty:
        got = subject.freeze(subject.reset(seed))
        differs = difference(expected, got)
        if differs:
            evidence = f"after reset, with clean and with used buffers: {differs[1]}"
            findings.add("buffer-leftovers", evidence, differs[0], 0)
            return
    ends = late = 0
    for step in range(1, min(steps, STEPS) + 1):
        if clock.used > 1:
            return
        expected = clean.freeze(clean.step(clean.sample()))
        for subject in dirty:
            got = subject.freeze(subject.step(subject.sample()))
            for name in ORDER:
                differs = difference({name: expected[name]}, {name: got[name]})
                if differs:
                    flag = name in ("terminals", "truncations")
                    code = "flags-not-cleared" if flag else "buffer-leftovers"
                    evidence = f"with clean and with used buffers: {differs[1]}"
                    findings.add(code, evidence, name, step)
                    return
        ended, one, two = _finals(dirty)
        if not ended.any():
            continue
        if one[ended].tobytes() != two[ended].tobytes():
            truncated = bool(expected["truncations"].any())
            severity: Severity | None = "error" if truncated else None
            evidence = "after truncation" if truncated else "after termination"
            findings.add("final-observation", evidence, "final_observations", step, severity)
        ends += int(ended.sum())
        late += int(_equal_rows(one[ended], expected["observations"][ended]).sum())
    if ends >= ENDS and late == ends and "final-observation" not in findings:
        _judge_late(clean, findings, ends)


def _finals(dirty: list[Subject]) -> tuple[NDArray[np.bool_], Array, Array]:
    first, second = dirty
    assert isinstance(first, PufferSubject)
    assert isinstance(second, PufferSubject)
    (ended, one), (_, two) = first.finals(), second.finals()
    return ended, one, two


def _equal_rows(one: Array, two: Array) -> NDArray[np.bool_]:
    axes = tuple(range(1, one.ndim))
    return np.asarray((one == two).all(axis=axes))


def _judge_late(clean: Subject, findings: Findings, ends: int) -> None:
    """Last and next first observation agreed at every end: a fault unless nothing ever changes."""
    assert isinstance(clean, PufferSubject)
    before = clean.buffers["observations"].copy()
    for _ in range(ENDS):
        clean.reset(None)
        if not np.array_equal(before, clean.buffers["observations"]):
            evidence = f"equal to the next first observation at all of {ends} ends"
            findings.add("final-observation-late", evidence, "final_observations")
            return
