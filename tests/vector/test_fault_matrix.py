"""Every fault, in every backend, with the parent alive and dead: told once, and nothing is left."""

import os
import signal
import subprocess
import sys
import time

import fault_env
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, PufferEnv
from puffer_vector import WorkerError, make

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

SECONDS = 60  # far more than anything here takes; a fault must not hang

# Fault, where it can happen, what the message says of the worker, and how the message ends.
MATRIX = [
    ("raise", ["init", "reset", "step"], "raised an error in environment 2", "broken on purpose"),
    ("sys.exit", ["init", "reset", "step"], "raised an error in environment 2", "SystemExit: 3"),
    ("os._exit", ["init", "reset", "step"], "exited with code 3", "."),
    ("SIGKILL", ["init", "reset", "step"], "was killed by SIGKILL (out of memory?)", "."),
    ("SIGSEGV", ["init", "reset", "step"], "was killed by SIGSEGV", "."),
    ("memory", ["init", "reset", "step"], "raised an error in environment 2", "MemoryError"),
    ("hang", ["reset", "step"], "did not answer within 2 s", "."),
    ("stuck", ["step"], "did not answer within 2 s", "."),
    ("infos", ["reset", "step"], "raised an error in environment 2", "pickle"),
    ("None", ["init"], "raised an error in environment 2", "must return a PufferEnv, got None."),
]
CELLS = [(fault, where, *said) for fault, places, *said in MATRIX for where in places]
PHASES = {"init": "construction", "reset": "reset", "step": "step 2"}

# Backends whose environments live in other processes. Another one is one more row.
BACKENDS = {
    "forkserver": ("Multiprocessing", {"context": "forkserver"}),
    "fork": ("Multiprocessing", {"context": "fork"}),
    "spawn": ("Multiprocessing", {"context": "spawn"}),
}
# In the fast tests all faults of the default, and one of the others; in the slow ones 30 times all:
# one after the other, or as many vectorizers in a program that ends.
FAST = [pytest.param("forkserver", cell, 1, id=f"forkserver-{cell[0]}-{cell[1]}") for cell in CELLS]
FAST += [
    pytest.param(name, cell, 1, id=f"{name}-{cell[0]}-{cell[1]}")
    for name in ("fork", "spawn")
    for cell in CELLS
    if cell[:2] in (("raise", "step"), ("SIGKILL", "reset"))
]
SLOW = [
    pytest.param(name, cell, 30, id=f"{name}-{cell[0]}-{cell[1]}-30", marks=pytest.mark.slow)
    for name in BACKENDS
    for cell in CELLS
]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before the open, or before the read
        return False


def shared_entries():
    """Names in /dev/shm, semaphores among them, that no living process holds."""
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps") as maps:
                held |= {
                    line.split("/dev/shm/")[1].split()[0] for line in maps if "/dev/shm/" in line
                }
        except (OSError, IndexError):
            continue
    return set(os.listdir("/dev/shm")) - held


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def nothing_left():
    """Gather process ids in the list; none of them may live, and no shared memory stay."""
    before, pids = shared_entries(), []
    yield pids
    try:
        assert wait_until(lambda: not any(map(alive, pids)))
        assert wait_until(lambda: not shared_entries() - before), shared_entries() - before
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)


def run_to_the_fault(name, fault, where, pids):
    """Start and step until it fails; return the error, and the vectorizer if there was one."""
    backend, kwargs = BACKENDS[name]
    timeout = 2 if fault in ("hang", "stuck") else None
    vecenv = None
    try:
        if timeout:
            kwargs = {**kwargs, "timeout": 20}  # to start
        vecenv = fault_env.start(backend, fault, where, num_workers=2, **kwargs)
        vecenv._timeout = timeout
        pids += [worker.process.pid for worker in vecenv._workers]
        vecenv.reset()
        for _ in range(3):
            vecenv.step([0] * 4)
    except WorkerError as error:
        return error, vecenv
    raise AssertionError("nothing failed")


@pytest.mark.parametrize(("name", "cell", "times"), [*FAST, *SLOW])
def test_with_the_parent_alive(name, cell, times, nothing_left):
    fault, where, said, end = cell
    for _ in range(times):
        began = time.monotonic()
        error, vecenv = run_to_the_fault(name, fault, where, nothing_left)
        assert time.monotonic() - began < SECONDS
        message = str(error)
        begin = f"Worker 1 (environments 2 to 3) {said} during {PHASES[where]}"
        assert message.startswith(begin)
        assert end in message[len(begin) :]
        assert ("Traceback" in message) == ("raised" in said)
        if vecenv is not None:
            with pytest.raises(APIUsageError, match="cannot be used any more: worker 1"):
                vecenv.step([0] * 4)
            vecenv.close()
            vecenv.close()


