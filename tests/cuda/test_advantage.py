import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_cuda.advantage import advantages


def reference(rewards, terminals, truncations, values, final_values, ratios, gamma, lam, rho, c):
    """The recursion of the docstring, one float64 number at a time."""
    segments, horizon = rewards.shape
    out = np.zeros((segments, horizon))
    for n in range(segments):
        following = 0.0
        for t in reversed(range(horizon)):
            if terminals[n, t]:
                next_value = 0.0
            elif truncations[n, t]:
                next_value = float(final_values[n, t])
            else:
                next_value = float(values[n, t + 1])
            ratio = float(ratios[n, t])
            delta = min(ratio, rho) * (
                float(rewards[n, t]) + gamma * next_value - float(values[n, t])
            )
            goes_on = not (terminals[n, t] or truncations[n, t])
            following = delta + gamma * lam * min(ratio, c) * goes_on * following
            out[n, t] = following
    return out


def tensors(*arrays):
    return [torch.tensor(array) for array in arrays]


def row(values):
    return torch.tensor([values], dtype=torch.float32)


NO = torch.zeros(1, 3, dtype=torch.bool)


def test_last_action_counts():
    # delta_2 = 1 + 0.5 * 8 - 2 = 3; delta_1 = 0 + 0.5 * 2 - 1 = 0; delta_0 = 2 + 0.5 * 1 - 4 = -1.5
    # A_2 = 3; A_1 = 0 + 0.25 * 3 = 0.75; A_0 = -1.5 + 0.25 * 0.75
    got = advantages(
        row([2, 0, 1]), NO, NO, row([4, 1, 2, 8]), row([0, 0, 0]), row([1, 1, 1]), 0.5, 0.5
    )
    assert got.tolist() == [[-1.3125, 0.75, 3.0]]


def test_terminal_cuts_and_bootstraps_with_zero():
    terminals = torch.tensor([[False, True, False]])
    got = advantages(
        row([2, 0, 1]), terminals, NO, row([4, 1, 2, 8]), row([9, 9, 9]), row([1, 1, 1]), 0.5, 0.5
    )
    # delta_1 = 0 + 0 - 1 = -1 and nothing of step 2 reaches it; A_0 = -1.5 + 0.25 * -1
    assert got.tolist() == [[-1.75, -1.0, 3.0]]


def test_truncation_cuts_and_bootstraps_with_the_final_observation():
    truncations = torch.tensor([[False, True, False]])
    got = advantages(
        row([2, 0, 1]), NO, truncations, row([4, 1, 2, 8]), row([0, 6, 0]), row([1, 1, 1]), 0.5, 0.5
    )
    # delta_1 = 0 + 0.5 * 6 - 1 = 2; A_0 = -1.5 + 0.25 * 2
    assert got.tolist() == [[-1.0, 2.0, 3.0]]


def test_both_flags_are_terminal():
    both = torch.tensor([[False, True, False]])
    arguments = (row([4, 1, 2, 8]), row([0, 6, 0]), row([1, 1, 1]), 0.5, 0.5)
    as_terminal = advantages(row([2, 0, 1]), both, NO, *arguments)
    assert torch.equal(advantages(row([2, 0, 1]), both, both, *arguments), as_terminal)


def test_clipped_ratios():
    # A published row of PufferLib 3.0, whose reward and end of action t stand at t + 1.
    got = advantages(
        row([1, -1, 0.5, 0]),
        torch.tensor([[False, False, True, False]]),
        torch.zeros(1, 4, dtype=torch.bool),
        row([0.5, 0.2, -0.1, 0.4, 0.3]),
        row([0, 0, 0, 0]),
        row([1.5, 0.5, 1, 2]),
        0.9,
        0.8,
        1.2,
        1.0,
    )
    assert got[0].tolist() == pytest.approx([0.50712, -0.429, 0.6, -0.156], abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    segments=st.integers(1, 9),
    horizon=st.sampled_from([1, 2, 3, 31, 63, 64, 65]),
    seed=st.integers(0, 2**31),
    gamma=st.floats(0, 1),
    lam=st.floats(0, 1),
    rho=st.floats(0.1, 3),
    c=st.floats(0.1, 3),
)
def test_against_float64(segments, horizon, seed, gamma, lam, rho, c):
    rng = np.random.default_rng(seed)
    shape = (segments, horizon)
    arrays = (
        rng.normal(size=shape).astype(np.float32),
        rng.random(shape) < 0.1,
        rng.random(shape) < 0.1,
        rng.normal(size=(segments, horizon + 1)).astype(np.float32),
        rng.normal(size=shape).astype(np.float32),
        np.exp(rng.normal(size=shape)).astype(np.float32),
    )
    got = advantages(*tensors(*arrays), gamma, lam, rho, c)
    expected = reference(*arrays, gamma, lam, rho, c)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-4)
