"""Workers that raise, exit, die or hang, and parents that do."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from puffer_core import APIUsageError
from puffer_vector import Multiprocessing, Serial, WorkerError, make


def start(clock, fault, at, **kwargs):
    """Four environments in two workers; the environment with seed 102 is the broken one."""

    def creator(buf=None, seed=0):
        parent = os.getpid() == main
        return clock(buf=buf, seed=seed, fault=None if parent else fault, at=at)

    main = os.getpid()
    return make(
        creator, num_envs=4, num_workers=2, backend=Multiprocessing, seed=100, timeout=20, **kwargs
    )


ENDS = {
    "raise": "raised an error in environment 2",
    "sys.exit": "raised an error in environment 2",
    "exit": "exited with code 3",
    "kill": "was killed by SIGKILL (out of memory?)",
}


@pytest.mark.parametrize("fault", list(ENDS))
@pytest.mark.parametrize("where", ["init", "reset", "step"])
def test_a_failing_worker_is_one_error_that_says_all(clock, fault, where):
    phase = {"init": "construction", "reset": "reset", "step": "step 2"}[where]
    at = (where, (102, 2) if where == "step" else 102)
    made = []

    def run():
        made.append(start(clock, fault, at))
        made[0].reset()
        for _ in range(3):
            made[0].step([0] * 8)

    with pytest.raises(WorkerError) as error:
        run()
    message = str(error.value)
    assert message.startswith(f"Worker 1 (environments 2 to 3) {ENDS[fault]} during {phase}")
    assert ("Traceback" in message) == (fault in ("raise", "sys.exit"))
    if fault == "raise":
        assert f"ValueError: broken in {where}" in message
    for vecenv in made:
        with pytest.raises(APIUsageError, match="worker 1"):
            vecenv.reset()
        vecenv.close()


def test_a_hanging_worker_runs_into_the_timeout(clock):
    vecenv = start(clock, "hang", ("step", (102, 2)))
    vecenv._timeout = 0.3
    vecenv.reset()
    vecenv.step([0] * 8)
    with pytest.raises(WorkerError, match=r"Worker 1 .*did not answer within 0.3 s during step 2"):
        vecenv.step([0] * 8)


def test_a_worker_killed_from_outside(clock):
    vecenv = start(clock, None, None, batch_size=2)
    vecenv.async_reset()
    vecenv.recv()
    vecenv.recv()
    os.kill(vecenv._workers[1].process.pid, signal.SIGKILL)
    vecenv.send([0] * 4)  # the living worker

    def go_on():
        for _ in range(2):
            vecenv.recv()
            vecenv.send([0] * 4)

    with pytest.raises(
        WorkerError,
        match=r"Worker 1 .*was killed by SIGKILL \(out of memory\?\) (after reset|during step 1)",
    ):
        go_on()


def test_a_reset_that_fails_drops_what_was_in_flight(clock):
    kwargs = {"fault": "raise", "at": ("reset", 7)}
    vecenv = make(clock, env_kwargs=kwargs, num_envs=2, backend=Serial)
    vecenv.reset()
    vecenv.send([0] * 4)
    with pytest.raises(ValueError, match="broken in reset"):
        vecenv.async_reset(seed=6)
    with pytest.raises(APIUsageError, match="no batch is in flight"):
        vecenv.recv()
    vecenv.reset(seed=8)


def test_ctrl_c_is_the_parents_to_handle(clock):
    vecenv = start(clock, None, None)
    vecenv.reset()
    for worker in vecenv._workers:  # a terminal sends it to all processes of its group
        os.kill(worker.process.pid, signal.SIGINT)
    for _ in range(3):
        vecenv.step([0] * 8)
    assert all(worker.process.is_alive() for worker in vecenv._workers)
    vecenv.close()


def test_infos_that_cannot_travel_are_an_error_of_the_worker(clock):
    class Bad(clock):
        def step(self, actions):
            return (*super().step(actions)[:4], [{"callback": lambda: 0}])

    vecenv = make(Bad, num_envs=1, backend=Multiprocessing)
    vecenv.reset()
    with pytest.raises(WorkerError, match="pickle"):
        vecenv.step([0, 0])


def test_close_is_idempotent_and_final(clock):
    for backend in (Serial, Multiprocessing):
        vecenv = make(clock, num_envs=2, backend=backend)
        vecenv.async_reset()  # batches are in flight
        vecenv.close()
        vecenv.close()
        for name, *arguments in (("async_reset",), ("recv",), ("reset",), ("send", [0] * 4)):
            with pytest.raises(APIUsageError, match="was closed"):
                getattr(vecenv, name)(*arguments)


def test_environments_are_closed_even_if_one_raises(clock):
    closed = []

    class Closes(clock):
        def close(self):
            closed.append(self.seed)
            if self.seed == 0 and len(closed) > 1:
                raise ValueError("cannot close")

    vecenv = make(Closes, num_envs=3, backend=Serial)
    assert closed == [0]  # the one built to learn the size of the buffers
    with pytest.raises(ValueError, match="cannot close"):
        vecenv.close()
    assert closed == [0, 0, 1, 2]


def test_an_error_in_serial_passes_through_and_reset_goes_on(clock):
    vecenv = make(clock, env_kwargs={"fault": "raise", "at": ("step", (1, 2))}, num_envs=2,
                  backend=Serial)  # fmt: skip
    vecenv.reset()
    vecenv.step([0] * 4)
    with pytest.raises(ValueError, match="broken in step"):
        vecenv.step([0] * 4)
    with pytest.raises(APIUsageError, match=r"call reset\(\)"):
        vecenv.recv()
    with pytest.raises(APIUsageError, match="no batch waits"):
        vecenv.send([0] * 4)
    vecenv.reset()
    vecenv.step([0] * 4)


SCRIPT = """
import os, signal, sys, time
import gymnasium
from puffer_core import GymnasiumPufferEnv
from puffer_vector import Multiprocessing, make

