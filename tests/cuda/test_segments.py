import math

import pytest
import torch

from puffer_cuda.schedule import cosine, linear
from puffer_cuda.segments import importance_weights, priorities, shuffled_passes


def test_priorities_on_paper():
    # Row sums 1, 2, 4, 0 to the power 0.8 are 1, 1.7411, 3.0314, 0; the floor is 0.001 of the mean.
    advantages = torch.tensor([[1.0, 0.0], [-1, 1], [2, -2], [0, 0]])
    scores = [1, 2**0.8, 4**0.8, 0]
    floored = [score + 1e-3 * sum(scores) / 4 for score in scores]
    expected = [score / sum(floored) for score in floored]
    assert priorities(advantages, 0.8).tolist() == pytest.approx(expected, rel=1e-5)


def test_priorities_without_any_signal_are_uniform():
    assert priorities(torch.zeros(5, 3), 0.8).tolist() == pytest.approx([0.2] * 5)
    assert priorities(torch.rand(5, 3), 0.0).tolist() == pytest.approx([0.2] * 5)


def test_non_finite_rows_are_not_preferred():
    advantages = torch.tensor([[1.0], [math.nan], [math.inf], [1.0]])
    got = priorities(advantages, 1.0).tolist()
    assert got[0] == got[3] > 0.49
    assert got[1] == got[2] < 0.001


def test_importance_weights_are_bounded():
    chances = torch.tensor([0.5, 0.25, 0.25 - 1e-7, 1e-7])
    weights = importance_weights(chances, torch.tensor([0, 1, 3]), 1.0)
    assert weights.tolist() == pytest.approx([2e-7, 4e-7, 1.0], rel=1e-4)
    assert importance_weights(chances, torch.tensor([0, 1]), 0.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("segments", "size", "minibatches"), [(8, 4, 2), (8, 4, 5), (7, 3, 9)])
def test_shuffled_passes_are_fair(segments, size, minibatches):
    order = shuffled_passes(
        segments, size, minibatches, torch.Generator().manual_seed(0), torch.device("cpu")
    )
    assert [len(chosen) for chosen in order] == [size] * minibatches
    counts = torch.bincount(torch.cat(order), minlength=segments)
    assert counts.max() - counts.min() <= 1
    first = torch.cat(order)[:segments]
    assert first.tolist() != sorted(first.tolist())
    other = shuffled_passes(
        segments, size, minibatches, torch.Generator().manual_seed(1), torch.device("cpu")
    )
    assert torch.cat(order).tolist() != torch.cat(other).tolist()


def test_schedules():
    assert cosine(0.2, 0.1, 0, 100) == pytest.approx(0.2)
    assert cosine(0.2, 0.1, 50, 100) == pytest.approx(0.11)
    assert cosine(0.2, 0.1, 100, 100) == pytest.approx(0.02)
    assert cosine(0.2, 0.1, 10**12, 100) == pytest.approx(0.02)
    assert linear(0.2, 1.0, 2**40, 2**41) == pytest.approx(0.6)
    assert linear(0.2, 1.0, 2**42, 2**41) == 1.0
