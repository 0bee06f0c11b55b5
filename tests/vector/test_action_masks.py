"""Action masks: an optional buffer of an environment, on every backend alike."""

import sys

import cloudpickle
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, PufferEnv, buffers
from puffer_vector import Multiprocessing, Native, Serial, make

cloudpickle.register_pickle_by_value(sys.modules[__name__])

BACKENDS = [
    pytest.param({"backend": Serial, "num_envs": 4}, id="serial"),
    pytest.param({"backend": Multiprocessing, "num_envs": 4, "num_workers": 2}, id="workers"),
    pytest.param(
        {"backend": Multiprocessing, "num_envs": 4, "num_workers": 4, "batch_size": 2},
        id="blocks",
    ),
    pytest.param(
        {
            "backend": Multiprocessing,
            "num_envs": 4,
            "num_workers": 4,
            "batch_size": 1,
            "zero_copy": False,
        },
        id="first-come",
    ),
    pytest.param({"backend": Native, "num_envs": 1}, id="native"),
]


class Gate(PufferEnv):
    """Two agents with heads of 2 and 3 choices; in step t agent k may not take choice (t + k) % 5.

    It observes t; forbids nothing at the reset.
    """

    def __init__(self, buf=None, seed=0, rebind=False):
        self.single_observation_space = spaces.Box(0, 1e6, (1,), np.float32)
        self.single_action_space = spaces.MultiDiscrete([2, 3])
        self.num_agents = 2
        self.has_action_masks = True
        super().__init__(buf)
        self.rebind = rebind

    def reset(self, seed=None):
        self.observations[:] = 0
        return self.observations, []

    def step(self, actions):
        self.observations += 1
        for k in range(2):
            self.action_masks[k] = np.arange(5) != (int(self.observations[k, 0]) + k) % 5
        return self.observations, self.rewards, self.terminals, self.truncations, []


class Plain(PufferEnv):
    """Without masks."""

    def __init__(self, buf=None, seed=0):
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 1
        super().__init__(buf)

    def reset(self, seed=None):
        return self.observations, []


class Rebinds(Gate):
    def reset(self, seed=None):
        self.action_masks = np.ones((2, 5), bool)
        return super().reset(seed)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_vectorizer_hands_masks_on_with_their_rows(backend):
    vecenv = make(Gate, **backend)
    vecenv.async_reset(0)
    seen = {}
    for _ in range(40):
        observations, _, _, _, _, agent_ids, _ = vecenv.recv()
        n = vecenv.agents_per_batch
        assert vecenv.action_masks.shape == (n, 5)
        assert vecenv.action_masks.dtype == bool
        for row, agent in enumerate(agent_ids):
            t = int(observations[row, 0])
            expected = np.ones(5, bool)
            expected[(t + agent % 2) % 5] = t == 0
            assert vecenv.action_masks[row].tolist() == expected.tolist()
            seen[agent] = t
        vecenv.send(np.zeros((n, 2), int))
    assert max(seen.values()) > 5
    vecenv.async_reset()  # a reset allows everything again
    vecenv.recv()
    assert vecenv.action_masks.all()
    vecenv.close()


def test_without_masks_there_is_no_buffer():
    vecenv = make(Plain, backend=Serial, num_envs=2)
    vecenv.reset()
    assert vecenv.action_masks is None
    assert vecenv.driver_env.action_masks is None
    vecenv.close()


def test_masks_are_part_of_what_environments_must_agree_in():
    class Open(Gate):
        def __init__(self, buf=None, seed=0):
            super().__init__(buf)
            self.has_action_masks = False

    with pytest.raises(APIUsageError, match="must agree in has_action_masks"):
        make([Gate, Open], backend=Serial, num_envs=2)


def test_masks_elsewhere_than_in_the_buffer_are_refused():
    vecenv = make(Rebinds, backend=Serial, num_envs=1)
    with pytest.raises(APIUsageError, match=r"never rebind self\.action_masks"):
        vecenv.reset()
    vecenv.close()


def test_buffers_of_masks_are_checked_like_all_others():
    made = buffers.allocate(
        buffers.layout(Gate().single_observation_space, Gate().single_action_space, 2, True)
    )
    assert made["action_masks"].all()
    assert Gate(made).action_masks is made["action_masks"]
    with pytest.raises(APIUsageError, match=r"action_masks.*must have shape"):
        Gate({**made, "action_masks": np.ones((2, 6), bool)})
    del made["action_masks"]
    with pytest.raises(APIUsageError, match="buf has no 'action_masks'"):
        Gate(made)


def test_masks_need_choices():
    class Moves(PufferEnv):
        has_action_masks = True
        single_observation_space = spaces.Box(0, 1, (1,))
        single_action_space = spaces.Box(-1, 1, (2,))
        num_agents = 1

    with pytest.raises(APIUsageError, match="action_masks need Discrete or MultiDiscrete"):
        Moves()
