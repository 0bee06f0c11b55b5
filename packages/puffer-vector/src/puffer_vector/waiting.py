"""Waiting for the other side of a pipe: awake for a moment if that pays, else asleep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

LOOK = 100e-6  # seconds awake; sleeping and being woken costs about half of that
SHORT = 2 * LOOK


class Waiter:
    """Waits with a poll function: after a short wait the next one begins awake, but yielding.

    Processes that answer each other within microseconds so spare the way through sleep, which costs
    more than their steps. Whoever waits longer, for slow environments or a policy, only sleeps.
    """

    def __init__(self, poll: Callable[[float | None], list[Any]]) -> None:
        """Wait until `poll(seconds)` returns something; None means without limit."""
        self._poll = poll
        self._short = True

    def wait(self, timeout: float | None = None) -> list[Any]:
        """Return what `poll` found, or an empty list after `timeout` seconds."""
        begin = time.perf_counter()
        found: list[Any] = []
        if self._short:
            end = begin + LOOK
            while not (found := self._poll(0)) and time.perf_counter() < end:
                os.sched_yield()  # the other side may need this CPU
        found = found or self._poll(timeout)
        self._short = time.perf_counter() - begin < SHORT
        return found
