"""Layouts: the table, the order of fields, refusals, and random spaces there and back."""

import json

import gymnasium
import numpy as np
import pytest
import random_spaces as rs
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_core import APIUsageError
from puffer_core.flatten import emulate, nativize, row_writer
from puffer_core.layout import Layout

F32, I8 = np.float32, np.int8


def box(dtype, *shape):
    return spaces.Box(0, 1, shape, dtype)


TABLE = [
    # space, flat dtype, flat shape, bytes, {path: offset}
    (spaces.Discrete(5), "int32", (1,), 4, {"": 0}),
    (spaces.Discrete(5, start=2**31), "int64", (1,), 8, {"": 0}),
    (spaces.MultiDiscrete([2, 3, 4]), "int32", (3,), 12, {"": 0}),
    (spaces.MultiDiscrete([[2, 3], [4, 5]]), "int32", (4,), 16, {"": 0}),
    (spaces.MultiBinary(4), "int8", (4,), 4, {"": 0}),
    (spaces.MultiBinary([2, 3]), "int8", (6,), 6, {"": 0}),
    (
        spaces.Tuple([spaces.Discrete(3), spaces.Discrete(4)]),
        "int32",
        (2,),
        8,
        {"[0]": 0, "[1]": 4},
    ),
    (spaces.Tuple([spaces.Discrete(3)] * 3), "int32", (3,), 12, {"[0]": 0, "[1]": 4, "[2]": 8}),
    (
        spaces.Dict(i=box(I8, 5), f=box(F32, 5, 5)),
        "uint8",
        (108,),
        108,
        {'["f"]': 0, '["i"]': 100},
    ),
    (spaces.Dict(a=box(F32, 2), b=box(F32, 3)), "float32", (5,), 20, {'["a"]': 0, '["b"]': 8}),
    (
        spaces.Dict(a=spaces.Discrete(5), b=box(np.int64, 3)),
        "uint8",
        (32,),
        32,
        {'["a"]': 0, '["b"]': 8},
    ),
    (
        spaces.Dict(a=box(I8, 1), b=spaces.Dict(c=box(I8, 1), d=box(F32, 1)), e=box(I8, 1)),
        "uint8",
        (16,),
        16,
        {'["a"]': 0, '["b"]["c"]': 4, '["b"]["d"]': 8, '["e"]': 12},
    ),
    (spaces.Dict(x=box(np.bool_, 2), y=box(np.bool_)), "bool", (3,), 3, {'["x"]': 0, '["y"]': 2}),
    (spaces.Dict(x=box(np.float16)), "float16", (1,), 2, {'["x"]': 0}),
]


@pytest.mark.parametrize(("space", "dtype", "shape", "size", "offsets"), TABLE)
def test_layouts_of_the_table(space, dtype, shape, size, offsets):
    layout = Layout(space, "")
    assert layout.flat_space.dtype == dtype
    assert layout.flat_space.shape == shape
    assert layout.dtype.itemsize == size
    assert {node.path: offset for offset, node in layout.leaves()} == offsets


@pytest.mark.parametrize("space", [box(F32), box(np.bool_, 2), box(np.float64, 2, 3)])
def test_a_box_passes_unchanged(space):
    assert Layout(space).flat_space is space


def test_flat_bounds_are_those_of_the_leaves():
    space = spaces.Tuple([spaces.Discrete(3, start=-1), spaces.MultiDiscrete([4, 2])])
    assert Layout(space).flat_space == spaces.Box(
        np.array([-1, 0, 0], np.int32), np.array([1, 3, 1], np.int32), dtype=np.int32
    )
    assert Layout(spaces.MultiBinary([2, 2])).flat_space == spaces.Box(0, 1, (4,), np.int8)
    space = spaces.Dict(a=spaces.Box(-2, np.inf, (1,)), b=spaces.Box(0, 3, ()))
    assert Layout(space).flat_space == spaces.Box(
        np.array([-2, 0], F32), np.array([np.inf, 3], F32)
    )


def test_a_start_in_a_small_dtype_does_not_overflow_the_bounds():
    space = spaces.MultiDiscrete(np.array([100], np.int8), dtype=np.int8, start=np.array([100]))
    assert Layout(space).flat_space.high.tolist() == [199]


UNSIZED = [
    (spaces.Sequence(box(F32, 2)), "observation: Sequence"),
    (spaces.Dict(tail=spaces.Sequence(box(F32, 2))), 'observation["tail"]: Sequence'),
    (
        spaces.Dict(tail=spaces.Tuple([box(F32), box(F32), spaces.Text(3)])),
        'observation["tail"][2]: Text',
    ),
    (spaces.Tuple([spaces.Graph(box(F32), None)]), "observation[0]: Graph"),
]
if hasattr(spaces, "OneOf"):  # since Gymnasium 1.0
    UNSIZED.append((spaces.Dict({"o": spaces.OneOf([box(F32)])}), 'observation["o"]: OneOf'))


@pytest.mark.parametrize(("space", "words"), UNSIZED)
def test_spaces_without_a_size_are_refused_with_path_class_and_hint(space, words):
    with pytest.raises(APIUsageError) as error:
        Layout(space)
    assert error.value.message.startswith(f"{words} has no fixed size and cannot be flattened. ")
    assert len(error.value.message.split("flattened. ")[1]) > 20  # the hint


def test_a_subclass_of_an_unsized_space_gets_its_hint():
    class Mission(spaces.Text):
        pass

    with pytest.raises(APIUsageError, match=r"observation: Mission .*characters"):
        Layout(Mission(3))


