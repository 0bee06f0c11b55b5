"""Writers: every copy is checked, and what does not fit is named."""

import logging

import numpy as np
import pytest
import random_spaces as rs
from gymnasium import spaces

from puffer_core import APIUsageError, copying
from puffer_core.flatten import emulate, row_writer
from puffer_core.layout import Layout

SPACE = spaces.Dict(
    speed=spaces.Box(-1, 1, (2,), np.float32),
    hand=spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiBinary([1, 2])]),
    image=spaces.Box(0, 255, (2, 2), np.uint8),
    deck=spaces.MultiDiscrete([2, 3]),
)


def sample(**changes):
    return {
        "speed": np.array([0.5, -0.5], np.float32),
        "hand": (2, np.array([[0, 1]], np.int8)),
        "image": np.array([[1, 2], [3, 4]], np.uint8),
        "deck": np.array([1, 2]),
        **changes,
    }


def writer(space=SPACE, strict=False):
    layout = Layout(space)
    row = np.zeros(layout.flat_space.shape, layout.flat_space.dtype)
    return row_writer(layout, row, strict), row


WRONG = [
    ({"speed": np.zeros(3)}, r'observation\["speed"\]: expected shape \(2,\), got \(3,\)'),
    ({"speed": [1e39, 0]}, r'observation\["speed"\].*float32.*1e\+39 at \(0,\)'),
    ({"speed": None}, r'observation\["speed"\]'),
    ({"image": [[1, 2], [3, 300]]}, r'observation\["image"\].*uint8.*300 at \(1, 1\)'),
    ({"image": [[1, 2], [3, 0.5]]}, r'observation\["image"\].*0.5 at \(1, 1\)'),
    ({"image": [[1, 2], [3, np.nan]]}, r'observation\["image"\].*nan at \(1, 1\)'),
    ({"hand": (0, [[0, 1]])}, r'observation\["hand"\]\[0\].*from 1 to 3, got 0'),
    ({"hand": (4, [[0, 1]])}, r'observation\["hand"\]\[0\].*from 1 to 3, got 4'),
    ({"hand": (1.5, [[0, 1]])}, r'observation\["hand"\]\[0\].*got 1.5'),
    ({"hand": (1, [[0, 2]])}, r'observation\["hand"\]\[1\].*MultiBinary.*2 at \(0, 1\)'),
    ({"hand": (1, [0, 1])}, r'observation\["hand"\]\[1\]: expected shape \(1, 2\)'),
    ({"hand": (1,)}, r'observation\["hand"\]: expected a tuple of 2, got one of 1'),
    ({"hand": (1, [[0, 1]], 2)}, r'observation\["hand"\]: expected a tuple of 2, got one of 3'),
    ({"hand": {0: 1, 1: [[0, 1]]}}, r'observation\["hand"\]: expected a tuple of 2, got \{'),
    ({"deck": [1, 3]}, r'observation\["deck"\].*MultiDiscrete.*3 at \(1,\), where 0 to 2'),
    ({"deck": [-1, 0]}, r'observation\["deck"\].*-1 at \(0,\)'),
    ({"deck": np.array([1, 3])}, r'observation\["deck"\].*3 at \(1,\), where 0 to 2'),
    ({"deck": np.array([-1, 0])}, r'observation\["deck"\].*-1 at \(0,\), where 0 to 1'),
    ({"deck": np.array([0.5, 0])}, r'observation\["deck"\].*0.5 at \(0,\)'),
    ({"deck": np.array([0, 2**40])}, r'observation\["deck"\].*1099511627776 at \(1,\)'),
    ({"hand": (1, np.array([[0, 2]], np.int8))}, r'observation\["hand"\]\[1\].*2 at \(0, 1\)'),
    ({"more": 1}, r"observation: expected the keys.*has the unknown 'more'"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG)
def test_what_does_not_fit_is_named_with_its_path(changes, words):
    write, row = writer()
    write(sample())
    before = row.copy()
    write(sample())
    assert (row == before).all()
    with pytest.raises(APIUsageError, match=words):
        write(sample(**changes))
    write(sample())  # an error leaves the writer usable
    assert (row == before).all()


def test_missing_and_renamed_keys_are_named():
    write, _ = writer()
    for missing in SPACE.spaces:
        wrong = sample()
        del wrong[missing]
        with pytest.raises(APIUsageError, match=f"misses '{missing}'"):
            write(wrong)
        wrong[missing.upper()] = 0
        with pytest.raises(APIUsageError, match=f"misses '{missing}' and has the unknown '"):
            write(wrong)
    for wrong in ([], None, np.zeros(3), ((1, 2),)):
        with pytest.raises(APIUsageError, match="expected a dict with the keys"):
            write(wrong)


@pytest.mark.parametrize("changes", [{"image": [[0, 0], [0, 256]]}, {"more": 1}, {"hand": (1,)}])
def test_emulate_checks_as_well(changes):
    layout = Layout(SPACE)
    row = np.zeros((1, *layout.flat_space.shape), np.uint8)
    emulate(layout.view(row), sample())
    write, expected = writer()
    write(sample())
    assert (row == expected).all()
    with pytest.raises(APIUsageError, match="observation"):
        emulate(layout.view(row), sample(**changes))


def test_bounds_count_only_if_strict():
    high = sample(speed=np.array([0, 1.5], np.float32))
    writer()[0](high)  # CartPole does it itself
    for wrong in (high, sample(speed=[0, -2]), sample(speed=[0, np.nan])):
        with pytest.raises(APIUsageError) as error:
            writer(strict=True)[0](wrong)
        assert error.value.message.startswith('observation["speed"]: expected values inside')
        assert "at (1,), where -1.0 to 1.0 is declared (1 of 2 values" in error.value.message
    writer(strict=True)[0](sample())


def test_strict_counts_all_values_outside():
    write, _ = writer(spaces.Box(0, 1, (3, 2)), strict=True)
    with pytest.raises(APIUsageError, match=r"2.0 at \(0, 1\).*3 of 6 values"):
        write([[0, 2], [-1, 1], [1, 1.5]])


def test_another_dtype_that_fits_is_reported_once(caplog):
    copying.reported.clear()
    write, row = writer(spaces.Box(0, 1, (2,), np.float32))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            write(np.array([0.5, 0.25]))
        write([0.5, 0.25])  # a list has no dtype
        # Stored as int32 by our choice, not by the author's: nothing to tell.
        writer(spaces.MultiDiscrete([3] * 100))[0](np.ones(100, np.int64))
    assert row.tolist() == [0.5, 0.25]
    (record,) = caplog.records
    assert record.getMessage() == (
        "observation: the environment returns float64 where its space declares float32; the "
        "values are converted (reported once)."
    )


def test_a_write_does_not_keep_the_sample():
    write, row = writer()
    first = sample()
    write(first)
    before = row.copy()
    first["image"][:] = 9
    first["speed"][:] = 9
    assert (row == before).all()


@pytest.mark.parametrize("count", [2, 100])
def test_long_and_short_multi_discretes(count):
    write, row = writer(spaces.MultiDiscrete([3] * count, start=[-1] * count))
    for dtype in (np.int8, np.int64, np.uint8, np.bool_, np.float64):
        write(np.ones(count, dtype))
        assert row.tolist() == [1] * count
    write(np.full(count, -1))
    for wrong in (-2, 2):
        value = np.ones(count, np.int64)
        value[-1] = wrong
        with pytest.raises(APIUsageError, match=rf"got {wrong} at \({count - 1},\)"):
            write(value)


def test_writers_share_no_state():
    rng = np.random.default_rng(0)
    layout = Layout(SPACE)
    rows = np.zeros((4, *layout.flat_space.shape), np.uint8)
    samples = [rs.value(SPACE, rng) for _ in rows]
    for write, value in zip([row_writer(layout, row) for row in rows], samples, strict=True):
        write(value)
    for row, value in zip(rows, samples, strict=True):
        write, alone = writer()
        write(value)
        assert (row == alone).all()
