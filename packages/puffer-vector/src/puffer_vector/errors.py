"""The exception for a worker that failed."""

from __future__ import annotations


class WorkerError(RuntimeError):
    """A worker process raised, exited, was killed or did not answer in time.

    The message names the worker, its environments, the step, and the original traceback, exit
    code or signal. The vectorizer has stopped all other workers and is closed.
    """
