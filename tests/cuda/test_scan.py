import pytest
import torch

from puffer_cuda.scan import (
    linear_scan,
    parallel_scan,
    parallel_scan_back,
    sequential_scan,
    sequential_scan_back,
)

SIZES = [1, 2, 3, 31, 32, 33, 63, 64, 65]


def problem(time, dtype=torch.float64, segments=3, width=5):
    generator = torch.Generator().manual_seed(time)
    a = torch.rand(segments, time, width, generator=generator, dtype=dtype)
    a[torch.rand(segments, time, 1, generator=generator).expand_as(a) < 0.2] = 0  # episodes begin
    b = torch.randn(segments, time, width, generator=generator, dtype=dtype)
    return a, b, torch.randn(segments, width, generator=generator, dtype=dtype)


def by_hand(a, b, state):
    states = []
    for t in range(a.shape[1]):
        state = a[:, t] * state + b[:, t]
        states.append(state)
    return torch.stack(states, 1)


@pytest.mark.parametrize("time", SIZES)
@pytest.mark.parametrize("scan", [sequential_scan, parallel_scan, linear_scan])
def test_equals_the_recurrence(scan, time):
    a, b, initial = problem(time)
    torch.testing.assert_close(scan(a, b, initial), by_hand(a, b, initial), rtol=0, atol=1e-12)


@pytest.mark.parametrize("time", [1, 2, 5, 8])
def test_gradient_against_finite_differences(time):
    inputs = [x.requires_grad_() for x in problem(time, segments=2, width=2)]
    assert torch.autograd.gradcheck(linear_scan, inputs)


@pytest.mark.parametrize("time", SIZES)
def test_gradient_against_autograd(time):
    inputs = [x.requires_grad_() for x in problem(time)]
    weights = torch.randn(3, time, 5, dtype=torch.float64, generator=torch.Generator())
    expected = torch.autograd.grad((by_hand(*inputs) * weights).sum(), inputs)
    got = torch.autograd.grad((linear_scan(*inputs) * weights).sum(), inputs)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-11)


def test_a_zero_factor_forgets_everything_before():
    a, b, initial = problem(8)
    a[:, 4] = 0
    changed = b.clone()
    changed[:, :4] += 100
    torch.testing.assert_close(
        linear_scan(a, b, initial)[:, 4:], linear_scan(a, changed, initial - 7)[:, 4:]
    )


@pytest.mark.parametrize("time", SIZES)
@pytest.mark.parametrize("scan", [sequential_scan_back, parallel_scan_back])
def test_backwards(scan, time):
    a, b, _ = problem(time)
    expected, following = [], torch.zeros(3, 5, dtype=torch.float64)
    for t in reversed(range(time)):
        factor = a[:, t + 1] if t + 1 < time else 0
        following = b[:, t] + factor * following
        expected.insert(0, following)
    torch.testing.assert_close(scan(a, b), torch.stack(expected, 1), rtol=0, atol=1e-12)
