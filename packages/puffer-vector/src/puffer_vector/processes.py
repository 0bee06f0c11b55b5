"""Start worker processes, tell how they ended, and leave none behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import BaseContext
from typing import Any, NamedTuple

from puffer_vector.line import Board, ParentLine
from puffer_vector.worker import ONE_THREAD, run_worker

GRACE = 3.0  # seconds that a worker gets to finish its step and close its environments


class Worker(NamedTuple):
    """A worker process as the parent sees it."""

    process: Any  # the class depends on the start method
    line: ParentLine
    envs: range  # global indices of its environments


def start_worker(
    context: BaseContext, board: Board, arguments: tuple[Any, ...], envs: range
) -> Worker:
    """Start a process that runs `run_worker(pipe, board, *arguments)`."""
    ours, theirs = context.Pipe()
    with _clean_start():
        process = context.Process(  # type: ignore[attr-defined]
            target=run_worker,
            args=(theirs, board, *arguments),
            name=f"puffer-envs-{envs[0]}-{envs[-1]}",
            daemon=True,
        )
        process.start()
    theirs.close()  # so that the worker's death ends the pipe
    return Worker(process, ParentLine(ours, board), envs)


def how_it_ended(worker: Worker) -> str:
    """Say how a worker ended, for a message."""
    worker.process.join(GRACE)
    code = worker.process.exitcode
    if code is None:
        return "closed its pipe"
    if code < 0:
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"was killed by {signal.Signals(-code).name}{hint}"
    return f"exited with code {code}"


def stop_workers(workers: list[Worker], selector: selectors.BaseSelector, owner: int) -> None:
    """Ask all workers to close, and make those end that do not within `GRACE` seconds.

    Args:
        workers: The workers; the list is empty afterwards.
        selector: What watches them; it is closed.
        owner: Id of the process that started them. In a fork of it nothing happens.
    """
    if os.getpid() != owner:
        return
    selector.close()
    for worker in workers:
        with contextlib.suppress(OSError):
            worker.line.command(("close", None))
    deadline = time.monotonic() + GRACE
    for worker in workers:
        end_worker(worker, max(0.0, deadline - time.monotonic()))
    workers.clear()


def end_worker(worker: Worker, grace: float = GRACE) -> None:
    """Give a worker `grace` seconds to end by itself, then make it end."""
    worker.process.join(grace)
    for end in (worker.process.terminate, worker.process.kill):
        if worker.process.is_alive():
            end()
            worker.process.join(1.0)
    worker.line.pipe.close()
    with contextlib.suppress(ValueError):  # not even SIGKILL ended it
        worker.process.close()


@contextlib.contextmanager
def _clean_start() -> Iterator[None]:
    """Start processes with one thread each, and without running the user's script in them.

    `multiprocessing` imports the main script again in every process, which is why scripts need
    an `if __name__ == "__main__"`. Our creators travel by value, so that nothing in a worker
    needs the script.
    """
    main = sys.modules["__main__"]
    hidden = {name: main.__dict__[name] for name in ("__spec__", "__file__") if hasattr(main, name)}
    missing = [name for name in ONE_THREAD if name not in os.environ]
    try:
        main.__dict__.update(dict.fromkeys(hidden))
        os.environ.update({name: ONE_THREAD[name] for name in missing})
        yield
    finally:
        main.__dict__.update(hidden)
        for name in missing:
            os.environ.pop(name, None)
