"""The pool of C threads: every range once, asleep when idle, gone when closed, whole after fork."""

import gc
import itertools
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from puffer_ocean import OceanEnv, build
from puffer_ocean.pool import Pool, _library

TASKS = Path("/proc/self/task")
linux = pytest.mark.skipif(not TASKS.exists(), reason="counts threads in /proc")


def run(pool, count):
    """Run a task that notes its range and its thread."""
    ffi, functions = _library()
    seen = []

    @ffi.callback("void(void *, int32_t, int32_t)")
    def task(context, first, last):
        assert context == ffi.NULL
        seen.append((first, last, threading.get_native_id()))

    assert functions.puffer_pool_run(pool._pool, task, ffi.NULL, count) == ffi.NULL
    return sorted(seen)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_ranges_cover_everything_once_whatever_the_count(threads):
    pool = Pool(threads)
    for count in (0, 1, 2, 7, 8, 1000, 2**31 - 1):
        bounds = [count * k // threads for k in range(threads + 1)]
        expected = [(a, b) for a, b in itertools.pairwise(bounds) if a < b]
        assert [(first, last) for first, last, _ in run(pool, count)] == expected
    pool.close()


def test_every_range_has_its_own_thread_and_the_caller_has_the_first():
    pool = Pool(4)
    first, second = run(pool, 4), run(pool, 4)
    assert first == second
    assert first[0] == (0, 1, threading.get_native_id())
    assert len({thread for _, _, thread in first}) == 4
    pool.close()


def threads_become(count):
    """The kernel lists a thread for a moment after it was joined."""
    deadline = time.monotonic() + 10
    while (left := len(list(TASKS.iterdir()))) != count and time.monotonic() < deadline:
        time.sleep(0.01)
    return left == count


def play(threads, steps=200, num_envs=13):
    env = OceanEnv("breakout", num_envs, num_threads=threads, seed=3, frameskip=4)
    rng = np.random.default_rng(0)
    env.reset(3)
    seen = []
    for _ in range(steps):
        observations, rewards, terminals, _, _ = env.step(rng.integers(3, size=num_envs))
        seen.append(observations.tobytes() + rewards.tobytes() + terminals.tobytes())
    env.close()
    return b"".join(seen)


def test_results_do_not_depend_on_the_number_of_threads():
    one = play(1)
    for threads in (2, 3, 5, 13, 40):  # also more than copies, and than CPUs
        assert play(threads) == one


@linux
def test_threads_start_with_the_first_step_and_end_with_close():
    before = len(list(TASKS.iterdir()))
    env = OceanEnv("squared", 8, num_threads=4)
    env.reset(0)
    assert len(list(TASKS.iterdir())) == before
    env.step(np.zeros(8, np.int32))
    assert len(list(TASKS.iterdir())) == before + 3
    env.close()
    env.close()
    assert threads_become(before)


@linux
def test_threads_end_when_an_environment_is_forgotten():
    before = len(list(TASKS.iterdir()))
    env = OceanEnv("squared", 8, num_threads=3)
    env.reset(0)
    env.step(np.zeros(8, np.int32))
    del env
    gc.collect()  # driver_env is the environment itself
    assert threads_become(before)


def test_a_waiting_pool_uses_no_cpu():
    pool = Pool(2)
    run(pool, 2)
    time.sleep(0.05)  # it looks for work for a moment
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.05  # one thread at work would have taken 0.5
    assert [(first, last) for first, last, _ in run(pool, 2)] == [(0, 1), (1, 2)]
    pool.close()


SCRIPT = """
import os, resource, sys
import numpy as np
from puffer_ocean import OceanEnv

env = OceanEnv("squared", 8, num_threads=3, seed=1)
other = OceanEnv("squared", 8, num_threads=1, seed=1)
for e in (env, other):
    e.reset(1)
actions = np.arange(8, dtype=np.int32) % 5
def step(times=20):
    for _ in range(times):
        for e in (env, other):
            e.step(actions)
        assert env.observations.tobytes() == other.observations.tobytes()
        assert env.rewards.tobytes() == other.rewards.tobytes()
"""


def python(lines, timeout=60):
    """Run lines after SCRIPT in a process of their own, which may fork."""
    command = [sys.executable, "-c", SCRIPT + lines]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


FORKS = """
step()
for _ in range(20):
    child = os.fork()
    if not child:
        step()        # threads of its own
        env.close()
        os._exit(7)
    step()            # those of the parent go on
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
child = os.fork()
if not child:
    env.close()       # without a step: no threads to end
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_has_its_own_threads_and_leaves_the_parents_alone():
    result = python(FORKS)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


@pytest.mark.parametrize("end", ["", "env.me = env", "sys.exit(0)", "import gc; gc.disable()"])
def test_an_interpreter_that_ends_without_close_ends_quietly(end):
    for _ in range(3):
        result = python(f"step()\n{end}\n")
        assert (result.returncode, result.stderr) == (0, "")


NO_ROOM = """
import time
before = len(os.listdir("/proc/self/task"))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))  # 8 stacks
big = OceanEnv("squared", 500, num_threads=500)
big.reset(0)
for _ in range(2):
    try:
        big.step(np.zeros(500, np.int32))
    except RuntimeError as error:
        time.sleep(0.2)
        print(error, len(os.listdir("/proc/self/task")) - before)
