"""`check_env`: create the environment, run all checks, make the report."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium

from puffer_core.check.clock import Clock, alarm
from puffer_core.check.episodes import Course
from puffer_core.check.lifecycle import check_life
from puffer_core.check.main_run import main_run
from puffer_core.check.native import PufferSubject
from puffer_core.check.native_checks import check_buffers
from puffer_core.check.parallel import ParallelSubject, is_parallel
from puffer_core.check.report import Findings, Report
from puffer_core.check.subject import (
    GymnasiumSubject,
    OutOfTime,
    Subject,
    TimeUp,
    Unusable,
    close_quietly,
    describe,
    form,
)
from puffer_core.check.twins import Maker, check_twins
from puffer_core.check.values import check_space
from puffer_core.env import PufferEnv

GRACE = 1.0  # seconds, and half of those allowed: more than slow calls need to come to an end


def check_env(
    creator: Callable[..., Any], steps: int = 10_000, seed: int = 0, seconds: float = 60
) -> Report:
    """Run an environment with random actions and explain what would make learning fail.

    Args:
        creator: Called without arguments; returns a Gymnasium environment, a PettingZoo parallel
            environment, or a PufferEnv, whose creator also takes `buf` and `seed`. It is called
            about ten times: every check gets an instance of its own.
        steps: Random steps of the main run; the checks that compare two runs take at most 1,000.
        seed: Of environments and actions.
        seconds: The checks stop after this time. A call that does not return is interrupted at
            1.5 times of it, in the main thread of Unix systems.

    Returns:
        The report. Exceptions of the environment are findings in it.
    """
    findings, clock, run = Findings(), Clock(seconds), _Run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say of an environment, findings say better
        try:
            with alarm(1.5 * seconds + GRACE):
                run.all_checks(creator, findings, steps, seed, clock)
        except Unusable:
            pass
        except OutOfTime:
            evidence = f"interrupted after {clock.elapsed:.1f} s"
            findings.add("timeout", evidence, step=run.subject.steps if run.subject else None)
    subject = run.subject
    return Report(
        name=subject.name if subject else getattr(creator, "__name__", repr(creator)),
        kind=subject.kind if subject else "",
        findings=list(findings),
        steps=subject.steps if subject else 0,
        episodes=subject.ends if subject else 0,
        seconds=clock.elapsed,
    )


class _Run:
    """One check; its attributes are what is known when it ends, however that is."""

    def __init__(self) -> None:
        self.subject: Subject | None = None
        self.courses: list[Course] = []

    def all_checks(
        self, creator: Callable[..., Any], findings: Findings, steps: int, seed: int, clock: Clock
    ) -> None:
        """Run every check; what one reports does not stop the others."""
        make_one, main = make_maker(creator, findings, seed), findings

        def make(findings: Findings, seed: int, dirt: int | None = None) -> Subject:
            if clock.used > 1:
                main.add("stopped-early", "not all checks were made")
                raise TimeUp
            return make_one(findings, seed, dirt)

        subject = self.subject = make(findings, seed)
        for agent, space in subject.spaces.items():
            check_space(space, f"{agent}.observation_space".lstrip("."), findings)
        try:
            with _anything_else(findings):
                self.courses = main_run(subject, steps, seed, clock)
        finally:
            close_quietly(subject)
        checks: list[Callable[[], None]] = [
            lambda: check_life(make, findings, seed, clock),
            lambda: check_twins(make, findings, seed, self.courses, clock, steps),
        ]
        if isinstance(subject, PufferSubject):
            checks.append(lambda: check_buffers(make, findings, seed, clock, steps))
        for check in checks:
            try:
                with _anything_else(findings):
                    check()
            except TimeUp:
                return
            except Unusable as error:
                # The same environment raised here and not in the main run.
                cause = error.__cause__ or error
                findings.add("exception", describe(cause))


def make_maker(creator: Callable[..., Any], findings: Findings, action_seed: int) -> Maker:
    """Find out what the creator makes, and return a function that makes subjects of it.

    Raises:
        Unusable: The creator raises, or makes nothing that can be checked.
    """
    probe: Any = _create(creator, findings)
    if isinstance(probe, PufferEnv) and not probe.emulated:

        def make_native(findings: Findings, seed: int, dirt: int | None = None) -> Subject:
            return PufferSubject(creator, probe, findings, action_seed, seed, dirt)

        close_quietly(probe)
        return make_native
    unwrap = isinstance(probe, PufferEnv)  # an emulated one: the wrapped environment is checked
    inner = probe.env if unwrap else probe
    close_quietly(probe)
    if isinstance(inner, gymnasium.Env) or _like_gymnasium(inner):
        subject_class: Any = GymnasiumSubject
    elif is_parallel(inner):
        subject_class = ParallelSubject
    else:
        findings.add("kind", f"got {form(inner)}")
        raise Unusable("kind")

    def make(findings: Findings, seed: int, dirt: int | None = None) -> Subject:
        env: Any = _create(creator, findings)
        subject: Subject = subject_class(env.env if unwrap else env, findings, action_seed)
        return subject

    return make


@contextlib.contextmanager
def _anything_else(findings: Findings) -> Iterator[None]:
    """Values of unheard-of kinds may raise where they are looked at; that is a finding as well."""
    try:
        yield
    except (Unusable, OutOfTime):
        raise
    except Exception as error:
        findings.add("exception", describe(error), "a returned value")
        raise Unusable from error


def _create(creator: Callable[..., Any], findings: Findings) -> object:
    try:
        return creator()
    except OutOfTime:
        raise
    except Exception as error:
        findings.add("exception", describe(error), "the constructor")
        raise Unusable("exception") from error


def _like_gymnasium(env: object) -> bool:
    """Whether it has the methods and a space for one agent; a PettingZoo space is a method."""
    has = all(hasattr(env, name) for name in ("reset", "step", "action_space"))
    return has and not callable(getattr(env, "observation_space", None))
