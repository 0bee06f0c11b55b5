"""Idle workers, and long runs."""

import gc
import os
import time

import numpy as np
import pytest

from puffer_vector import Multiprocessing, Serial, make

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_proc
def test_a_waiting_worker_uses_no_cpu(clock):
    vecenv = make(clock, num_envs=4, num_workers=2, backend=Multiprocessing)
    pids = [worker.process.pid for worker in vecenv._workers]
    vecenv.reset()
    for _ in range(100):
        vecenv.step([0] * 8)
    time.sleep(0.2)  # a short spin after the last step would be over
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(2)
    used = [cpu_seconds(pid) - start for pid, start in zip(pids, before, strict=True)]
    assert max(used) <= 0.02  # of 2 s; a worker that polls would have used all of them
    vecenv.step([0] * 8)
    vecenv.close()


@needs_proc
def test_a_waiting_parent_uses_no_cpu(clock):
    class Slow(clock):
        def step(self, actions):
            time.sleep(1.5)
            return super().step(actions)

    vecenv = make(Slow, num_envs=1, backend=Multiprocessing)
    vecenv.reset()
    before = time.process_time()
    vecenv.step([0, 0])
    assert time.process_time() - before < 0.15  # of 1.5 s
    vecenv.close()


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "kwargs"),
    [
        (Serial, {}),
        (Multiprocessing, {"num_workers": 2}),
        (Multiprocessing, {"num_workers": 2, "batch_size": 2}),
        (Multiprocessing, {"num_workers": 2, "batch_size": 2, "zero_copy": False}),
        (Multiprocessing, {"num_workers": 2, "on_error": "restart"}),
    ],
)
def test_memory_stays_the_same_for_100_000_steps(clock, backend, kwargs):
    """Memory is asserted, the rate of the first and last tenth printed (`pytest -s`)."""
    steps = 100_000
    vecenv = make(clock, num_envs=4, backend=backend, **kwargs)
    pids = [os.getpid(), *(worker.process.pid for worker in getattr(vecenv, "_workers", []))]
    batches = vecenv.num_agents // vecenv.agents_per_batch
    actions = np.zeros(vecenv.agents_per_batch, int)
    vecenv.async_reset()
    seconds, memory = [], []
    for _ in range(10):
        began = time.monotonic()
        for _ in range(steps // 10 * batches):
            vecenv.recv()
            vecenv.send(actions)
        seconds.append(time.monotonic() - began)
        gc.collect()
        memory.append([resident_bytes(pid) for pid in pids])
    vecenv.close()
    rates = [steps / 10 / took for took in seconds]
    print(f"\n{backend.__name__} {kwargs}: {rates[0]:,.0f} steps/s first, {rates[-1]:,.0f} last")
    for first, last in zip(memory[1], memory[-1], strict=True):
        assert last - first < 2**20, memory  # 80,000 steps: 13 bytes a step would be seen
