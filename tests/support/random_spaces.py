"""Random nested spaces, random values of them, and what it means that two values are the same."""

import numpy as np
from gymnasium import spaces
from hypothesis import strategies as st

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]

shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple)
filled_shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def boxes(draw, dtypes=(*INTEGERS, *FLOATS, "bool")):
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(shapes)
    rng = np.random.default_rng(draw(seeds))
    if dtype.kind == "b":
        return spaces.Box(0, 1, shape, np.bool_)
    if dtype.kind == "f":
        low, high = rng.normal(-5, 1, shape), rng.normal(5, 1, shape)
        low = np.where(rng.random(shape) < 0.3, -np.inf, low).astype(dtype)
        high = np.where(rng.random(shape) < 0.3, np.inf, high).astype(dtype)
    else:
        info = np.iinfo(dtype)
        top = min(info.max, 2**63 - 2)  # Gymnasium's own limit
        low = np.where(rng.random(shape) < 0.5, info.min, 0).astype(dtype)
        high = np.where(rng.random(shape) < 0.5, top, 7).astype(dtype)
    return spaces.Box(np.asarray(low), np.asarray(high), shape, dtype.type)


@st.composite
def multi_discretes(draw):
    shape, rng = draw(filled_shapes), np.random.default_rng(draw(seeds))
    nvec = rng.integers(1, draw(st.sampled_from([5, 2**20])), shape)
    if draw(st.booleans()):
        return spaces.MultiDiscrete(nvec, start=rng.integers(-9, 9, shape))
    return spaces.MultiDiscrete(nvec, dtype=draw(st.sampled_from([np.int64, np.int32])))


discretes = st.builds(
    spaces.Discrete, st.integers(1, 9) | st.just(2**31 - 2), start=st.integers(-9, 9)
)
large_discretes = st.builds(spaces.Discrete, st.just(5), start=st.just(2**40))
multi_binaries = st.builds(spaces.MultiBinary, st.integers(1, 5) | filled_shapes)
discrete_leaves = discretes | multi_discretes() | multi_binaries
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@st.composite
def dicts(draw, leaves):
    keys = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    return spaces.Dict([(key, draw(leaves)) for key in keys])  # in this order, not sorted


def nested(leaves):
    """Leaves, and Dict and Tuple spaces of them at any depth."""
    return st.recursive(
        leaves,
        lambda inner: dicts(inner) | st.lists(inner, min_size=1, max_size=4).map(spaces.Tuple),
        max_leaves=8,
    )


observation_spaces = nested(boxes() | large_discretes | discrete_leaves)
action_spaces = (
    nested(discrete_leaves) | nested(boxes(FLOATS)) | nested(boxes(["bool", *INTEGERS[:-1]]))
)


def reordered(space, rng):
    """An equal space whose dicts were given in another order."""
    if isinstance(space, spaces.Dict):
        keys = list(space.spaces)
        rng.shuffle(keys)
        return spaces.Dict([(key, reordered(space.spaces[key], rng)) for key in keys])
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([reordered(child, rng) for child in space.spaces])
    return space


def value(space, rng):
    """A value of a space: any bits in floats, any order of keys, any kind of integer."""
    if isinstance(space, spaces.Dict):
        keys = list(space.spaces)
        rng.shuffle(keys)
        return {key: value(space.spaces[key], rng) for key in keys}
    if isinstance(space, spaces.Tuple):
        return tuple(value(child, rng) for child in space.spaces)
    if isinstance(space, spaces.Box) and np.dtype(space.dtype).kind == "f":
        dtype = np.dtype(space.dtype)
        count = int(np.prod(space.shape)) * dtype.itemsize
        return np.frombuffer(rng.bytes(count), dtype).reshape(space.shape)
    space.seed(int(rng.integers(2**31)))
    sample = space.sample()
    if isinstance(space, spaces.Discrete):
        return [int(sample), np.int64(sample), np.array(int(sample))][rng.integers(3)]
    return sample


def declared(space, sample):
    """The sample with every leaf in its declared dtype."""
    if isinstance(space, spaces.Dict):
        return {key: declared(space.spaces[key], sample[key]) for key in space.spaces}
    if isinstance(space, spaces.Tuple):
        return tuple(declared(child, sample[i]) for i, child in enumerate(space.spaces))
    return int(sample) if isinstance(space, spaces.Discrete) else np.asarray(sample, space.dtype)


def leaves(sample):
    """All leaves of a value, with their keys, whatever the order of dicts."""
    if isinstance(sample, dict):
        return {(key, *path): leaf for key in sample for path, leaf in leaves(sample[key]).items()}
    if isinstance(sample, tuple):
        return leaves(dict(enumerate(sample)))
    return {(): sample}


def assert_same(got, expected):
    """Equal structure, and every leaf equal byte for byte."""
    got, expected = leaves(got), leaves(expected)
    assert list(map(str, sorted(got, key=str))) == list(map(str, sorted(expected, key=str)))
    for path, leaf in got.items():
        if isinstance(leaf, int):
            assert leaf == int(expected[path])
            continue
        assert leaf.dtype == expected[path].dtype
        assert leaf.shape == expected[path].shape
        assert leaf.tobytes() == expected[path].tobytes()
