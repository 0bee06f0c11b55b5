"""The main run: thousands of random steps, every value looked at."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from puffer_core.check.catalogue import Severity
from puffer_core.check.clock import Clock
from puffer_core.check.episodes import Course
from puffer_core.check.report import show
from puffer_core.check.subject import Moment, Subject, place, truth
from puffer_core.check.values import Frozen, freeze, leaves

RESETS = 20  # at the beginning, so that the range of first observations is known
SEARCH = 50_000  # more steps in search of an end, if there was none
MAX_AGENTS = 8  # whose course is followed


def main_run(subject: Subject, steps: int, seed: int, clock: Clock) -> list[Course]:
    """Take random steps and report what is seen.

    Returns:
        The courses of the agents that were followed.

    Raises:
        Unusable: The environment cannot be driven.
    """
    findings = subject.findings
    max_steps = getattr(subject, "max_steps", None)
    courses = {
        # Rows of one environment are alike: their findings count as one.
        agent: Course("" if subject.self_resetting else agent, space, max_steps)
        for agent, space in list(subject.spaces.items())[:MAX_AGENTS]
    }
    generators = _global_generators()
    watch = Kept()
    _reset(subject, courses, watch, seed)
    for _ in range(RESETS):
        if clock.used > 0.1:
            break
        _reset(subject, courses, watch, None)
    taken = 0
    try:
        while subject.steps < steps:
            if clock.used > 0.5:
                findings.add("stopped-early", f"after {subject.steps:,} of {steps:,} steps")
                break
            if subject.over:
                _reset(subject, courses, watch, None)
            _step(subject, courses, watch)
            taken = subject.steps
        if not any(course.lengths for course in courses.values()):
            _search_end(subject, clock)
    finally:  # an exception late in the run hides nothing of what came before
        for course in courses.values():
            course.judge(findings, taken)
        if _global_generators() != generators:
            findings.add("global-random", "its state changed during the random steps")
    return list(courses.values())


def _search_end(subject: Subject, clock: Clock) -> None:
    """Random actions may need long to end an episode: go on for a while, looking at flags only."""
    limit = subject.steps + SEARCH
    while subject.steps < limit and clock.used < 0.6:
        ended = subject.step(subject.sample()).ended
        subject.ends += len(ended)
        if ended or subject.over:
            return
    severity: Severity | None = None if subject.steps >= SEARCH else "note"
    subject.findings.add(
        "episode-never-ends", f"not once in {subject.steps:,} steps", severity=severity
    )


class Kept:
    """The last observation as it was returned, to see whether it changes afterwards."""

    def __init__(self) -> None:
        self._value: Any = None
        self._frozen: Frozen = {}

    def check(self, subject: Subject, moment: Moment) -> None:
        """Report if the kept observation has changed since, and keep this one instead."""
        if subject.self_resetting:  # observations are the live buffers, by contract
            return
        now = freeze(self._value, "observation")
        for path, array in self._frozen.items():
            if not np.array_equal(array, now[path], equal_nan=array.dtype.kind == "f"):
                evidence = f"{show(array)} became {show(now[path])}"
                subject.findings.add("observation-reused", evidence, path, subject.steps)
        observations: dict[str, Any] = moment.observations
        self._value = observations.get("", observations)
        self._frozen = {
            path: leaf.copy()
            for path, leaf in leaves(self._value, "observation")
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf"
        }


def _reset(subject: Subject, courses: dict[str, Course], watch: Kept, seed: int | None) -> None:
    moment = subject.reset(seed)
    subject.inspect(moment)
    watch.check(subject, moment)
    for agent, course in courses.items():
        if agent in moment.observations:
            parts = _numbers(moment.observations[agent])
            if parts:
                course.observe(parts, first=True, seeded=seed is not None)


def _step(subject: Subject, courses: dict[str, Course], watch: Kept) -> None:
    moment = subject.step(subject.sample())
    subject.ends += len(moment.ended)
    subject.inspect(moment)
    watch.check(subject, moment)
    for agent, course in courses.items():
        if agent not in moment.rewards or agent not in moment.terminated:
            continue  # dead, or missing, which is a finding
        reward = _reward(subject, agent, moment.rewards[agent])
        flags = [
            _flag(subject, agent, name, values.get(agent, False))
            for name, values in (
                ("terminated", moment.terminated),
                ("truncated", moment.truncated),
            )
        ]
        course.step(reward, *flags)
        if agent in moment.observations:
            parts = _numbers(moment.observations[agent])
            if parts:
                course.observe(parts, first=subject.self_resetting and any(flags))


def _numbers(observation: Any) -> list[Any]:
    frozen = freeze(observation, "")
    return [array for array in frozen.values() if array.dtype.kind in "biuf"]


def _reward(subject: Subject, agent: str, reward: Any) -> float:
    """The reward as a float, NaN if it is none, which is reported."""
    path = place(agent, "reward")
    try:
        value = np.asarray(reward)
    except Exception:  # an object with an __array__ of its own
        value = np.asarray(None)
    if value.size != 1 or value.dtype.kind not in "biuf":
        subject.findings.add("reward-type", f"got {show(reward)}", path, subject.steps)
        return np.nan
    if value.ndim:
        evidence = f"got {show(reward)}, shape {value.shape}"
        subject.findings.add("reward-type", evidence, path, subject.steps, "warning")
    number = float(value.item())
    if not np.isfinite(number):
        subject.findings.add("reward-nan", f"{number}", path, subject.steps)
    return number


def _flag(subject: Subject, agent: str, name: str, flag: Any) -> bool:
    if not isinstance(flag, (bool, np.bool_)):
        path = place(agent, name)
        is_number = isinstance(flag, (int, np.integer)) and flag in (0, 1)
        severity: Severity | None = None if is_number else "error"
        subject.findings.add("flag-type", f"got {show(flag)}", path, subject.steps, severity)
    return truth(flag)


def _global_generators() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2], random.getstate()