@pytest.mark.parametrize(
    ("space", "path"),
    [
        (box(F32, 0), "observation"),
        (box(F32, 2, 0), "observation"),
        (spaces.Dict(), "observation"),
        (spaces.Tuple([]), "observation"),
        (spaces.Dict(a=spaces.Tuple([box(F32, 1), box(F32, 0)])), 'observation["a"][1]'),
    ],
)
def test_spaces_without_a_value_are_refused(space, path):
    with pytest.raises(APIUsageError, match="holds no value") as error:
        Layout(space)
    assert error.value.message.startswith(f"{path}:")


def test_what_is_no_space_of_gymnasium_is_refused():
    for wrong in (None, 3, "Box", [box(F32)]):
        with pytest.raises(APIUsageError, match="a space of gymnasium"):
            Layout(wrong)


def test_keys_that_are_no_strings():
    space = spaces.Dict({1: box(F32, 1), 0: box(I8, 1)})
    layout = Layout(space)
    assert layout.dtype.names == ("0", "1")
    row = np.zeros(layout.flat_space.shape, layout.flat_space.dtype)
    sample = {1: np.array([0.5], F32), 0: np.array([3], I8)}
    row_writer(layout, row)(sample)
    rs.assert_same(nativize(row, space), sample)
    for keys in ([1, "1"], [""]):
        with pytest.raises(APIUsageError, match="Rename"):
            Layout(spaces.Dict({key: box(F32) for key in keys}))


def test_equal_spaces_have_equal_layouts():
    one, other = (
        spaces.Dict(a=box(F32, 1), b=box(I8, 1)),
        spaces.Dict(b=box(I8, 1), a=box(F32, 1)),
    )
    assert Layout(one).describe() == Layout(other).describe()


def test_the_description_is_json_and_tells_layouts_apart():
    seen = []
    for space, *_ in TABLE:
        description = Layout(space).describe()
        assert json.loads(json.dumps(description)) == description
        seen.append(json.dumps(description))
    assert len(set(seen)) == len(seen)
    assert Layout(TABLE[8][0]).describe() == {
        "flat_dtype": "|u1",
        "flat_shape": [108],
        "itemsize": 108,
        "leaves": [
            {
                "path": 'observation["f"]',
                "space": "Box",
                "dtype": "<f4",
                "shape": [5, 5],
                "offset": 0,
            },
            {
                "path": 'observation["i"]',
                "space": "Box",
                "dtype": "|i1",
                "shape": [5],
                "offset": 100,
            },
        ],
    }


def check_observation(space, seed):
    """A value written into a row, and read in every way there is, is the value."""
    rng = np.random.default_rng(seed)
    layout = Layout(space)
    flat = layout.flat_space
    assert isinstance(flat, spaces.Box)
    assert all(type(n) is int for n in flat.shape)
    buffer = np.zeros((3, *flat.shape), flat.dtype)
    sample = rs.value(space, rng)
    row_writer(layout, buffer[1, ...])(sample)
    assert not buffer[0].any() if buffer.ndim > 1 else not buffer[0]
    assert not buffer[2].any() if buffer.ndim > 1 else not buffer[2]
    decoded = nativize(buffer[1, ...], space, layout.dtype.base)
    rs.assert_same(decoded, rs.declared(space, sample))
    # The view of the whole buffer, and the writer that knows only the dtype.
    again = np.zeros((1, *flat.shape), flat.dtype)
    emulate(layout.view(again)[0:1] if layout.children else layout.view(again), _strings(sample))
    assert again.tobytes() == buffer[1:2].tobytes()
    # Order of keys: neither the sample's nor that of an equal space counts.
    equal = rs.reordered(space, rng)
    assert Layout(equal).describe() == layout.describe()
    # Fields of numpy's dtype, filled by hand, are the second opinion on where everything lies.
    if layout.children:
        expected = np.zeros(1, layout.dtype)
        _fill(layout, expected, sample)
        assert expected.tobytes() == buffer[1:2].tobytes()


def _strings(sample):
    if isinstance(sample, dict):
        return {str(key): _strings(entry) for key, entry in sample.items()}
    return tuple(map(_strings, sample)) if isinstance(sample, tuple) else sample


def _fill(node, array, sample):
    if not node.children:
        array[0, ...] = sample
    for key, name, child in node.children:
        _fill(child, array[name], sample[key])


@settings(deadline=None, max_examples=100)
@given(space=rs.observation_spaces, seed=rs.seeds)
def test_random_observations_there_and_back(space, seed):
    check_observation(space, seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@given(space=rs.observation_spaces, seed=rs.seeds)
def test_many_random_observations_there_and_back(space, seed):
    check_observation(space, seed)


@settings(deadline=None, max_examples=30)
@given(space=rs.observation_spaces, data=st.data())
def test_a_sample_is_inside_the_flat_space(space, data):
    layout = Layout(space)
    space.seed(data.draw(rs.seeds))
    row = np.zeros(layout.flat_space.shape, layout.flat_space.dtype)
    row_writer(layout, row, strict=True)(space.sample())
    assert layout.flat_space.contains(row)
    assert isinstance(layout.flat_space, gymnasium.spaces.Box)


def test_nativize_refuses_other_arrays():
    space = spaces.Dict(a=box(F32, 2), b=box(I8, 1))
    layout = Layout(space)
    row = np.zeros(layout.flat_space.shape, np.uint8)
    assert set(nativize(row[None], space, layout.dtype)) == {"a", "b"}
    for wrong in (row[:-1], row.astype(F32), np.zeros((2, *row.shape), np.uint8)):
        with pytest.raises(APIUsageError, match="nativize: expected shape"):
            nativize(wrong, space)
    with pytest.raises(APIUsageError, match=r"nativize: .* has the dtype"):
        nativize(row, space, np.dtype([("a", F32)]))
