"""Copies that keep the value, and refusals of those that would not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from puffer_core import APIUsageError
from puffer_core.copying import copy_checked

INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]


@given(data=st.data(), source=st.sampled_from(INTEGERS + FLOATS), into=st.sampled_from(INTEGERS))
def test_integer_targets_hold_exactly_the_value_or_raise(data, source, into):
    value = data.draw(hnp.from_dtype(np.dtype(source)))
    # Python's integers know whether the target can hold it.
    info = (0, 1) if into == "bool" else (np.iinfo(into).min, np.iinfo(into).max)
    number = value.item()
    fits = np.isfinite(number) and number == int(number) and info[0] <= int(number) <= info[1]
    target = np.zeros((), into)
    if fits:
        copy_checked(target, value, "x")
        assert int(target) == int(number)
    else:
        with pytest.raises(APIUsageError, match=r"x: expected"):
            copy_checked(target, value, "x")
        assert target == 0


@given(data=st.data(), source=st.sampled_from(INTEGERS + FLOATS), into=st.sampled_from(FLOATS))
def test_float_targets_round_but_never_overflow(data, source, into):
    value = data.draw(hnp.from_dtype(np.dtype(source)))
    with np.errstate(all="ignore"):
        expected = np.asarray(value).astype(into)
    target = np.zeros((), into)
    if np.isfinite(expected) or not np.isfinite(value):
        copy_checked(target, value, "x")
        np.testing.assert_array_equal(target, expected)
    else:
        with pytest.raises(APIUsageError, match="cannot hold"):
            copy_checked(target, value, "x")


@pytest.mark.parametrize("value", [np.zeros((2, 1)), np.zeros(3), 0.0, [[1, 2]], np.zeros((1, 2))])
def test_another_shape_is_refused_even_if_it_would_broadcast(value):
    with pytest.raises(APIUsageError, match=r"obs: expected shape \(2,\)"):
        copy_checked(np.zeros(2), value, "obs")


@pytest.mark.parametrize("value", [["a", "b"], [None, None], np.array([1j, 0]), [{}, {}]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(APIUsageError, match="expected float32"):
        copy_checked(np.zeros(2, np.float32), value, "obs")


def test_the_message_points_at_the_value():
    with pytest.raises(APIUsageError) as error:
        copy_checked(np.zeros((2, 2), np.uint8), np.array([[1, 2], [256, 4]]), "observation")
    assert error.value.message == (
        "observation: expected uint8, got int64 with the value 256 at (1, 0), which uint8 cannot "
        "hold."
    )


def test_lists_and_equal_dtypes():
    target = np.zeros(2, np.int64)
    copy_checked(target, [3, 4], "x")
    assert target.tolist() == [3, 4]
    nan = np.zeros(1)
    copy_checked(nan, np.array([np.nan]), "x")  # floats may be NaN, whatever the trainer says
    assert np.isnan(nan[0])
