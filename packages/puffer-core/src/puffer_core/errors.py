"""The one exception for wrong use of the packages."""

from __future__ import annotations


class APIUsageError(RuntimeError):
    """The caller broke a contract; the message says what was expected, what came, what to do.

    Attributes:
        message: The same text as `str(error)`.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
