"""Multiprocessing gives the bytes that Serial gives, however the work is divided."""

import os

import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_vector import Multiprocessing, Serial, make


def plain(infos):
    """Infos in a form that compares, arrays included."""
    return [{k: np.asarray(v).tolist() for k, v in info.items()} for info in infos]


def by_agent(vecenv, steps, high):
    """Drive a vectorizer; return what every agent saw, and the infos, for every step.

    An agent's actions depend on its id and the step alone, not on the batch it comes in.
    """
    batches = vecenv.num_agents // vecenv.agents_per_batch
    ended, history = 0, []
    vecenv.async_reset()
    for t in range(steps):
        rows, infos = {}, []
        for _ in range(batches):
            *arrays, batch_infos, ids, masks = vecenv.recv()
            ends = arrays[2] | arrays[3]
            final = np.where(ends[:, None], vecenv.final_observations, 0)
            ended += ends.sum()
            for k, agent in enumerate(ids):
                rows[int(agent)] = b"".join(a[k].tobytes() for a in (*arrays, masks, final))
            infos += batch_infos
            vecenv.send((ids * 7 + t * 3 + t // 5) % high)
        assert sorted(rows) == list(range(vecenv.num_agents))
        history.append([rows[agent] for agent in sorted(rows)])
    vecenv.close()
    assert ended > 10
    return history


@pytest.mark.parametrize(
    "how",
    [
        {"num_workers": 4},
        {"num_workers": 2},
        {"num_workers": 1},
        {"num_workers": 4, "batch_size": 2},
        {"num_workers": 2, "batch_size": 2},
    ],
)
def test_same_bytes_as_serial_for_cartpole(cartpole, how):
    expected = by_agent(make(cartpole, num_envs=4, backend=Serial, seed=3), 200, 2)
    got = by_agent(make(cartpole, num_envs=4, backend=Multiprocessing, seed=3, **how), 200, 2)
    assert got == expected


def test_same_infos_and_arrays_as_serial_for_native_environments(clock):
    serial = make(clock, num_envs=4, backend=Serial, seed=3)
    parallel = make(clock, num_envs=4, backend=Multiprocessing, seed=3, num_workers=2)
    for vecenv in (serial, parallel):
        vecenv.async_reset(seed=[4, 8, 1, 1])
    for t in range(30):
        expected, got = serial.recv(), parallel.recv()
        assert plain(got[4]) == plain(expected[4])
        for a, b in zip(got[:4] + got[5:], expected[:4] + expected[5:], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        np.testing.assert_array_equal(parallel.final_observations, serial.final_observations)
        if t == 12:
            for vecenv in (serial, parallel):
                vecenv.async_reset()
            continue
        for vecenv in (serial, parallel):
            vecenv.send(np.arange(8) % 5)
    assert parallel.metadata == serial.metadata == {"name": "clock", "autoreset_mode": "SAME_STEP"}
    serial.close()
    parallel.close()


def test_blocks_come_in_order_and_are_views(clock):
    vecenv = make(clock, num_envs=6, backend="Multiprocessing", num_workers=3, batch_size=2)
    assert (vecenv.num_envs, vecenv.num_agents, vecenv.agents_per_batch) == (6, 12, 4)
    assert vecenv.action_space.shape == (4,)
    assert vecenv.observation_space.shape == (4, 2)
    vecenv.async_reset()
    received = [vecenv.recv() for _ in range(3)]
    assert [r[5].tolist() for r in received] == [list(range(k, k + 4)) for k in (0, 4, 8)]
    assert not any(r[0].flags.owndata for r in received)
    for k in range(3):
        vecenv.send(np.full(4, k))  # answers the oldest first
    for k in range(3):
        _, rewards, _, _, _, ids, _ = vecenv.recv()
        assert ids[0] == 4 * k
        assert rewards.tolist() == [k, k + 1, k, k + 1]
    vecenv.close()


def test_first_come_returns_copies_of_whoever_is_ready(clock):
    vecenv = make(
        clock, num_envs=3, backend=Multiprocessing, num_workers=3, batch_size=2, zero_copy=False
    )
    vecenv.async_reset(seed=50)
    steps, counted = np.zeros(6, int), np.zeros(6, int)
    for t in range(10_000):  # who answers first is nobody's to say: until all have ended once
        if t >= 60 and (counted > 0).all():
            break
        obs, rewards, _, _, infos, ids, _ = vecenv.recv()
        kept = obs.copy()
        assert len(set(ids)) == 4
        assert (obs[:, 0] == 50 + ids // 2).all()
        if t:
            expected = np.where(steps[ids] > 0, (steps[ids] - 1) % 5 + ids % 2, 0)
            assert rewards.tolist() == expected.tolist()
        for info in infos:
            if "agent_id" in info:
                assert (info["episode_length"] == 3 + info["agent_id"] % 2).all()
                counted[info["agent_id"]] += info["episode_length"]
        vecenv.send(steps[ids] % 5)
        steps[ids] += 1
        np.testing.assert_array_equal(obs, kept)  # no live view
    assert (counted > 0).all()
    assert (counted <= steps).all()
    assert (steps - counted <= 4).all()
    vecenv.close()


def test_every_reset_takes_the_workers_from_any_state(clock):
    vecenv = make(
        clock, num_envs=2, backend=Multiprocessing, num_workers=2, batch_size=1, timeout=20
    )
    for received, answered in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (0, 0)]:
        vecenv.async_reset(seed=5)
        for _ in range(received):
            obs, *_, ids, _ = vecenv.recv()
            assert obs.tolist() == [[5 + ids[0] // 2, 0]] * 2
        for _ in range(answered):
            vecenv.send([0, 0])
    vecenv.async_reset()
    for _ in range(2):
        vecenv.recv()
    with pytest.raises(APIUsageError, match="no batch is in flight"):  # nothing is left of before
        vecenv.recv()
    vecenv.close()


def test_workers_have_one_thread_and_the_parent_keeps_its_environment(cartpole):
    def creator(buf=None, seed=0):
        env = cartpole(buf=buf, seed=seed)
        threads = {"threads": os.environ["OMP_NUM_THREADS"], "pid": os.getpid()}
        reset = env.reset
        env.reset = lambda *args: (reset(*args)[0], threads)
        return env

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the environment that the parent builds
    vecenv = make(creator, num_envs=2, backend=Multiprocessing, num_workers=2)
    _, infos = vecenv.reset()
    assert [info["threads"] for info in infos] == ["1", "1"]
    assert len({info["pid"] for info in infos} | {os.getpid()}) == 3
    vecenv.close()


@pytest.mark.parametrize("context", ["spawn", "fork", "forkserver"])
def test_every_start_method(clock, context):
    vecenv = make(clock, num_envs=2, backend=Multiprocessing, num_workers=2, context=context)
    vecenv.reset(seed=1)
    assert vecenv.step([1, 2, 3, 4])[1].tolist() == [1, 3, 3, 5]
    vecenv.close()
