"""The bounds in time: a share of the seconds for each part, and an alarm for calls that hang."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from puffer_core.check.subject import OutOfTime


class Clock:
    """How much of the allowed time is used."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._start

    @property
    def used(self) -> float:
        """Share of the allowed time that is over; 1 and more when it is up."""
        return self.elapsed / self.seconds if self.seconds > 0 else 1.0


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Interrupt Python code that runs longer than `seconds`, where the system can.

    Signals reach the main thread of Unix systems only, and no C code that never returns; elsewhere
    time is checked between calls alone.

    Raises:
        OutOfTime: In the code that runs too long.
    """
    possible = hasattr(signal, "setitimer") and (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, None)
    )
    if not possible:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
