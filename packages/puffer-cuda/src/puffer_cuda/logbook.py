"""The clock and the logs of a training run, the same for every trainer."""

from __future__ import annotations

import logging
import os
import time
from typing import Protocol

LOGGER = logging.getLogger("puffer_cuda")
Logs = dict[str, float]


class Logger(Protocol):
    """Takes the logs of every epoch."""

    def log(self, logs: Logs, step: int) -> None:
        """Take them."""


class Logbook:
    """Counts seconds and hands every epoch's logs on.

    Attributes:
        logger: who gets them; its errors are reported and do not stop training.
        logs: the last ones.
    """

    def __init__(self, logger: Logger | None) -> None:
        """Start the clock."""
        self.logger = logger
        self.logs: Logs = {}
        self.continue_from(0.0, 0)

    @property
    def uptime(self) -> float:
        """Seconds since the start, those of earlier processes included."""
        return time.perf_counter() - self._start

    def continue_from(self, uptime: float, steps: int) -> None:
        """Go on with the clock of an earlier process, which made so many agent steps."""
        self._start = time.perf_counter() - uptime
        self._last = (steps, uptime)

    def begin(self, steps: int, epoch: int, learning_rate: float) -> Logs:
        """The first entries of an epoch's logs: agent_steps, SPS, uptime, epoch, learning_rate."""
        last_steps, last_uptime = self._last
        self._last = (steps, self.uptime)
        return {
            "agent_steps": steps,
            "SPS": (steps - last_steps) / (self._last[1] - last_uptime),
            "uptime": self._last[1],
            "epoch": epoch,
            "learning_rate": learning_rate,
        }

    def hand_on(self, logs: Logs, step: int) -> None:
        """Keep the logs of an epoch and give them to the logger."""
        self.logs = logs
        if self.logger is None:
            return
        try:
            self.logger.log(logs, step)
        except Exception as error:  # whatever a logger does: training is worth more
            LOGGER.warning("the logger failed, training goes on: %s: %s", type(error), error)

    def print(self, clear: bool = False) -> None:
        """Print the last logs as plain lines, on a cleared terminal if asked for."""
        if clear and os.isatty(1):
            print("\033[2J\033[H", end="")
        for name, value in self.logs.items():
            print(f"{name:32} {value:,.6g}")
