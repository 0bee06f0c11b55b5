"""The driver of a sweep: it asks the study for trials, and starts and watches their processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any, NamedTuple

from puffer_cli.sweep.settings import SweepConfig
from puffer_protein.processes import birth
from puffer_protein.study import Study, Trial
from puffer_protein.tuner import Tuner

POLL_SECONDS = 0.1
PATIENCE = 60.0  # for trials to leave after they were asked to
LAST_LINES = 2000  # characters of a dead trial's output that are kept


class Interrupted(Exception):  # noqa: N818 - it is no error
    """The user or the system asked the sweep to stop, and it has left cleanly.

    Attributes:
        signal: the number of the signal.
    """

    def __init__(self, number: int, path: Path) -> None:
        super().__init__(
            f"stopped by {signal.Signals(number).name}; `--resume {path.parent}` goes on"
        )
        self.signal = number


class TooManyFailuresError(RuntimeError):
    """So many trials failed in a row that the rest would fail as well."""


class _Running(NamedTuple):
    """A trial in a process of this driver."""

    trial: Trial
    slot: int
    process: subprocess.Popen[bytes]
    output: IO[bytes]


class Driver:
    """Runs trials of a study until there are no more.

    Attributes:
        study: open.
        tuner: brought to the study's state before each suggestion.
    """

    def __init__(
        self, study: Study, tuner: Tuner, settings: SweepConfig, show: Callable[[Driver], None]
    ) -> None:
        """Prepare.

        Args:
            study: to run.
            tuner: of its space.
            settings: of the sweep.
            show: called whenever something may have changed.
        """
        self.study, self.tuner, self.settings = study, tuner, settings
        self._show = show
        self._running: list[_Running] = []
        self._adopted: list[Trial] = []
        self._first = 0

    def run(self) -> None:
        """Run all trials, then the repeats of the best.

        Raises:
            Interrupted: SIGINT or SIGTERM arrived; trials that ran will be run again.
            TooManyFailuresError: names the last error.
        """
        self.study.recover()
        self._adopted = self.study.trials("running")  # of a driver that is gone
        self._first = max((t.told or 0 for t in self.study.trials()), default=0)
        with _stop_requests() as requests:
            try:
                self._loop(requests)
                if self.settings.repeat_best and not requests:
                    self._enqueue_repeats()
                    self._loop(requests)
            finally:
                self._leave(requests)
        if requests:
            raise Interrupted(requests[0], self.study.path)

    def _loop(self, requests: list[int]) -> None:
        more = True
        while not requests:
            self._reap()
            self._check_failures()
            busy = len(self._running) + len(self._adopted)
            if more and busy < self.settings.workers:
                trial = self._next()
                more = trial is not None
                if trial is not None:
                    self._start(trial)
                    continue
            if not more and not busy:
                return
            self._show(self)
            time.sleep(POLL_SECONDS)

    def _next(self) -> Trial | None:
        trials = self.study.trials()
        waiting = any(t.state in ("pending", "preempted") for t in trials)
        spent = sum(t.cost or 0.0 for t in trials)
        limit = self.settings.max_runs
        if self.settings.max_cost and spent >= self.settings.max_cost:
            if not waiting:
                return None
            limit = 0  # what was begun is finished, nothing new
        return self.study.ask(self.tuner, limit)

    def _start(self, trial: Trial) -> None:
        folder = self.study.path.parent / "output"
        folder.mkdir(exist_ok=True)
        output = (folder / f"{trial.id:05d}.txt").open("w+b")
        slot = min(set(range(self.settings.workers)) - {r.slot for r in self._running})
        devices = [name.strip() for name in self.settings.devices.split(",") if name.strip()]
        device = [devices[slot % len(devices)]] if devices else []
        line = [sys.executable, "-m", "puffer_cli.sweep.trial", str(self.study.path)]
        # A session of its own: Ctrl-C reaches the driver alone, which tells the trials.
        process = subprocess.Popen(
            [*line, str(trial.id), str(trial.attempt), *device],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._running.append(_Running(trial, slot, process, output))

    def _reap(self) -> None:
        """Look at processes that have ended, and at adopted ones that are gone."""
        for running in list(self._running):
            code = running.process.poll()
            if code is None:
                continue
            running.output.seek(0)
            text = running.output.read().decode(errors="replace")[-LAST_LINES:].strip()
            running.output.close()
            self._running.remove(running)
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            last = text.splitlines()[-1] if text else "no output"
            error = f"the process ended without a result ({how}): {last}"
            self.study.lost(running.trial.id, error)  # of no effect if it has told a result
        for trial in list(self._adopted):
            current = self.study.trial(trial.id)
            gone = birth(current.pid or 0) != current.born
            if current.state != "running" or gone:
                self._adopted.remove(trial)
                self.study.lost(trial.id, "the process ended without a result")

    def _check_failures(self) -> None:
        k = self.settings.max_failures
        told = [t for t in self.study.trials() if (t.told or 0) > self._first]
        last = sorted(told, key=lambda t: t.told or 0)[-k:]
        if len(last) == k and all(t.state in ("failed", "diverged") for t in last):
            raise TooManyFailuresError(
                f"{k} trials in a row failed (sweep.max_failures); the last one: {last[-1].error}"
            )

    def _enqueue_repeats(self) -> None:
        """Put the best settings of the front in line with new seeds, unless they are already."""
        if any(t.kind == "repeated" for t in self.study.trials()):
            return
        self.study.load(self.tuner)
        best = sorted(self.tuner.front(), key=lambda point: point.score)
        if self.settings.goal == "maximize":
            best.reverse()
        for point in best[: self.settings.repeat_best]:
            for _ in range(self.settings.repeat_seeds):
                self.study.add(point.values, "repeated")

    def _leave(self, requests: list[int]) -> None:
        """Ask the trials to end, wait, and kill what does not; a second signal does not wait."""
        for running in self._running:
            running.process.terminate()
        deadline = time.monotonic() + PATIENCE
        for running in self._running:
            while running.process.poll() is None:
                if time.monotonic() > deadline or len(requests) > 1:
                    running.process.kill()
                time.sleep(POLL_SECONDS)
            running.output.close()
            self.study.preempt(running.trial.id)  # of no effect if it has told a result
        self._running = []


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them."""
    requests: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python allows no handlers
        yield requests
        return

    def note(number: int, frame: FrameType | None) -> None:
        requests.append(number)

    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    previous: dict[int, Any] = {number: signal.signal(number, note) for number in numbers}
    try:
        yield requests
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
