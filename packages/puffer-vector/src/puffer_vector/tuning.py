"""What `autotune` returns: facts of machine and environment, and every plan with its result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Profile:
    """One environment alone in this process, with random actions.

    Attributes:
        native: It is a native PufferEnv and resets itself.
        agents: Agents of one environment.
        build_seconds: Time that its constructor took, the second time.
        steps_per_second: Agent steps.
        spread: Half the width of the middle 68 % of the times of steps, as a share of their median.
        reset_share: Share of the time that resets take; None for native environments, whose resets
            are part of their steps.
        memory_bytes: What one more environment takes, its rows of the buffers included.
    """

    native: bool
    agents: int
    build_seconds: float
    steps_per_second: float
    spread: float
    reset_share: float | None
    memory_bytes: int


@dataclass
class Trial:
    """One plan and what came of it.

    Attributes:
        settings: Keywords of `make`, besides the creator and its arguments.
        env_kwargs: Keyword arguments of the creator that belong to this plan.
        memory_bytes: Estimate of what the plan takes: its environments, and for each worker as
            much as this process has.
        agents: Agents of all environments.
        steps_per_second: Agent steps; None if it was not tried.
        skipped: Why it was not tried.
    """

    settings: dict[str, Any]
    env_kwargs: dict[str, Any]
    memory_bytes: int
    agents: int
    steps_per_second: float | None = None
    skipped: str = ""


@dataclass(frozen=True)
class Tuning:
    """The result of `autotune`.

    Attributes:
        cpus: CPUs that this process may use.
        memory_limit: Bytes that a plan may take.
        seconds: Time that everything took.
        profile: The environment alone.
        trials: All plans, the fastest first, those that were not tried last.
        best: The plan to use: of all within 5 % of the fastest the one that takes the least memory.
    """

    cpus: int
    memory_limit: int
    seconds: float
    profile: Profile
    trials: list[Trial]
    best: Trial

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return asdict(self)
