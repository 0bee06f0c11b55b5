"""Waiting for another process: awake for a moment if that pays, else asleep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

LOOK = 100e-6  # seconds awake; sleeping and being woken costs about half of that
SHORT = 2 * LOOK


class Waiter:
    """Looks for something to be ready: after a short wait the next one begins awake, but yielding.

    Processes that answer each other within microseconds so spare the way through sleep, which costs
    more than their steps. Whoever waits longer, for slow environments or a policy, only sleeps.
    """

    def __init__(self, ready: Callable[[], bool], sleep: Callable[[float | None], None]) -> None:
        """Wait for `ready()`; `sleep(seconds)` returns by then, or earlier for any reason."""
        self._ready = ready
        self._sleep = sleep
        self._short = True

    def wait(self, timeout: float | None = None) -> None:
        """Return when it is ready, or after one sleep; None: sleep without limit."""
        begin = time.perf_counter()
        ready = self._ready()
        if self._short:
            end = begin + LOOK
            while not (ready := ready or self._ready()) and time.perf_counter() < end:
                os.sched_yield()  # the other side may need this CPU
        if not ready:
            self._sleep(timeout)
        self._short = time.perf_counter() - begin < SHORT