big.close()
step()
"""


@linux
def test_threads_that_cannot_start_are_an_error_and_none_is_left():
    result = python(NO_ROOM)
    assert result.returncode == 0, result.stderr
    assert result.stdout == 2 * "cannot start the threads of the pool 0\n"


def test_a_pool_that_is_not_built_says_what_to_do(monkeypatch):
    _library.cache_clear()
    monkeypatch.setattr(build, "POOL", Path("/nowhere/libpuffer_pool.so"))
    with pytest.raises(ImportError, match=r"/nowhere/.* is missing\); build it with `python -m"):
        OceanEnv("squared", 4, num_threads=2)
    _library.cache_clear()


RACES = r"""
#include "puffer_pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 1000 };
static void add(void *context, int32_t first, int32_t last) {
    int *counts = context;
    for (int32_t i = first; i < last; i++) counts[(i + 1) % COUNT]++; /* a neighbour's row too */
}

int main(void) {
    for (int threads = 1; threads <= 5; threads++) {
        for (int spin = 0; spin <= 100000; spin += 50000) {
            int *counts = calloc(COUNT, sizeof *counts);
            puffer_pool *pool = puffer_pool_create(threads, spin);
            for (int run = 1; run <= 200; run++) {
                if (puffer_pool_run(pool, add, counts, COUNT)) return 2;
                for (int i = 0; i < COUNT; i++)
                    if (counts[i] != run) return 3;
                if (run % 50 == 0) usleep(1000); /* until they sleep */
            }
            puffer_pool_close(pool);
            free(counts);
        }
    }
    puts("done");
    return 0;
}
"""

FAULTS = {
    "": "",
    "the caller does not wait": "    counter_wait(&pool->finished, target, false, pool->spin_ns);",
    "a relaxed start": "atomic_fetch_add(&pool->started.value, 1);\n    counter_wake(&pool->st"
    "arted);\n    run_range(pool, 0);",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_thread_sanitizer_finds_no_race_but_those_put_in(fault, tmp_path):
    source = (build.PACKAGE / "pool.c").read_text()
    if fault:
        assert FAULTS[fault] in source
        relaxed = FAULTS[fault].replace(
            "started.value, 1)", "started.value, 1, memory_order_relaxed)"
        )
        changed = relaxed.replace("fetch_add(", "fetch_add_explicit(") if "relaxed" in fault else ""
        source = source.replace(FAULTS[fault], changed)
    (tmp_path / "pool.c").write_text(source)
    (tmp_path / "races.c").write_text(RACES)
    sources = [str(tmp_path / "pool.c"), str(tmp_path / "races.c")]
    command = [*build.compiler(), "-std=c11", "-O1", "-g", "-fsanitize=thread", "-pthread"]
    command += ["-D_DEFAULT_SOURCE", f"-I{build.INCLUDE}", *sources, "-o", str(tmp_path / "races")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no ThreadSanitizer")
    # Without the random layout of memory, which its runtime does not always understand.
    fixed = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    result = subprocess.run(
        [*fixed, tmp_path / "races"], capture_output=True, text=True, timeout=300, check=False
    )
    if fault:
        assert "data race" in result.stderr
    else:
        assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
