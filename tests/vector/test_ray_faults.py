"""Actors that raise, exit, die or hang, and what becomes of them."""

import os
import signal
import threading

import numpy as np
import pytest
from local_ray import actors, wait_until

from puffer_core import APIUsageError
from puffer_vector import WorkerError, make

SLOW = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("cluster", "no_actor_is_left")


def start(clock, fault, at, **kwargs):
    """Four environments in two actors; the environment with seed 102 is the broken one."""
    main = os.getpid()

    def creator(buf=None, seed=0):
        return clock(buf=buf, seed=seed, fault=None if os.getpid() == main else fault, at=at)

    return make(creator, num_envs=4, num_workers=2, backend="Ray", seed=100, num_cpus=0.5, **kwargs)


ENDS = {
    "raise": "raised an error in environment 2 during {}:\n\nTraceback",
    "sys.exit": "raised an error in environment 2 during {}:\n\nTraceback",
    "exit": "died",
    "kill": "died",
}
FAST = [("raise", "init"), ("raise", "step"), ("sys.exit", "reset"), ("exit", "init"),
        ("kill", "step")]  # fmt: skip
CASES = [
    pytest.param(fault, where, marks=[] if (fault, where) in FAST else SLOW)
    for fault in ENDS
    for where in ("init", "reset", "step")
]


@pytest.mark.parametrize(("fault", "where"), CASES)
def test_a_failing_actor_is_one_error_that_says_all(clock, fault, where):
    phase = {"init": "construction", "reset": "reset", "step": "step 2"}[where]
    made = []

    def run():
        made.append(start(clock, fault, (where, (102, 2) if where == "step" else 102)))
        made[0].reset()
        for _ in range(3):
            made[0].step([0] * 8)

    with pytest.raises(WorkerError) as error:
        run()
    message = str(error.value)
    assert message.startswith(f"Worker 1 (environments 2 to 3) {ENDS[fault].format(phase)}")
    assert f"during {phase}" in message
    assert fault in ("raise", "sys.exit") or "127.0.0.1" in message  # the node
    if fault == "raise":
        assert f"ValueError: broken in {where}" in message
    for vecenv in made:
        with pytest.raises(APIUsageError, match="worker 1"):
            vecenv.reset()
        vecenv.close()


def test_a_creator_that_returns_none(clock):
    main = os.getpid()

    def creator(buf=None, seed=0):
        env = clock(buf=buf, seed=seed)
        return env if os.getpid() == main else None

    with pytest.raises(WorkerError, match=r"(?s)Worker 0 .*must return a PufferEnv, got None"):
        make(creator, num_envs=1, backend="Ray")


def test_a_hanging_actor_runs_into_the_timeout(clock):
    vecenv = start(clock, "hang", ("step", (102, 2)), timeout=60)
    vecenv._timeout = 0.5
    vecenv.reset()
    vecenv.step([0] * 8)
    with pytest.raises(WorkerError, match=r"Worker 1 .*did not answer within 0.5 s during step 2"):
        vecenv.step([0] * 8)


def test_an_actor_killed_while_others_wait_for_it(clock):
    vecenv = start(clock, "hang", ("step", (102, 1)))
    vecenv.reset()
    vecenv.send([0] * 8)
    victim = int(vecenv._places[1].split("process ")[1].rstrip(")"))
    assert victim in actors()
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    with pytest.raises(WorkerError, match=rf"(?s)Worker 1 .*died on node .*\(process {victim}\)"):
        vecenv.recv()


def test_infos_that_cannot_travel(clock):
    class Bad(clock):
        def step(self, actions):
            return (*super().step(actions)[:4], [{"lock": threading.Lock()}])

    vecenv = make(Bad, num_envs=1, backend="Ray")
    vecenv.reset()
    with pytest.raises(WorkerError, match=r"(?s)infos that cannot be read.*lock"):
        vecenv.step([0, 0])


def test_close_is_idempotent_and_closes_the_environments(clock, tmp_path):
    class Closes(clock):
        def close(self):
            (tmp_path / str(self.seed)).touch()

    vecenv = make(Closes, num_envs=4, num_workers=2, num_cpus=0.5, backend="Ray", seed=5)
    vecenv.async_reset()  # in flight
    vecenv.close()
    vecenv.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["5", "6", "7", "8"]
    with pytest.raises(APIUsageError, match="was closed"):
        vecenv.recv()


