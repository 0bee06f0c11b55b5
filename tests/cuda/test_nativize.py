"""Flat tensors seen as their space again: no copy, and not a bit changed."""

import gymnasium
import numpy as np
import pytest
import random_spaces as rs
import torch
from gymnasium import spaces
from hypothesis import given, settings

from puffer_core import APIUsageError, GymnasiumPufferEnv
from puffer_core.flatten import row_writer
from puffer_cuda.nativize import flattened_tensor_size, nativize_dtype, nativize_tensor


class Only(gymnasium.Env):
    def __init__(self, space):
        self.observation_space, self.action_space = space, spaces.Discrete(2)


def wrap(space):
    return GymnasiumPufferEnv(Only(space))


def tensors(tree, path=()):
    if isinstance(tree, dict):
        return {k: v for name, sub in tree.items() for k, v in tensors(sub, (*path, name)).items()}
    return {path: tree}


def named(space, sample, path=()):
    """Leaves by field name, each in the dtype that the layout stores."""
    if isinstance(space, spaces.Dict):
        pairs = [(str(key), space.spaces[key], sample[key]) for key in space.spaces]
    elif isinstance(space, spaces.Tuple):
        pairs = [(f"f{i}", child, sample[i]) for i, child in enumerate(space.spaces)]
    else:
        return {path: np.asarray(sample)}
    return {k: v for name, *pair in pairs for k, v in named(*pair, (*path, name)).items()}


def check_tensors(space, seed):
    rng = np.random.default_rng(seed)
    env = wrap(space)
    flat = env.single_observation_space
    buffer = np.zeros((2, 3, *flat.shape), flat.dtype)
    samples = [[rs.value(space, rng) for _ in range(3)] for _ in range(2)]
    for i in range(2):
        for j in range(3):
            row_writer(env.layout, buffer[i, j, ...])(samples[i][j])
    batch = torch.from_numpy(buffer)
    native = nativize_dtype(env.emulated)
    got = tensors(nativize_tensor(batch, native))
    low, high = batch.data_ptr(), batch.data_ptr() + buffer.nbytes
    for i in range(2):
        for j in range(3):
            expected = named(space, samples[i][j])
            assert set(got) == set(expected)
            for path, leaf in expected.items():
                view = got[path][i, j].numpy()
                assert low <= got[path].data_ptr() < high  # a view
                assert view.shape == leaf.shape or (leaf.shape == () and view.shape == (1,))
                stored = leaf.astype(view.dtype).reshape(view.shape)
                assert view.tobytes() == stored.tobytes()
                assert view.dtype == leaf.dtype or leaf.dtype.kind in "iu"
    assert flattened_tensor_size(native) == sum(leaf.size for leaf in expected.values())
    # Every other row, as slices of a rollout have it.
    for path, tensor in tensors(nativize_tensor(batch[:, ::2], native)).items():
        assert torch.equal(
            tensor.nan_to_num() if tensor.is_floating_point() else tensor,
            got[path][:, ::2].nan_to_num() if tensor.is_floating_point() else got[path][:, ::2],
        )


@settings(deadline=None, max_examples=100)
@given(space=rs.observation_spaces, seed=rs.seeds)
def test_random_spaces_as_tensors(space, seed):
    check_tensors(space, seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@given(space=rs.observation_spaces, seed=rs.seeds)
def test_many_random_spaces_as_tensors(space, seed):
    check_tensors(space, seed)


def test_padding_inside_nested_structures():
    """Offsets that are added up instead of read put c, d and e at 1, 4 and 6."""
    i8, f32 = spaces.Box(0, 1, (1,), np.int8), spaces.Box(0, 1, (1,), np.float32)
    env = wrap(spaces.Dict(a=i8, b=spaces.Dict(c=i8, d=f32), e=i8))
    assert nativize_dtype(env.emulated) == {
        "a": (torch.int8, (1,), 0, 1),
        "b": {"c": (torch.int8, (1,), 4, 1), "d": (torch.float32, (1,), 8, 4)},
        "e": (torch.int8, (1,), 12, 1),
    }


@pytest.mark.parametrize(
    ("space", "field", "shape"),
    [
        (spaces.Box(0, 1, (2, 3)), (torch.float32, (2, 3), 0, 6), (2, 3)),
        (spaces.Box(0, 1, ()), (torch.float32, (), 0, 1), ()),
        (spaces.Box(0, 1, (1,), np.float16), (torch.float16, (1,), 0, 1), (1,)),
        (spaces.Box(0, 1, (2,), np.bool_), (torch.bool, (2,), 0, 2), (2,)),
        (spaces.Discrete(4), (torch.int32, (1,), 0, 1), (1,)),
        (spaces.MultiBinary([2, 2]), (torch.int8, (2, 2), 0, 4), (2, 2)),
        (spaces.MultiDiscrete([2, 2]), (torch.int32, (2,), 0, 2), (2,)),
    ],
)
def test_a_space_by_itself_is_one_field(space, field, shape):
    env = wrap(space)
    native = nativize_dtype(env.emulated)
    assert native == field
    flat = env.single_observation_space
    for batch in ((1,), (4,), (3, 2)):
        observations = torch.from_numpy(np.zeros((*batch, *flat.shape), flat.dtype))
        assert nativize_tensor(observations, native).shape == (*batch, *shape)


def test_fields_of_one_dtype():
    env = wrap(spaces.Dict(x=spaces.Box(0, 1, (2,)), y=spaces.Box(0, 1, ())))
    native = nativize_dtype(env.emulated)
    assert native == {"x": (torch.float32, (2,), 0, 2), "y": (torch.float32, (1,), 2, 1)}
    flat = torch.tensor([[1.0, 2.0, 3.0]])
    got = nativize_tensor(flat, native)
    assert got["x"].tolist() == [[1, 2]]
    assert got["y"].tolist() == [[3]]
    got["y"][:] = 7
    assert flat.tolist() == [[1, 2, 7]]


def test_misuse_is_refused():
    mixed = spaces.Dict(x=spaces.Box(0, 1, (2,)), y=spaces.Box(0, 1, (3,), np.int8))
    native = nativize_dtype(wrap(mixed).emulated)
    good = torch.zeros(2, 12, dtype=torch.uint8)
    nativize_tensor(good, native)
    for wrong in (good.float(), good[:, :10], good.to(torch.int8), good[0, 0]):
        with pytest.raises(APIUsageError, match="nativize_tensor: expected"):
            nativize_tensor(wrong, native)
    for wrong in (False, True, {}, None):
        with pytest.raises(APIUsageError, match=r"nativize_dtype: expected env.emulated"):
            nativize_dtype(wrong)
    wide = {"observation_dtype": "u1", "emulated_observation_dtype": np.dtype([("a", "g")])}
    with pytest.raises(APIUsageError, match=r"observation.a: torch has no dtype"):
        nativize_dtype(wide)