@pytest.mark.parametrize("where", ["init", "reset", "step"])
@pytest.mark.parametrize(("fault", "kind"), [("raise", ValueError), ("sys.exit", SystemExit)])
def test_in_this_process(fault, kind, where):
    """Serial: what an environment raises passes through as it is."""
    vecenv = None

    def run():
        nonlocal vecenv
        vecenv = fault_env.start("Serial", fault, where)
        vecenv.reset()
        for _ in range(3):
            vecenv.step([0] * 4)

    with pytest.raises(kind):
        run()
    if vecenv is not None:
        vecenv.close()
        vecenv.close()


@pytest.mark.parametrize("backend", ["Serial", "Multiprocessing"])
def test_a_probe_that_fails_passes_through(backend):
    def fails(buf=None, seed=0):
        raise ValueError("no licence")

    with pytest.raises(ValueError, match="no licence"):
        make(fails, num_envs=2, backend=backend)
    with pytest.raises(APIUsageError, match="must return a PufferEnv, got None"):
        make(lambda buf=None, seed=0: None, num_envs=2, backend=backend)


@pytest.mark.parametrize("backend", ["Serial", "Multiprocessing"])
def test_not_a_number_is_no_fault(backend):
    class NotANumber(PufferEnv):
        def __init__(self, buf=None, seed=0):
            self.single_observation_space = spaces.Box(0, 1, (1,))
            self.single_action_space = spaces.Discrete(2)
            self.num_agents = 1
            super().__init__(buf)

        def reset(self, seed=None):
            return self.observations, []

        def step(self, actions):
            self.observations[:] = self.rewards[:] = np.nan
            return self.observations, self.rewards, self.terminals, self.truncations, []

    vecenv = make(NotANumber, num_envs=2, backend=backend)
    vecenv.reset()
    for _ in range(2):
        observations, rewards, *_ = vecenv.step([0, 0])
        assert np.isnan(observations).all()
        assert np.isnan(rewards).all()
    vecenv.close()


# How the program ends, the signal that it is sent, and its exit code; None: whichever.
ENDINGS = {
    "killed": ("wait", signal.SIGKILL, -signal.SIGKILL),
    "terminated": ("wait", signal.SIGTERM, -signal.SIGTERM),
    "interrupted": ("wait", signal.SIGINT, -signal.SIGINT),
    "interrupted in recv": ("recv", signal.SIGINT, None),  # the fault may come first
    "raising": ("raise", None, 1),
    "without close": ("", None, 0),
}
HANGS = ("hang", "stuck")
IN_STEP = [fault for fault, places, *_ in MATRIX if "step" in places]
DEAD_FAST = [
    pytest.param(context, fault, ending, 1, id=f"{context}-{fault}-{ending}")
    for ending in ENDINGS
    for context, fault in (("forkserver", "stuck"), ("fork", "hang"), ("spawn", "raise"))
    if context == "forkserver" or ending in ("killed", "without close")
]
DEAD_SLOW = [
    pytest.param(c, f, ending, 30, id=f"{c}-{f}-{ending}-30", marks=pytest.mark.slow)
    for ending in ENDINGS
    for c in BACKENDS
    for f in IN_STEP
]


@pytest.mark.parametrize(("context", "fault", "ending", "times"), [*DEAD_FAST, *DEAD_SLOW])
def test_with_the_parent_dead(context, fault, ending, times, nothing_left):
    last, number, code = ENDINGS[ending]
    program = subprocess.Popen(
        [sys.executable, "-W", "error", fault_env.__file__, context, fault, last, str(times)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pids = [int(pid) for pid in program.stdout.readline().split()]
    assert len(pids) == 2 * times, program.communicate()
    nothing_left += [*pids, program.pid]
    if number is not None:
        program.send_signal(number)
    # Ends when the workers have, too; those that hang get a grace of 3 s in each vectorizer.
    _, errors = program.communicate(timeout=SECONDS + 4 * times)
    assert code in (None, program.returncode), errors
    if code == 0 and fault in HANGS:
        assert errors == ""
