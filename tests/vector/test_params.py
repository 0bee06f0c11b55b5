"""set_params: parameters of running environments, on every backend alike."""

import logging
import os
import sys

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, GymnasiumPufferEnv, PufferEnv
from puffer_vector import Multiprocessing, Native, Serial, WorkerError, make

cloudpickle.register_pickle_by_value(sys.modules[__name__])

BACKENDS = [
    pytest.param({"backend": Serial, "num_envs": 4}, id="serial"),
    pytest.param(
        {"backend": Multiprocessing, "num_envs": 4, "num_workers": 2, "timeout": 60}, id="workers"
    ),
    pytest.param({"backend": Native, "num_envs": 1}, id="native"),
]


class UnreadableError(Exception):
    """Pickle writes it and cannot read it."""

    def __init__(self, a, b):
        super().__init__(f"unreadable {a} {b}")


class Paid(PufferEnv):
    """Pays `pay * action` in every step."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Discrete(3)
        self.num_agents = 1
        super().__init__(buf)
        self.pay = 1.0

    def set_params(self, *, pay, level=0):
        if pay == -1:
            os._exit(3)
        if pay == -2:
            raise UnreadableError(1, 2)
        if pay > 100:
            raise ValueError(f"{pay} is too much")
        self.pay = pay

    def reset(self, seed=None):
        return self.observations, []

    def step(self, actions):
        self.rewards[:] = self.pay * actions
        return self.observations, self.rewards, self.terminals, self.truncations, []


class PaidGymnasium(gymnasium.Env):
    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(3)
    pay = 1.0

    def set_params(self, pay):
        self.pay = pay

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), self.pay * action, False, False, {}


def wrapped(buf=None, seed=0):
    env = gymnasium.wrappers.OrderEnforcing(PaidGymnasium())
    return GymnasiumPufferEnv(env, buf=buf, seed=seed)


@pytest.fixture(params=BACKENDS)
def vecenv(request):
    vecenv = make(Paid, **request.param)
    yield vecenv
    vecenv.close()


def test_the_next_step_has_the_new_values(vecenv, caplog):
    vecenv.reset()
    n = vecenv.num_envs
    assert vecenv.step([2] * n)[1].tolist() == [2.0] * n
    with caplog.at_level(logging.INFO, "puffer_vector"):
        vecenv.set_params(None, pay=3.0)
        vecenv.set_params(n - 1, pay=5.0, level=2)
    assert vecenv.step([2] * n)[1].tolist() == [6.0] * (n - 1) + [10.0]
    assert [record.name for record in caplog.records] == ["puffer_vector"] * 2
    assert f"environments [{n - 1}]: {{'pay': 5.0, 'level': 2}}" in caplog.text


def test_unknown_parameters_are_named_and_change_nothing(vecenv):
    vecenv.reset()
    last = vecenv.num_envs - 1
    with pytest.raises(APIUsageError, match=rf"environment {last} \(Paid\) has no parameter 'apy'"):
        vecenv.set_params([last], pay=9.0, apy=1)
    with pytest.raises(APIUsageError, match="missing a required argument: 'pay'"):
        vecenv.set_params(0, level=1)
    with pytest.raises(APIUsageError, match="at least one parameter"):
        vecenv.set_params(0)
    assert vecenv.step([1] * vecenv.num_envs)[1].tolist() == [1.0] * vecenv.num_envs


def test_what_the_environment_raises_passes_through(vecenv):
    vecenv.reset()
    with pytest.raises(ValueError, match="101 is too much"):
        vecenv.set_params(0, pay=101)
    vecenv.step([1] * vecenv.num_envs)  # and the vectorizer goes on


@pytest.mark.parametrize("ids", [[], [0, 0], [-1], [4], "0", 0.0, [[0]]])
def test_wrong_indices(vecenv, ids):
    vecenv.reset()
    with pytest.raises(APIUsageError, match="env_ids must be"):
        vecenv.set_params(ids, pay=1.0)


def test_only_between_recv_and_send(vecenv):
    for _ in range(2):
        with pytest.raises(APIUsageError, match="not between recv and send"):
            vecenv.set_params(0, pay=1.0)
        vecenv.async_reset()
    vecenv.recv()
    vecenv.set_params(0, pay=1.0)
    vecenv.send([0] * vecenv.num_envs)
    with pytest.raises(APIUsageError, match="not between recv and send"):
        vecenv.set_params(0, pay=1.0)
    vecenv.recv()
    vecenv.close()
    with pytest.raises(APIUsageError, match="closed"):
        vecenv.set_params(0, pay=1.0)


@pytest.mark.parametrize("zero_copy", [True, False])
def test_batches_in_flight_are_not_disturbed(zero_copy):
    vecenv = make(
        Paid, num_envs=4, backend=Multiprocessing, num_workers=4, batch_size=2, zero_copy=zero_copy
    )
    pay = np.ones(4)
    vecenv.async_reset()
    for step in range(30):
        *_, ids, _ = vecenv.recv()
        pay[ids] = step
        vecenv.set_params(ids, pay=float(step))
        if step == 0:
            other = ({0, 1, 2, 3} - set(ids.tolist())).pop()
            with pytest.raises(APIUsageError, match=f"environment {other} is not between"):
                vecenv.set_params(other, pay=1.0)
        expected = pay.copy()
        vecenv.send([1, 1])
    for _ in range(2):
        _, rewards, *_, ids, _ = vecenv.recv()
        np.testing.assert_array_equal(rewards, expected[ids])
    vecenv.close()


@pytest.mark.parametrize("backend", [Serial, Multiprocessing])
def test_gymnasium_environments_offer_it_through_wrappers(backend):
    vecenv = make(wrapped, num_envs=2, backend=backend)
    vecenv.reset()
    vecenv.set_params([1], pay=4.0)
    assert vecenv.step([1, 1])[1].tolist() == [1.0, 4.0]
    with pytest.raises(
        APIUsageError, match=r"environment 0 \(PaidGymnasium\) has no parameter 'x'"
    ):
        vecenv.set_params([0, 1], x=1)
    vecenv.close()


@pytest.mark.parametrize("backend", [Serial, Multiprocessing])
def test_environments_without_it_say_so(backend, clock):
    vecenv = make(clock, num_envs=2, backend=backend)
    vecenv.reset()
    with pytest.raises(APIUsageError, match=r"environment 1 \(Clock\) offers none"):
        vecenv.set_params([1], pay=4.0)
    vecenv.step([0] * 4)
    vecenv.close()


@pytest.fixture
def workers():
    vecenv = make(Paid, num_envs=4, backend=Multiprocessing, num_workers=2, timeout=60)
    vecenv.reset()
    yield vecenv
    vecenv.close()


def test_an_error_in_a_worker_shows_where(workers):
    with pytest.raises(ValueError, match="too much") as error:
        workers.set_params(2, pay=101)
    assert "In worker 1" in str(error.value.__cause__)
    assert "in set_params\nValueError" in str(error.value.__cause__)
    with pytest.raises(APIUsageError, match="UnreadableError: unreadable"):
        workers.set_params([0, 3], pay=-2)
    workers.set_params([0, 3], pay=2)
    assert workers.step([1] * 4)[1].tolist() == [2, 1, 1, 2]


def test_a_worker_that_dies_in_the_call(workers):
    with pytest.raises(WorkerError, match=r"Worker 1 .* exited with code 3"):
        workers.set_params(2, pay=-1)
    with pytest.raises(APIUsageError, match="exited with code 3"):
        workers.set_params(0, pay=1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_c_environments_take_params_at_their_next_reset(backend):
    ocean = pytest.importorskip("puffer_ocean")
    arguments = {"num_envs": 2, "max_steps": 4}
    vecenv = make(ocean.env_creator("cartpole"), env_kwargs=arguments, **backend)
    vecenv.reset(seed=1)
    vecenv.set_params(0, max_steps=2)  # of the first OceanEnv, both copies
    lengths = {}
    for t in range(8):
        infos = vecenv.step(np.full(vecenv.num_agents, t % 2))[-1]
        for info in infos:
            for agent, length in zip(info["agent_id"], info["episode_length"], strict=True):
                lengths.setdefault(int(agent), []).append(int(length))
    for agent in range(vecenv.num_agents):
        assert lengths[agent] == ([4, 2, 2] if agent < 2 else [4, 4])
    with pytest.raises(APIUsageError, match="cartpole has no argument 'max_step'; did you mean"):
        vecenv.set_params(max_step=3)
    vecenv.close()
