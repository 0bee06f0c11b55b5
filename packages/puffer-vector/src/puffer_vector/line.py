"""Line: how the parent and one worker talk, through shared memory wherever both are awake.

A command or answer is a counter in shared memory that goes up by one. Few of them need words: those
of answers lie in shared memory too if they are short, others in a pipe. The pipe also wakes a side
that sleeps, by an empty message, and so is watched together with the death of processes.
"""

from __future__ import annotations

import ctypes
import pickle
import select
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any, TypeAlias

from puffer_vector.waiting import Waiter

Pipe: TypeAlias = "Connection[Any, Any]"
BOX = 1 << 16  # bytes of an answer's words; longer ones go through the pipe
NO_WORDS, IN_PIPE = 0, -1  # in place of a length
# Where in `Board.state`: counters, where the words are, and whether the worker sleeps.
COMMANDS, ANSWERS, COMMAND_WORDS, ANSWER_WORDS, WORKER_SLEEPS = range(5)
CACHE_LINES = 16  # numbers; so that nobody else's lie beside them


class Board:
    """What the parent and one worker share besides a pipe."""

    def __init__(self, context: BaseContext, parent_sleeps: Any) -> None:
        """Make a board.

        Args:
            context: Of the processes.
            parent_sleeps: A shared number, the same for all workers of a parent.
        """
        self.state = context.RawArray(ctypes.c_int64, CACHE_LINES)
        self.box = context.RawArray(ctypes.c_byte, BOX)
        self.parent_sleeps = parent_sleeps


class Fence:
    """A full memory fence; one for each process, since a fork may copy a lock that is held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """Let others see what was written before the call ahead of what comes after."""
        # A release followed by an acquire lets nothing pass, on any processor.
        for _ in range(2):
            with self._lock:
                pass


class ParentLine:
    """The parent's end."""

    def __init__(self, pipe: Pipe, board: Board) -> None:
        self.pipe = pipe
        self._state = board.state
        self._box = memoryview(board.box).cast("B")
        self._fence = Fence()
        self._answers = 0  # that were read
        self._gone = select.poll()
        self._gone.register(pipe, 0)  # tells of a closed pipe all the same

    def command(self, words: object = None) -> None:
        """Tell the worker to step, or something else in words.

        Raises:
            OSError: The worker is gone.
        """
        if self._gone.poll(0):
            raise BrokenPipeError("The worker is gone.")
        data = b"" if words is None else pickle.dumps(words)
        state = self._state
        state[COMMAND_WORDS] = IN_PIPE if data else NO_WORDS
        self._fence()
        state[COMMANDS] += 1
        self._fence()
        if data or state[WORKER_SLEEPS]:
            self.pipe.send_bytes(data)

    def has_answer(self) -> bool:
        """Tell whether an answer waits to be read."""
        return bool(self._state[ANSWERS] > self._answers)

    def answer(self) -> Any:
        """Read the answer that waits, and return its words, None without words.

        Raises:
            OSError, EOFError: The worker died while it spoke.
        """
        self._fence()
        where = self._state[ANSWER_WORDS]
        data = _words(self.pipe) if where == IN_PIPE else self._box[:where]
        self._answers += 1
        return pickle.loads(data) if data else None

    def clear(self) -> None:
        """Take an empty message out of a pipe that has something to read.

        Raises:
            OSError, EOFError: The worker is gone.
        """
        if not (self.has_answer() and self._state[ANSWER_WORDS] == IN_PIPE):
            self.pipe.recv_bytes()


class WorkerLine:
    """The worker's end."""

    def __init__(self, pipe: Pipe, board: Board) -> None:
        self._pipe = pipe
        self._state = board.state
        self._box = memoryview(board.box).cast("B")
        self._parent_sleeps = board.parent_sleeps
        self._fence = Fence()
        self._commands = 0  # that were read
        self._waiter = Waiter(self._has_command, self._sleep)

    def listen(self) -> Any:
        """Wait for a command and return its words, None for a step.

        Raises:
            EOFError: The parent is gone.
        """
        while not self._has_command():
            self._waiter.wait()
        self._fence()
        self._commands += 1
        if self._state[COMMAND_WORDS] == NO_WORDS:
            return None
        return pickle.loads(_words(self._pipe))

    def answer(self, words: object = None) -> None:
        """Answer the command; what was written to shared memory before is seen by the parent then.

        Raises:
            OSError: The parent is gone.
            Exception: The words cannot be pickled; nothing was answered.
        """
        data = b"" if words is None else pickle.dumps(words, pickle.HIGHEST_PROTOCOL)
        state, fits = self._state, len(data) <= BOX
        if fits:
            self._box[: len(data)] = data
        state[ANSWER_WORDS] = len(data) if fits else IN_PIPE
        self._fence()
        state[ANSWERS] += 1
        self._fence()
        if not fits or self._parent_sleeps[0]:
            self._pipe.send_bytes(b"" if fits else data)

    def _has_command(self) -> bool:
        return bool(self._state[COMMANDS] > self._commands)

    def _sleep(self, timeout: float | None) -> None:
        self._state[WORKER_SLEEPS] = True
        self._fence()
        if not self._has_command():
            self._pipe.poll(timeout)
            if not (self._has_command() and self._state[COMMAND_WORDS] == IN_PIPE):
                self._pipe.recv_bytes()  # what woke us
        self._state[WORKER_SLEEPS] = False


def _words(pipe: Pipe) -> bytes:
    """Read the next message that is not empty: one may have been sent to wake us in vain."""
    while not (data := pipe.recv_bytes()):
        pass
    return data
