"""What a check drives: one interface for Gymnasium, PettingZoo and PufferEnv."""

from __future__ import annotations

import copy
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from puffer_core.check.report import Findings, show
from puffer_core.check.values import Frozen, freeze
from puffer_core.spaces import Space


class Unusable(Exception):  # noqa: N818  # no fault of the checker: the finding is already noted
    """The environment cannot be driven any further; the reason is among the findings."""


class Moment(NamedTuple):
    """What one reset or step returned, by agent and as it came.

    `ended` holds the agents whose episode is over; after it a self-resetting environment shows
    the first observation of the next one.
    """

    observations: dict[str, Any]
    rewards: dict[str, Any]
    terminated: dict[str, Any]
    truncated: dict[str, Any]

    @property
    def ended(self) -> list[str]:
        """Agents whose episode is over."""
        return [
            a
            for a in self.terminated
            if truth(self.terminated[a]) or truth(self.truncated.get(a, False))
        ]


class Subject(ABC):
    """An environment under check. Subclasses say how to call it and what must come back.

    Attributes:
        kind: Of the interface, for the report.
        name: Of the environment.
        spaces: Observation space of every agent that is looked at.
        over: Whether only `reset` may come next.
        self_resetting: Whether `step` begins the next episode itself.
        steps: Steps taken.
        ends: Ends of episodes in the main run.
    """

    kind: str
    name: str
    spaces: dict[str, Space]
    over: bool
    self_resetting = False

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.steps = 0
        self.ends = 0

    @abstractmethod
    def reset(self, seed: int | None) -> Moment:
        """Begin an episode; None continues the random stream."""

    @abstractmethod
    def step(self, actions: Any) -> Moment:
        """Take one step with a result of `sample`."""

    @abstractmethod
    def sample(self) -> Any:
        """Random actions from a stream of their own; every call draws the same amount."""

    @abstractmethod
    def inspect(self, moment: Moment, path: str = "") -> None:
        """Report observations that differ from their spaces."""

    @abstractmethod
    def close(self) -> None:
        """Close the environment."""

    def freeze(self, moment: Moment) -> Frozen:
        """Copies of everything in a moment, by path."""
        frozen: Frozen = {}
        for agent, observation in moment.observations.items():
            frozen |= freeze(observation, place(agent, "observation"))
        for name in ("rewards", "terminated", "truncated"):
            for agent, value in getattr(moment, name).items():
                frozen |= freeze(value, place(agent, name.removesuffix("s")))
        return frozen

    def call(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call into the environment; an exception becomes a finding.

        Raises:
            Unusable: It raised.
        """
        try:
            return function(*args, **kwargs)
        except (Unusable, OutOfTime):
            raise
        except Exception as error:
            self.findings.add("exception", describe(error), f"{name}()", self.steps)
            raise Unusable from error

    def unusable(self, code: str, evidence: str) -> Unusable:
        """Add a finding after which nothing else can be checked."""
        self.findings.add(code, evidence, step=self.steps)
        return Unusable(code)


class TimeUp(Unusable):
    """The allowed time is over; what is left is not checked."""


class OutOfTime(Exception):  # noqa: N818
    """The alarm interrupted a call."""


def close_quietly(thing: Any) -> None:
    """Close without a word: `check_life` checks closing, on an instance that lived properly."""
    try:
        thing.close()
    except OutOfTime:
        raise
    except Exception:
        return


def describe(error: BaseException) -> str:
    """The exception, and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    # The file's name is enough, and the same on every machine.
    place_ = f"{last.filename.rpartition('/')[2]}:{last.lineno} in {last.name}"
    return f"{type(error).__name__}: {show(str(error))[1:-1]} ({place_}: {last.line})"


def place(agent: str, name: str) -> str:
    """The path of a value of an agent; a lone agent has no name."""
    return f"{agent}.{name}" if agent else name


class GymnasiumSubject(Subject):
    """A `gymnasium.Env`: one agent, whose name is empty."""

    kind = "Gymnasium"

    def __init__(self, env: Any, findings: Findings, action_seed: int) -> None:
        super().__init__(findings)
        self.env = env
        spec = getattr(env, "spec", None)
        self.name = spec.id if spec else type(env).__name__
        self.max_steps: int | None = spec.max_episode_steps if spec else None
        self.spaces = {}
        for attribute in ("observation_space", "action_space"):
            space = getattr(env, attribute, None)
            if not isinstance(space, gymnasium.Space):
                raise self.unusable("space", f"{attribute} is {show(space)}")
        self.spaces = {"": env.observation_space}
        # A copy: sampling from the environment's own space would draw from the stream that it
        # may use itself.
        self._actions = copy.deepcopy(env.action_space)
        self._actions.seed(action_seed)
        self.over = True

    def reset(self, seed: int | None) -> Moment:
        """Begin an episode, and check the form of the result."""
        arguments = {} if seed is None or "reset-seed" in self.findings else {"seed": seed}
        try:
            result = self.call("reset", self.env.reset, **arguments)
        except Unusable as error:
            cause = error.__cause__
            if not (isinstance(cause, TypeError) and "seed" in str(cause) and arguments):
                raise
            self.findings.discard("exception")
            self.findings.add("reset-seed", describe(cause), step=self.steps)
            result = self.call("reset", self.env.reset)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise self.unusable("reset-return", f"got {form(result)}")
        self._check_info(result[1])
        self.over = False
        return Moment({"": result[0]}, {}, {}, {})

    def step(self, actions: Any) -> Moment:
        """Take one step, and check the form of the result."""
        before = actions.copy() if isinstance(actions, np.ndarray) else None
        result = self.call("step", self.env.step, actions)
        self.steps += 1
        if before is not None and not np.array_equal(before, actions):
            self.findings.add("action-modified", f"{before} became {actions}", step=self.steps)
        if not (isinstance(result, tuple) and len(result) == 5):
            raise self.unusable("step-return", f"got {form(result)}")
        observation, reward, terminated, truncated, info = result
        self._check_info(info)
        self.over = bool(truth(terminated) or truth(truncated))
        return Moment({"": observation}, {"": reward}, {"": terminated}, {"": truncated})

    def sample(self) -> Any:
        """A random action."""
        return self._actions.sample()

    def inspect(self, moment: Moment, path: str = "") -> None:
        """Compare the observation with its space."""
        from puffer_core.check.values import check_observation

        value = moment.observations[""]
        check_observation(self.spaces[""], value, "observation", self.findings, self.steps)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _check_info(self, info: object) -> None:
        if not isinstance(info, dict):
            evidence = f"expected a dict, got {show(info)}"
            self.findings.add("info-type", evidence, "info", self.steps)


def form(result: object) -> str:
    """The form of a wrong result, in words."""
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}: {show(result)}"
    return f"{type(result).__name__}: {show(result)}"


def truth(value: Any) -> bool:
    """Whether a flag of any form is set."""
    array: NDArray[Any] = np.asarray(value)
    return bool(array.any()) if array.dtype.kind in "biuf" else bool(value)
