"""An environment that fails in every way, and a program whose end is the test's to choose.

`python fault_env.py CONTEXT FAULT ENDING TIMES` starts so many vectorizers of two workers, lets one
worker of each fail soon, prints their process ids, and ends.
"""

import os
import re
import signal
import sys
import time

import cloudpickle
import numpy as np
from gymnasium import spaces

from puffer_core import PufferEnv

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it by name


def exhaust_memory():
    """Take all that is left under a limit of the address space."""
    import resource

    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
    hoard = []
    while True:
        hoard.append(np.ones(2**17))


def crash():
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # writing one takes seconds
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(error):
    raise error


# Name -> what happens.
FAULTS = {
    "raise": lambda: fail(ValueError("broken on purpose")),
    "sys.exit": lambda: sys.exit(3),
    "os._exit": lambda: os._exit(3),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": crash,
    "memory": exhaust_memory,
    "hang": lambda: time.sleep(3600),
    "stuck": lambda: re.match("(a+)+$", "a" * 64 + "b"),  # for ages, holding the interpreter's lock
    "infos": lambda: {"callback": lambda: 0},
    "None": lambda: None,
}


class Faulty(PufferEnv):
    """Counts its steps, and fails in the second if its seed is 102."""

    def __init__(self, buf=None, seed=0, fault=None, where=None, delay=0.0, healthy=None):
        self.single_observation_space = spaces.Box(0, 1e6, (2,), np.float64)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 1
        super().__init__(buf)
        self.seed, self.fault, self.where, self.delay = seed, fault, where, delay
        self.healthy = healthy  # the process in which nothing fails
        self.total = 0
        self.infos_of("init")

    def infos_of(self, where):
        due = self.seed == 102 and self.total in (0, 2)
        if self.where != where or not due or os.getpid() == self.healthy:
            return []
        time.sleep(self.delay)
        infos = FAULTS[self.fault]()
        return [infos] if isinstance(infos, dict) else []

    def reset(self, seed=None):
        self.seed = self.seed if seed is None else seed
        self.observations[0] = self.seed, 0
        return self.observations, self.infos_of("reset")

    def step(self, actions):
        self.total += 1
        self.observations[0, 1] += 1
        infos = self.infos_of("step")
        return self.observations, self.rewards, self.terminals, self.truncations, infos


def creator(buf=None, seed=0, fault=None, where="step", delay=0.0, healthy=None):
    if (fault, where, seed) == ("None", "init", 102) and os.getpid() != healthy:
        return None
    return Faulty(buf, seed, fault, where, delay, healthy)


def start(backend, fault, where, delay=0.0, **kwargs):
    """Four environments with the seeds 100 to 103; what fails, fails only in workers."""
    from puffer_vector import make

    healthy = None if backend == "Serial" else os.getpid()
    own = {"fault": fault, "where": where, "delay": delay, "healthy": healthy}
    return make(creator, env_kwargs=own, num_envs=4, backend=backend, seed=100, **kwargs)


def main(context, fault, ending, times):
    endless = fault in ("hang", "stuck")  # under way when the program ends; others come later
    delay = 0 if endless else 0.1
    kwargs = {"num_workers": 2, "context": context}
    vecenvs = [start("Multiprocessing", fault, "step", delay, **kwargs) for _ in range(int(times))]
    for vecenv in vecenvs:
        vecenv.reset()
        vecenv.step([0] * 4)
    for vecenv in vecenvs:
        vecenv.send([0] * 4)  # the step that fails
    time.sleep(0.5 if endless else 0)
    print(*(worker.process.pid for v in vecenvs for worker in v._workers), flush=True)
    if ending == "raise":
        raise RuntimeError("the end of the program")
    if ending == "wait":  # for a signal
        time.sleep(3600)
    if ending == "recv":  # or here
        vecenvs[-1].recv()


if __name__ == "__main__":
    main(*sys.argv[1:])
