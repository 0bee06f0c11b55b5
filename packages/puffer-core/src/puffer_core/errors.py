"""The exceptions for wrong use of the packages."""

from __future__ import annotations

from collections.abc import Iterable


class APIUsageError(RuntimeError):
    """The caller broke a contract; the message says what was expected, what came, what to do.

    Attributes:
        message: The same text as `str(error)`.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidAgentError(APIUsageError, ValueError):
    """An agent that the environment does not know; the message lists those that it knows."""

    def __init__(self, agent_id: object, agents: Iterable[object], where: str = "") -> None:
        """Name the agent.

        Args:
            agent_id: The unknown agent.
            agents: All known ones.
            where: What mentioned it, such as "rewards".
        """
        place = f" in {where}" if where else ""
        super().__init__(f"unknown agent {agent_id!r}{place}; known: {list(agents)}.")
