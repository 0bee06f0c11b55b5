"""Workers that fail and are replaced: what the learner sees, and when it is too often."""

import logging
import os
import signal
import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_core.buffers import allocate, layout
from puffer_vector import Multiprocessing, Serial, WorkerError, make
from puffer_vector.restarts import Restarts

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it by name

FAULTS = ["raise", "sys.exit", "exit", "kill", "hang"]
HOW = [{}, {"batch_size": 2}, {"batch_size": 2, "zero_copy": False}]


def restarts(caplog):
    """What the vectorizer logged; others log too."""
    return [record for record in caplog.records if record.name == "puffer_vector"]


def start(clock, fault, at, **kwargs):
    """Four environments with the seeds 100 to 103, in two workers."""
    main = os.getpid()

    def creator(buf=None, seed=0):
        broken = None if os.getpid() == main else fault
        return clock(buf=buf, seed=seed, fault=broken, at=at)

    return make(
        creator, num_envs=4, num_workers=2, backend=Multiprocessing, seed=100, on_error="restart",
        **kwargs,
    )  # fmt: skip


def derived(seed, times):
    return int(np.random.SeedSequence((seed, times)).generate_state(1)[0])


def steps_of(vecenv, count):
    """Play with action 1 everywhere; for every step, the joint arrays and the statistics."""
    history = []
    vecenv.async_reset()
    for _ in range(count + 1):
        joint, episodes = {}, []
        batches = range(vecenv.num_agents // vecenv.agents_per_batch)
        for _ in batches:
            *arrays, infos, ids, masks = vecenv.recv()
            names = ("observations", "rewards", "terminals", "truncations")
            parts = dict(zip(names, arrays, strict=True))
            parts |= {"masks": masks, "final_observations": vecenv.final_observations}
            for name, part in parts.items():
                whole = np.zeros((vecenv.num_agents, *part.shape[1:]), part.dtype)
                joint.setdefault(name, whole)[ids] = part
            for info in infos:
                if "episode_return" in info:
                    episodes += zip(*(column.tolist() for column in info.values()), strict=True)
        for _ in batches:
            vecenv.send(np.ones(vecenv.agents_per_batch, int))
        history.append({**joint, "episodes": sorted(episodes)})
    return history


@pytest.mark.parametrize("how", HOW, ids=["all", "blocks", "first come"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_broken_episodes_are_cut_and_all_goes_on(clock, caplog, fault, how):
    # Of the worker with seeds 102 and 103 the first fails in its second step.
    vecenv = start(clock, fault, ("step", (102, 2)), **how)
    vecenv._timeout = 5 if fault == "hang" else None  # also for the new worker, on a busy machine
    with caplog.at_level(logging.WARNING, "puffer_vector"):
        first, one, cut, after, later = steps_of(vecenv, 4)
    assert first["observations"][:, 0].tolist() == [100, 100, 101, 101, 102, 102, 103, 103]
    assert one["rewards"].tolist() == [1, 2] * 4
    # The other worker notices nothing.
    assert [step["observations"][:4, 1].tolist() for step in (one, cut)] == [[1] * 4, [2] * 4]
    assert cut["rewards"].tolist() == [1, 2, 1, 2, 0, 0, 0, 0]
    assert not cut["terminals"].any()
    assert cut["truncations"].tolist() == [False] * 4 + [True] * 4
    assert cut["masks"].all()
    assert cut["final_observations"][4:].tolist() == [[102, 1], [102, 1], [103, 1], [103, 1]]
    new = [derived(102, 1), derived(102, 1), derived(103, 1), derived(103, 1)]
    assert cut["observations"][4:].tolist() == [[seed, 0] for seed in new]
    # Agent, return, length: one step of reward 1 or 2, and the one that was cut.
    assert cut["episodes"] == [(4, 1, 2), (5, 2, 2), (6, 1, 2), (7, 2, 2)]
    assert after["observations"][4:].tolist() == [[seed, 1] for seed in new]
    assert after["rewards"].tolist() == [1, 2] * 4
    assert after["terminals"].tolist() == [True, False] * 2 + [False] * 4
    assert later["observations"][4:, 1].tolist() == [2] * 4
    (record,) = restarts(caplog)
    assert record.getMessage().startswith("Restart 1 of at most 10: Worker 1 (environments 2 to 3)")
    assert "during step 2" in record.getMessage()
    if fault == "raise":
        assert "ValueError: broken in step" in record.getMessage()
    vecenv.close()


def test_the_same_failures_give_the_same_bytes(clock):
    def run():
        vecenv = start(clock, "kill", ("step", (101, 3)))
        history = steps_of(vecenv, 12)
        vecenv.close()
        return [{k: v if k == "episodes" else v.tobytes() for k, v in h.items()} for h in history]

    assert run() == run()


class DoomedError(Exception):
    pass


def test_over_the_limit_it_is_an_error_that_names_the_last(clock, caplog):
    class Doom(clock):
        def step(self, actions):
            raise DoomedError("again")

    vecenv = make(
        Doom, num_envs=2, num_workers=2, backend=Multiprocessing,
        on_error="restart", max_restarts=3,
    )  # fmt: skip
    vecenv.reset()
    vecenv.step([0] * 4)  # both workers are replaced
    with pytest.raises(WorkerError) as error:
        vecenv.step([0] * 4)
    assert "again" in str(error.value)
    assert str(error.value).endswith("3 workers were restarted before.")
    assert [r.args[:2] for r in restarts(caplog)] == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(APIUsageError, match="cannot be used any more"):
        vecenv.reset()


@pytest.mark.parametrize("fault", ["raise", "exit"])
def test_a_failing_reset_is_repeated_with_other_seeds(clock, fault):
    vecenv = start(clock, fault, ("reset", 102))
    observations, infos = vecenv.reset()
    new = [derived(102, 1), derived(103, 1)]
    assert observations[::2, 0].tolist() == [100, 101, *new]
    assert [info["reset"] for info in infos] == [100, 101, *new]
    _, rewards, terminals, truncations, infos = vecenv.step([0] * 8)
    assert rewards.tolist() == [0, 1] * 4
    assert not (terminals | truncations).any()  # nothing was broken
    vecenv.reset(seed=200)
    assert vecenv.step([0] * 8)[0][::2, 0].tolist() == [200, 201, 202, 203]
    vecenv.close()


@pytest.mark.parametrize("fault", ["raise", "kill"])
def test_a_replacement_that_cannot_be_built_counts(clock, caplog, fault):
    def fails(buf=None, seed=0):
        at = ("init", seed) if seed == derived(102, 1) else ("step", (102, 1))
        return clock(buf=buf, seed=seed, fault=fault, at=at)

    vecenv = make(fails, num_envs=1, backend=Multiprocessing, seed=102, on_error="restart")
    vecenv.reset()
    observations, _, _, truncations, _ = vecenv.step([0, 0])
    assert truncations.all()
    assert observations[0].tolist() == [derived(102, 2), 0]
    assert len(restarts(caplog)) == 2
    assert "during the restart in step 1" in restarts(caplog)[1].getMessage()
    vecenv.close()


def test_a_constructor_that_fails_in_make_raises(clock):
    with pytest.raises(WorkerError, match="during construction"):
        start(clock, "raise", ("init", 103))


def test_a_worker_that_dies_idle_is_replaced_with_the_next_step(clock, caplog):
    vecenv = start(clock, None, None)
    vecenv.reset()
    observations = vecenv.step([1] * 8)[0]
    os.kill(vecenv._workers[0].process.pid, signal.SIGKILL)
    vecenv._workers[0].process.join()
    assert observations[:, 1].tolist() == [1] * 8  # what was received stays
    _, rewards, _, truncations, _ = vecenv.step([1] * 8)
    assert truncations.tolist() == [True] * 4 + [False] * 4
    assert rewards.tolist() == [0] * 4 + [1, 2, 1, 2]
    assert "was killed by SIGKILL (out of memory?) after step 1" in restarts(caplog)[0].getMessage()
    vecenv.close()


def test_an_answer_given_before_death_is_kept(clock):
    vecenv = start(clock, None, None, batch_size=2)
    vecenv.async_reset()
    for _ in range(2):
        vecenv.recv()
    vecenv.send([1] * 4)
    vecenv.send([1] * 4)
    while len(vecenv._answers) < 2:
        vecenv._wait()
    os.kill(vecenv._workers[1].process.pid, signal.SIGKILL)
    assert vecenv.recv()[1].tolist() == [1, 2, 1, 2]
    vecenv.send([1] * 4)
    *_, rewards, _, _, _, ids, _ = vecenv.recv()
    assert (rewards.tolist(), ids.tolist()) == ([1, 2, 1, 2], [4, 5, 6, 7])
    vecenv.send([1] * 4)
    assert vecenv.recv()[3].tolist() == [False] * 4
    assert vecenv.recv()[3].tolist() == [True] * 4
    vecenv.close()


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

    vecenv = make(Tuned, num_envs=3, num_workers=1, backend=Multiprocessing, on_error="restart")
    vecenv.reset()
    vecenv.set_params(bonus=10)
    vecenv.set_params(1, bonus=20)
    vecenv.step([0] * 5 + [1])
    assert vecenv.step([4] * 6)[3].all()
    assert vecenv.step([0] * 6)[1].tolist() == [10, 11, 20, 21, 10, 11]
    vecenv.close()


def test_a_call_that_kills_its_worker_raises(clock):
    class Mine(clock):
        def set_params(self, x):
            os._exit(x)

    vecenv = make(Mine, num_envs=2, num_workers=1, backend=Multiprocessing, on_error="restart")
    vecenv.reset()
    with pytest.raises(WorkerError, match="exited with code 5"):
        vecenv.set_params(x=5)


def test_infos_of_the_new_episode_are_marked_as_such(clock):
    vecenv = start(clock, "raise", ("step", (102, 1)))
    vecenv.reset()
    infos = vecenv.step([0] * 8)[4]
    began = [(info.env, info.began) for info in infos if "reset" in info]
    assert began == [(2, True), (3, True)]
    vecenv.close()


def test_one_hung_worker_is_noticed_while_others_answer(clock, caplog):
    vecenv = make(
        clock, env_kwargs={"fault": "hang", "at": ("step", (2, 2))}, num_envs=3, num_workers=3,
        batch_size=1, zero_copy=False, backend=Multiprocessing, on_error="restart",
    )  # fmt: skip
    vecenv._timeout = 2
    vecenv.async_reset()
    while not restarts(caplog):
        vecenv.recv()
        vecenv.send([0, 0])
    assert "Worker 2 (environments 2 to 2) did not answer" in restarts(caplog)[0].getMessage()
    vecenv.close()


def test_which_agents_are_cut():
    """Rows of three agents: acts on; ended in the last step; did not act."""
    box, choice = gymnasium.spaces.Box(0, 9, (1,)), gymnasium.spaces.Discrete(2)

    def cut(emulated, masks, ends):
        buffers = allocate(layout(box, choice, 3))
        restarts = Restarts(1, buffers, 3, emulated)
        buffers["observations"][:, 0] = [1, 2, 3]
        buffers["masks"][:], buffers["terminals"][:] = masks, ends
        restarts.remember(slice(0, 3))
        buffers["observations"][:, 0] = 7  # the new episode's
        buffers["rewards"].fill(5)
        restarts.cut(slice(0, 3))
        assert buffers["final_observations"][:, 0].tolist() == [1, 2, 3]
        assert buffers["observations"][:, 0].tolist() == [7, 7, 7]
        assert not buffers["rewards"].any()
        assert not buffers["terminals"].any()
        assert buffers["masks"].tolist() == buffers["truncations"].tolist()
        return buffers["masks"].tolist()

    # The one that ended is gone until the common episode is over ...
    assert cut(True, [1, 1, 0], [0, 1, 0]) == [True, False, False]
    # ... which it is here, so that all who acted have just begun the next.
    assert cut(True, [1, 1, 0], [1, 1, 0]) == [True, True, False]
    # Native agents begin again at once.
    assert cut(False, [1, 1, 0], [0, 1, 0]) == [True, True, False]


@pytest.mark.parametrize(
    ("backend", "kwargs", "words"),
    [
        (Serial, {"on_error": "restart"}, "Serial takes no on_error: it is for Multiprocessing"),
        ("native", {"max_restarts": 1}, "Native takes no max_restarts"),
        (Multiprocessing, {"on_error": "ignore"}, "'raise' or 'restart', got 'ignore'"),
        (Multiprocessing, {"max_restarts": 3}, "max_restarts needs on_error='restart'"),
        (Multiprocessing, {"on_error": "restart", "max_restarts": 0}, "at least 1, got 0"),
        (Multiprocessing, {"on_error": "restart", "max_restarts": 0.5}, "an int of at least 1"),
    ],
)
def test_keywords(clock, backend, kwargs, words):
    with pytest.raises(APIUsageError, match=words):
        make(clock, backend=backend, **kwargs)


def test_gymnasium_wrappers_and_other_modes():
    """CartPole under the Gymnasium adapter: one truncation, and modes that cannot be cut."""
    adapter = pytest.importorskip("puffer_vector.adapters.gymnasium")
    main = os.getpid()

    class Fragile(gymnasium.Wrapper):
        def step(self, action):
            if os.getpid() != main and self.env.unwrapped.np_random.random() < 0.05:
                os._exit(1)
            return self.env.step(action)

    def creator(buf=None, seed=0):
        return GymnasiumPufferEnv(Fragile(gymnasium.make("CartPole-v1")), buf=buf, seed=seed)

    vecenv = make(
        creator, num_envs=2, num_workers=2, backend=Multiprocessing, on_error="restart",
        max_restarts=10_000,
    )  # fmt: skip
    with pytest.raises(APIUsageError, match=r"NEXT_STEP cannot be combined with on_error"):
        adapter.GymnasiumVectorEnv(vecenv, "NEXT_STEP")
    envs = adapter.GymnasiumVectorEnv(vecenv, episode_statistics=True)
    observations, _ = envs.reset(seed=1)
    cuts = 0
    while cuts < 3:
        before = observations.copy()
        observations, _, _, truncated, infos = envs.step(np.zeros(2, int))
        for i in np.flatnonzero(truncated):  # episodes are far shorter than the time limit
            np.testing.assert_array_equal(infos["final_obs"][i], before[i])
            assert infos["_episode"][i]
            assert (np.abs(observations[i]) <= 0.05).all()  # where CartPole begins
            cuts += 1
    assert cuts == vecenv._restarts.count
    envs.close()
