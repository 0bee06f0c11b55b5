"""Actions: what a policy gives becomes what the environment's own space contains."""

import numpy as np
import pytest
import random_spaces as rs
from gymnasium import spaces
from hypothesis import given, settings

from puffer_core import APIUsageError
from puffer_core.actions import action_decoder
from puffer_core.buffers import layout


def check_action(space, seed):
    """Rows of the buffer and of the flat space, in every integer dtype, become valid actions."""
    flat, decode = action_decoder(space)
    assert isinstance(flat, (spaces.Discrete, spaces.MultiDiscrete, spaces.Box))
    flat.seed(seed % 2**31)
    row = flat.sample()
    buffer = layout(spaces.Box(0, 1), flat, 1)["actions"]
    dtypes = [buffer.dtype] if isinstance(flat, spaces.Box) else [np.int32, np.int64]
    decoded = [decode(np.asarray(row, dtype)) for dtype in dtypes]
    decoded += [decode(np.asarray(row, dtype)[None]) for dtype in dtypes]
    for action in decoded:
        assert space.contains(action)
        rs.assert_same(action, decoded[0])
        check_declared(space, action)
    # Elements arrive in the order of the leaves, each exactly once.
    for part, expected in zip(
        np.concatenate([np.ravel(part) for part in flattened(space, decoded[0])]),
        np.ravel(np.asarray(row)),
        strict=True,
    ):
        # A leaf of lower precision rounds what the joint Box gives.
        assert part == expected or np.isclose(float(part), float(expected), rtol=1e-3)


def check_declared(space, action):
    if isinstance(space, spaces.Dict):
        assert list(action) == list(space.spaces)
        for key, child in space.spaces.items():
            check_declared(child, action[key])
    elif isinstance(space, spaces.Tuple):
        assert type(action) is tuple
        for child, part in zip(space.spaces, action, strict=True):
            check_declared(child, part)
    elif isinstance(space, spaces.Discrete):
        assert type(action) is int
    else:
        assert (action.dtype, action.shape) == (space.dtype, space.shape)


def flattened(space, action):
    """The heads that mean this action, found from the space alone."""
    if isinstance(space, spaces.Dict):
        return [part for key in sorted(action) for part in flattened(space[key], action[key])]
    if isinstance(space, spaces.Tuple):
        return [part for i, child in enumerate(space) for part in flattened(child, action[i])]
    return [action - getattr(space, "start", 0)]


@settings(deadline=None, max_examples=100)
@given(space=rs.action_spaces, seed=rs.seeds)
def test_random_actions_are_contained(space, seed):
    check_action(space, seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@given(space=rs.action_spaces, seed=rs.seeds)
def test_many_random_actions_are_contained(space, seed):
    check_action(space, seed)


def test_heads_of_a_structure():
    space = spaces.Dict(
        b=spaces.Tuple([spaces.Discrete(3, start=5), spaces.MultiBinary([1, 2])]),
        a=spaces.MultiDiscrete([[4, 5]]),
    )
    flat, decode = action_decoder(space)
    assert flat == spaces.MultiDiscrete([4, 5, 3, 2, 2])
    for dtype in (np.int32, np.int64):
        action = decode(np.array([[3, 4, 2, 1, 0]], dtype))
        assert action["b"][0] == 7
        assert action["b"][1].tolist() == [[1, 0]]
        assert action["a"].tolist() == [[3, 4]]
    for wrong in ([4, 0, 0, 0, 0], [0, 0, 0, 0, -1], [0, 0, 0, 0], np.zeros(5), [[0] * 5] * 2):
        with pytest.raises(APIUsageError, match="action: expected"):
            decode(np.array(wrong))


def test_a_structure_of_boxes_is_one_box():
    space = spaces.Tuple(
        [
            spaces.Box(-1, 1, (1, 2), np.float32),
            spaces.Dict(x=spaces.Box(np.float64(0), np.float64(0.1), (), np.float64)),
        ]
    )
    flat, decode = action_decoder(space)
    assert flat == spaces.Box(np.array([-1, -1, 0.0]), np.array([1, 1, 0.1]), dtype=np.float64)
    action = decode(np.array([[0.5, 9, 9]]))
    assert action[0].tolist() == [[0.5, 1]]
    assert action[1]["x"] == 0.1
    assert space.contains(action)
    space = spaces.Dict(a=spaces.Box(-3, 3, (2,), np.int8), b=spaces.Box(0, 300, (1,), np.int64))
    flat, decode = action_decoder(space)
    assert flat.dtype == np.int64
    assert space.contains(decode(np.array([-9, 2, 299])))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (
            spaces.Dict(go=spaces.Box(0, 1, (2,)), fire=spaces.Discrete(2)),
            r'mixes continuous.*\["go"\] \(Box, float32\) and action_space\["fire"\] \(Discrete',
        ),
        (
            spaces.Tuple([spaces.MultiBinary(2), spaces.Box(0, 1, ())]),
            r"mixes continuous.*action_space\[1\] .Box.* and action_space\[0\] .MultiBinary",
        ),
        (
            spaces.Tuple([spaces.Box(0, 1, ()), spaces.Box(0, 5, (), np.int32)]),
            r"of floats and of integers, action_space\[0\].*action_space\[1\]",
        ),
        (
            spaces.Tuple([spaces.Box(0, 1, (), np.uint64), spaces.Box(0, 5, (), np.int32)]),
            "uint64 with signed",
        ),
        (spaces.Dict(say=spaces.Text(3)), r'action_space\["say"\]: Text'),
        (spaces.Sequence(spaces.Discrete(2)), "action_space: Sequence"),
        (spaces.Tuple([]), "holds no value"),
    ],
)
def test_mixes_and_unsized_actions_are_refused(space, words):
    with pytest.raises(APIUsageError, match=words):
        action_decoder(space)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_unbounded_actions_stay_finite(dtype):
    space = spaces.Box(-np.inf, np.inf, (2,), dtype)
    action = action_decoder(space)[1](np.array([1e300, -1e300]))
    assert np.isfinite(action).all()
    assert action.dtype == dtype
    assert space.contains(action)


def test_integer_boxes_clip_exactly():
    space = spaces.Box(0, 2**63 - 2, (2,), np.uint64)
    decode = action_decoder(space)[1]
    assert decode(np.array([-5, 2**62 + 1])).tolist() == [0, 2**62 + 1]
    decode = action_decoder(spaces.Box(0, 1, (2,), np.bool_))[1]
    assert decode(np.array([True, False])).dtype == np.bool_
    assert decode(np.array([7, -7])).tolist() == [True, False]
    with pytest.raises(APIUsageError, match="expected bool, got float64"):
        decode(np.zeros(2))
