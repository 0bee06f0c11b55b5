"""The life of an instance: steps before the first reset and after the end, closing."""

from __future__ import annotations

from puffer_core.check.clock import Clock
from puffer_core.check.report import Findings
from puffer_core.check.subject import (
    GymnasiumSubject,
    OutOfTime,
    Subject,
    Unusable,
    close_quietly,
    describe,
)
from puffer_core.check.twins import Maker

LONGEST = 5000  # steps to wait for an end


def check_life(make: Maker, findings: Findings, seed: int, clock: Clock) -> None:
    """Report steps that should be refused, and closing that fails."""
    _check_before_reset(make, findings, seed)
    subject = make(Findings(), seed)
    try:
        # Without agents, as after a PettingZoo episode, a step asks for nothing.
        if subject.kind == GymnasiumSubject.kind:
            _check_after_end(subject, findings, seed, clock)
    except Unusable:
        pass  # raising is what it should do; elsewhere the main run reports it
    for code in ("close", "close-twice"):
        try:
            subject.close()
        except OutOfTime:
            raise
        except Exception as error:
            findings.add(code, describe(error))
            return


def _check_before_reset(make: Maker, findings: Findings, seed: int) -> None:
    subject = make(Findings(), seed)
    try:
        subject.step(subject.sample())
    except Unusable:
        return
    finally:
        close_quietly(subject)
    findings.add("step-before-reset", "no exception")


def _check_after_end(subject: Subject, findings: Findings, seed: int, clock: Clock) -> None:
    subject.reset(seed)
    for _ in range(LONGEST):
        if subject.over or clock.used > 0.6:
            break
        subject.step(subject.sample())
    if not subject.over:
        return
    moment = subject.step(subject.sample())
    if not moment.ended:
        findings.add("step-after-end", "no exception, and no flag set", step=subject.steps)
