"""Silent resets: what counts as a jump back to the start, and what does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_core.check.episodes import silent_resets

FLOATS = np.array([True, True])


def walk(rng, start, steps, size=0.1):
    """A random walk of two numbers from a start."""
    moves = rng.choice([-size, size], (steps, 2))
    return np.concatenate([[start], start + np.cumsum(moves, axis=0)])


def drift(start, steps, size=0.1):
    """Away from the start in steps of one size."""
    return start + size * np.arange(steps + 1)[:, None] * np.array([1.0, -1.0])


def test_an_unstated_return_to_the_start_is_found():
    starts = np.array([[0.0, 0.0], [-0.05, -0.05], [-0.1, -0.1]])
    table = np.concatenate([drift(start, 20) for start in starts])
    assert silent_resets(table, {0, 42}, FLOATS) == [21]
    assert silent_resets(table, {0, 21, 42}, FLOATS) == []  # all stated


@pytest.mark.parametrize(("steps", "found"), [(5, []), (10, [11])])
def test_a_return_must_be_longer_than_six_ordinary_steps(steps, found):
    table = np.concatenate([drift(np.zeros(2), steps), drift(np.zeros(2), steps)])
    assert silent_resets(table, {0}, FLOATS) == found


def test_a_jump_elsewhere_is_no_reset():
    table = np.concatenate([drift(np.zeros(2), 20), drift(np.full(2, 7.0), 20)])
    assert silent_resets(table, {0}, FLOATS) == []


def test_every_number_must_look_like_the_start():
    table = np.concatenate([drift(np.zeros(2), 20), drift(np.array([0.0, 0.5]), 20)])
    assert silent_resets(table, {0}, FLOATS) == []


def test_choices_have_no_distances():
    table = np.concatenate([drift(np.zeros(2), 20, 1), drift(np.zeros(2), 20, 1)])
    assert silent_resets(table, {0}, FLOATS) == [21]
    assert silent_resets(table, {0}, ~FLOATS) == []


def test_many_choices_at_once_are_a_jump():
    bricks = np.ones((30, 30))
    for t in range(1, 30):
        bricks[t] = bricks[t - 1]
        bricks[t, t - 1] = 0
    table = np.concatenate([bricks[:12], bricks[:12]])
    assert silent_resets(table, {0}, np.zeros(30, bool)) == [12]
    few = np.concatenate([bricks[:4], bricks[:4]])  # three bricks: perhaps an ordinary event
    assert silent_resets(few, {0}, np.zeros(30, bool)) == []


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10_000), starts=st.integers(1, 10))
def test_walking_over_the_start_is_never_a_reset(seed, starts):
    rng = np.random.default_rng(seed)
    pieces, breaks, length = [], set(), 0
    for _ in range(starts):
        breaks.add(length)
        pieces.append(walk(rng, rng.uniform(-0.5, 0.5, 2), 60))
        length += len(pieces[-1])
    assert silent_resets(np.concatenate(pieces), breaks, FLOATS) == []


def test_a_table_that_never_moves():
    assert silent_resets(np.zeros((5, 2)), {0}, FLOATS) == []