def test_a_vectorizer_that_is_forgotten_leaves_no_actor(clock):
    vecenv = start(clock, None, None)
    vecenv.reset()
    assert len(actors()) == 2
    del vecenv
    assert wait_until(lambda: not actors())


def derived(seed, times):
    return int(np.random.SeedSequence((seed, times)).generate_state(1)[0])


@pytest.mark.parametrize("fault", ["raise", "kill", pytest.param("hang", marks=SLOW)])
@pytest.mark.parametrize("how", [{}, {"batch_size": 2}])
def test_restarted_environments_begin_new_episodes(clock, caplog, fault, how):
    # Of the actor with seeds 102 and 103 the first fails in its second step.
    timeout = 20 if fault == "hang" else None
    vecenv = start(
        clock, fault, ("step", (102, 2)), on_error="restart", max_restarts=2, timeout=timeout, **how
    )
    vecenv._timeout = timeout and 2.0
    parts = vecenv.num_agents // vecenv.agents_per_batch

    def play():
        received = []
        for _ in range(parts):
            *arrays, infos, _, masks = vecenv.recv()
            copies = [a.copy() for a in (*arrays, masks, vecenv.final_observations)]
            received.append((copies, infos))
        for _ in range(parts):
            vecenv.send([1] * vecenv.agents_per_batch)
        joint = [np.concatenate(column) for column in zip(*(r[0] for r in received), strict=True)]
        return *joint, [info for r in received for info in r[1]]

    vecenv.async_reset()
    play()
    play()
    observations, rewards, terminals, truncations, masks, final, infos = play()
    new = [derived(102, 1), derived(102, 1), derived(103, 1), derived(103, 1)]
    assert rewards.tolist() == [1, 2, 1, 2, 0, 0, 0, 0]
    assert not terminals.any()
    assert truncations.tolist() == [False] * 4 + [True] * 4
    assert masks.all()
    assert final[4:].tolist() == [[102, 1], [102, 1], [103, 1], [103, 1]]
    assert observations[:4, 1].tolist() == [2] * 4
    assert observations[4:].tolist() == [[seed, 0] for seed in new]
    (ended,) = [info for info in infos if "episode_length" in info]
    assert ended["agent_id"].tolist() == [4, 5, 6, 7]
    assert ended["episode_length"].tolist() == [2] * 4
    observations, rewards, _, truncations, *_ = play()
    assert rewards.tolist() == [1, 2] * 4
    assert not truncations[4:].any()
    assert observations[4:].tolist() == [[seed, 1] for seed in new]
    (record,) = caplog.records
    assert record.getMessage().startswith("Restart 1 of at most 2: Worker 1 (environments 2 to 3)")
    assert "during step 2" in record.getMessage()
    vecenv.close()


def test_over_the_limit_it_is_an_error_that_names_the_last(clock, caplog):
    class Doomed(clock):
        def step(self, actions):
            raise ValueError("again")

    vecenv = make(Doomed, num_envs=1, backend="Ray", on_error="restart", max_restarts=2)
    vecenv.reset()
    vecenv.step([0, 0])
    vecenv.step([0, 0])
    with pytest.raises(WorkerError, match=r"(?s)ValueError: again.*2 workers were restarted"):
        vecenv.step([0, 0])
    assert len(caplog.records) == 2


def test_parameters_are_set_again(clock):
    main = os.getpid()

    class Tuned(clock):
        bonus = 0

        def set_params(self, bonus):
            self.bonus = bonus

        def step(self, actions):
            if actions[0] == 4 and os.getpid() != main:
                os._exit(1)
            result = super().step(actions)
            self.rewards += self.bonus
            return result

    vecenv = make(Tuned, num_envs=2, num_workers=1, backend="Ray", on_error="restart")
    vecenv.reset()
    vecenv.set_params(1, bonus=10)
    assert vecenv.step([4] * 4)[3].all()
    assert vecenv.step([0] * 4)[1].tolist() == [0, 1, 10, 11]
    vecenv.close()