class Slow(gymnasium.Wrapper):
    def step(self, action):
        if {hang}:
            time.sleep(3600)
        return self.env.step(action)

def creator(buf=None, seed=0):
    return GymnasiumPufferEnv(Slow(gymnasium.make("CartPole-v1")), buf=buf, seed=seed)

vecenv = make(creator, num_envs=2, backend=Multiprocessing, num_workers=2)
vecenv.reset()
vecenv.send([0, 0])
print(*(worker.process.pid for worker in vecenv._workers), flush=True)
{ending}
"""


def run_script(folder, ending, hang=False):
    """Run a program without `if __name__ == "__main__"`; return it and its workers' ids."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(ending=ending, hang=hang))
    program = subprocess.Popen(
        [sys.executable, "-W", "error", str(script)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pids = [int(pid) for pid in program.stdout.readline().split()]
    assert len(pids) == 2, program.communicate()
    return program, pids


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before the open, or before the read
        return False


def assert_gone(pids):
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, pids))


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


@needs_proc
@pytest.mark.parametrize("hang", [False, True])
def test_workers_end_with_a_killed_parent(tmp_path, hang):
    program, pids = run_script(tmp_path, "time.sleep(3600)", hang)
    assert all(map(alive, pids))
    program.kill()
    program.wait()  # not communicate: workers hold the pipes too
    try:
        assert_gone(pids)
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)
        program.communicate()


@needs_proc
@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("raise ValueError", 1), ("os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
     ("vecenv.close()", 0), ("del vecenv", 0), ("os._exit(4)", 4)],
)  # fmt: skip
def test_a_program_that_ends_leaves_nothing_and_does_not_hang(tmp_path, ending, code):
    program, pids = run_script(tmp_path, ending)
    _, errors = program.communicate(timeout=20)
    assert program.returncode == code, errors
    if code == 0:
        assert errors == ""
    assert_gone(pids)
