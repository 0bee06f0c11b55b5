"""Buffers: one layout, from which allocation and checking derive."""

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from puffer_core import APIUsageError, buffers

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64"]
NAMES = ["observations", "rewards", "terminals", "truncations", "masks", "actions"]
NAMES += ["final_observations"]


def fields(num_agents=3):
    return buffers.layout(spaces.Box(0, 1, (2,)), spaces.Discrete(4), num_agents)


@given(
    shape=st.lists(st.integers(1, 4), max_size=4),
    dtype=st.sampled_from(DTYPES),
    action=st.sampled_from(["discrete", "multi", "box"]),
    n=st.integers(1, 5),
)
def test_layout_for_every_box(shape, dtype, action, n):
    observation = spaces.Box(0, 1, tuple(shape), np.dtype(dtype).type)
    action_space, actions = {
        "discrete": (spaces.Discrete(3), ((n,), "int32")),
        "multi": (spaces.MultiDiscrete([2, 5]), ((n, 2), "int32")),
        "box": (observation, ((n, *shape), dtype)),
    }[action]
    made = buffers.allocate(buffers.layout(observation, action_space, n))
    assert list(made) == NAMES
    expected = {
        "observations": ((n, *shape), dtype),
        "rewards": ((n,), "float32"),
        "terminals": ((n,), "bool"),
        "truncations": ((n,), "bool"),
        "masks": ((n,), "bool"),
        "actions": actions,
        "final_observations": ((n, *shape), dtype),
    }
    assert {k: (v.shape, v.dtype.name) for k, v in made.items()} == expected
    for name, array in made.items():
        assert (array == (1 if name == "masks" else 0)).all()


def test_rows_are_views_that_pass_the_check():
    joint = buffers.allocate(fields(6))
    part = buffers.rows(joint, 2, 5)
    buffers.check(part, fields(3))
    part["observations"][0] = 7
    assert joint["observations"].tolist() == [[0, 0], [0, 0], [7, 7], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["shape", "dtype", "order", "read-only", "list", "missing"])
def test_every_fault_of_every_buffer_is_named(name, fault):
    made = buffers.allocate(fields())
    array = made[name]
    if fault == "shape":
        made[name] = np.zeros((4, *array.shape[1:]), array.dtype)
    elif fault == "dtype":
        made[name] = array.astype(np.int64)
    elif fault == "order":
        made[name] = np.repeat(array, 2, axis=0)[::2]
    elif fault == "read-only":
        array.flags.writeable = False
    elif fault == "list":
        made[name] = array.tolist()
    else:
        del made[name]
        if name == "final_observations":  # programs written for PufferLib have none
            return buffers.check(made, fields())
    with pytest.raises(APIUsageError, match=f"'{name}'"):
        buffers.check(made, fields())


def test_the_message_has_expected_and_got():
    made = buffers.allocate(fields())
    made["rewards"] = np.zeros(4)
    with pytest.raises(APIUsageError) as error:
        buffers.check(made, fields())
    assert str(error.value) == error.value.message
    assert error.value.message == (
        "buf['rewards'] must have shape (3,) and dtype float32, got shape (4,) and dtype float64."
    )
