"""The worker process: a group of environments that obeys one pipe."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import parent_process
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_core.buffers import Buffers, Field, rows
from puffer_vector.control import run, run_pickled
from puffer_vector.group import EnvGroup
from puffer_vector.infos import Info, pack
from puffer_vector.line import Board, Pipe, WorkerLine
from puffer_vector.recipes import Facts, Recipe

Shared: TypeAlias = "Mapping[str, ctypes.Array[ctypes.c_byte]]"

# Many workers share the cores; a pool of threads in each would only fight.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def view_shared(shared: Shared, fields: Mapping[str, Field]) -> Buffers:
    """View blocks of shared memory as the buffers that `fields` describes."""
    buffers: Buffers = {}
    for name, field in fields.items():
        count = int(np.prod(field.shape, dtype=np.int64))
        flat: NDArray[Any] = np.frombuffer(memoryview(shared[name]), dtype=field.dtype, count=count)
        buffers[name] = flat.reshape(field.shape)
    return buffers


def run_worker(
    pipe: Pipe,
    board: Board,
    shared: Shared,
    payload: bytes,
    num_envs: int,
    first_env: int,
    seeds: list[int],
    again: bytes | None = None,
) -> None:
    """Build environments and step them until the parent says so or dies.

    The parent commands a step without words, `("reset", seeds)`, `("call", payload)` or
    `("close", None)`. The answer to the start, every step and every reset is `("infos", packed)`,
    or no words where there are none; to a call `("result", payload)`; and once
    `("error", (environment index, traceback))`.

    Args:
        pipe: This end of the duplex pipe.
        board: Of this worker.
        shared: Shared memory of the joint buffers.
        payload: The facts and this worker's recipes, pickled by value.
        num_envs: Number of environments of all workers.
        first_env: Global index of this worker's first environment.
        seeds: The seeds of this worker's environments.
        again: In place of a worker that failed: pickled calls to run on the new environments.
            They are reset then, and `("infos", packed)` answers what the other left unanswered.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _let_kernel_watch_parent()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    line = WorkerLine(pipe, board)
    group = None
    try:
        facts, recipes = _unpack(payload)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
        first_row = first_env * facts.num_agents
        last_row = first_row + len(recipes) * facts.num_agents
        buffers = view_shared(shared, facts.layout(num_envs))
        group = EnvGroup(facts, rows(buffers, first_row, last_row), first_env)
        for recipe, seed in zip(recipes, seeds, strict=True):
            group.build(recipe, seed)
        infos: list[Any] = [] if again is None else begin_again(group, first_env, again, seeds)
        _answer(line, group, infos)
        while True:
            words: tuple[str, Any] = line.listen() or ("step", None)
            command, argument = words
            if command == "close":
                break
            if command == "call":
                line.answer(("result", run_pickled(group, first_env, argument)))
            else:
                _answer(line, group, group.step() if command == "step" else group.reset(argument))
    except BaseException:  # also SystemExit: the parent must hear about it
        env = first_env if group is None else group.current
        with contextlib.suppress(OSError):  # the parent may be gone
            line.answer(("error", (env, traceback.format_exc())))
    finally:
        if group is not None:
            group.close()


def begin_again(group: EnvGroup, first_env: int, again: bytes, seeds: Sequence[int]) -> list[Info]:
    """Run pickled calls and a reset on environments that replace others; return its infos."""
    for env_ids, call in pickle.loads(again):
        run(group, first_env, env_ids, call)
    infos: list[Any] = group.reset(seeds)
    return [Info(info, info.env, began=True) for info in infos]


def _answer(line: WorkerLine, group: EnvGroup, infos: list[Any]) -> None:
    try:
        line.answer(("infos", pack(infos)) if infos else None)
    except OSError:
        raise
    except Exception:  # not even one exception class is common to all that cannot be pickled
        for info in infos:
            group.current = info.env  # of the first that cannot travel
            pickle.dumps(info)
        raise


def _unpack(payload: bytes) -> tuple[Facts, list[Recipe]]:
    facts, recipes = pickle.loads(payload)  # made by cloudpickle, in the parent, a moment ago
    return facts, recipes


def _die_with_parent() -> None:
    """Exit as soon as the parent is gone, even in the middle of a step that never ends."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _let_kernel_watch_parent() -> None:
    """Let the kernel end this process with the parent, whatever the interpreter does then.

    A thread cannot where C code keeps the interpreter's lock. The parent holds the other end of a
    pipe; where it closes, Linux sends SIGIO, which ends a process that does not handle it.
    """
    parent = parent_process()
    if parent is None or not sys.platform.startswith("linux"):
        return
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)
