"""Joint spaces, and the spaces that one agent may have."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from puffer_core import APIUsageError, PufferEnv
from puffer_core.spaces import Box, Dict, Discrete, MultiDiscrete, equal, joint_space


def test_class_tuples_work_with_isinstance():
    assert isinstance(spaces.Box(0, 1, (2,)), Box)
    assert isinstance(spaces.Dict(a=spaces.Discrete(2)), Dict)
    assert not isinstance(spaces.MultiDiscrete([2]), Discrete)
    assert isinstance(spaces.MultiDiscrete([2]), MultiDiscrete)


def test_joint_space_of_each_kind():
    assert joint_space(spaces.Discrete(5), 3) == spaces.MultiDiscrete([5, 5, 5])
    joint = joint_space(spaces.MultiDiscrete([2, 7]), 3)
    assert joint.shape == (3, 2)
    assert joint.dtype == np.int64
    assert joint.low.tolist() == [[0, 0]] * 3
    assert joint.high.tolist() == [[1, 6]] * 3
    box = spaces.Box(np.array([[-1, 0]]), np.array([[1, 9]]), dtype=np.float64)
    joint = joint_space(box, 2)
    assert joint.shape == (2, 1, 2)
    assert joint.dtype == np.float64
    assert joint.low.tolist() == [[[-1, 0]]] * 2
    assert joint.high.tolist() == [[[1, 9]]] * 2


def F32(values):  # noqa: N802
    return np.array(values, np.float32)


def test_joint_bounds_take_no_memory():
    one = spaces.Box(-1, 255, (84, 84, 4), np.float32)
    joint = joint_space(one, 1000)
    assert joint.shape == joint.low.shape == joint.high.shape == (1000, 84, 84, 4)
    for array in (joint.low, joint.high, joint.bounded_below, joint.bounded_above):
        assert array.strides[0] == 0  # every agent's bounds are the same memory
    small = joint_space(spaces.Box(F32([0, -np.inf]), F32([1, 2.0])), 3)
    small.seed(1)
    sample = small.sample()
    assert sample.shape == (3, 2)
    assert small.contains(sample)
    assert not small.contains(sample[0])
    assert len({row[0] for row in sample.tolist()}) == 3  # rows are drawn one by one
    copy = pickle.loads(pickle.dumps(small))
    assert copy == small
    assert copy.contains(sample)
    assert len(pickle.dumps(joint)) < 4 * one.low.nbytes


def test_equal_compares_what_gymnasium_0_29_does_not():
    def nested(leaf):
        return [leaf, spaces.Dict(a=leaf), spaces.Tuple([spaces.Dict(b=leaf), leaf])]

    leaves = [
        spaces.Discrete(2),
        spaces.Discrete(2, start=1),
        spaces.MultiDiscrete([2]),
        spaces.MultiDiscrete([2, 2]),
        spaces.MultiDiscrete([[2, 2]]),
        spaces.Box(0, 1, (2,), np.float32),
        spaces.Box(0, 1, (2,), np.float64),
        spaces.Box(0, 1, (2,), np.int8),
        spaces.Box(0, 2, (2,), np.int8),
        spaces.MultiBinary(2),
    ]
    everything = [space for leaf in leaves for space in nested(leaf)]
    for i, one in enumerate(everything):
        for k, other in enumerate(everything):
            assert equal(one, other) == (i == k), (one, other)
    one = spaces.Dict([("z", leaves[0]), ("a", leaves[2])])
    assert equal(one, spaces.Dict(a=leaves[2], z=leaves[0]))
    assert not equal(one, spaces.Dict(a=leaves[2]))
    assert not equal(spaces.Tuple([leaves[0]]), spaces.Tuple([leaves[0]] * 2))
    assert equal(3, 3)
    assert not equal(3, leaves[0])


def test_joint_space_refuses_others():
    with pytest.raises(APIUsageError, match="Dict"):
        joint_space(spaces.Dict(a=spaces.Discrete(2)), 2)


def env_with(observation, action, num_agents=2):
    class Env(PufferEnv):
        def __init__(self, buf=None):
            self.single_observation_space = observation
            self.single_action_space = action
            self.num_agents = num_agents
            super().__init__(buf)

    return Env()


BOX = spaces.Box(0, 1, (3,))


@pytest.mark.parametrize(
    ("observation", "action", "words"),
    [
        (spaces.Discrete(3), spaces.Discrete(2), "single_observation_space.*Box.*Discrete"),
        (spaces.Box(0, 1, (0,)), spaces.Discrete(2), "no value"),
        (spaces.Box(0, 1, (3, 0, 2)), spaces.Discrete(2), "no value"),
        (BOX, spaces.MultiBinary(2), "MultiBinary"),
        (BOX, spaces.Tuple([spaces.Discrete(2)]), "Tuple"),
        (BOX, spaces.Discrete(3, start=1), "start"),
        (BOX, spaces.MultiDiscrete([[2, 2], [2, 2]]), "flat nvec"),
        (BOX, spaces.Discrete(2**31), "int32"),
        (BOX, spaces.Box(0, 1, (0,)), "no value"),
        (BOX, "Discrete", "str"),
    ],
)
def test_single_spaces_that_do_not_fit_are_refused(observation, action, words):
    with pytest.raises(APIUsageError, match=words):
        env_with(observation, action)


def test_spaces_that_gymnasium_counts_are_bounded_lazily():
    env = env_with(spaces.Box(0, 255, (84, 84, 4), np.uint8), spaces.Discrete(4), 2)
    assert "observation_space" not in env.__dict__  # bounds of thousands of agents are gigabytes
    assert env.observation_space.shape == (2, 84, 84, 4)
    assert isinstance(env.action_space, gymnasium.spaces.MultiDiscrete)
