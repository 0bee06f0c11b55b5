"""The Gaussian process against a dense float64 reference and finite differences."""

import math

import numpy as np
import pytest

from puffer_protein.acquisition import Staircase, expected_improvement
from puffer_protein.front import hypervolume, pareto_front
from puffer_protein.gaussian_process import GaussianProcess, Prior
from puffer_protein.models import ScoreScale

PRIOR = Prior((-0.5, 1.0), (0.0, 1.0), (-1.0, 1.0), (-3.0, 1.0))


def reference_kernel(theta, x, other):
    """The kernel, one pair at a time."""
    *lengths, amplitude, linear, _ = np.exp(theta)
    matrix = np.empty((len(x), len(other)))
    for i, a in enumerate(x):
        for j, b in enumerate(other):
            r = math.sqrt(sum(((u - v) / s) ** 2 for u, v, s in zip(a, b, lengths, strict=True)))
            matern = (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)
            trend = 1 + sum((u - 0.5) * (v - 0.5) for u, v in zip(a, b, strict=True))
            matrix[i, j] = amplitude * matern + linear * trend
    return matrix


def data(n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.standard_normal(n), rng.normal(-0.5, 0.5, d + 3)


def test_posterior_is_that_of_a_dense_reference():
    x, y, theta = data()
    new = np.random.default_rng(1).random((5, 3))
    model = GaussianProcess(3, PRIOR)
    model.theta = theta
    model.condition(x, y)
    covariance = reference_kernel(theta, x, x) + np.exp(theta[-1]) * np.eye(len(y))
    cross = reference_kernel(theta, x, new)
    inverse = np.linalg.inv(covariance)
    mean, sd = model.predict(new)
    np.testing.assert_allclose(mean, cross.T @ inverse @ y, rtol=1e-10)
    variance = reference_kernel(theta, new, new) - cross.T @ inverse @ cross
    np.testing.assert_allclose(sd**2, np.diag(variance), rtol=1e-9)
    np.testing.assert_allclose(model.mean(new), mean, rtol=1e-10)


def test_log_posterior_by_a_reference_and_its_gradient_by_finite_differences():
    x, y, theta = data()
    model = GaussianProcess(3, PRIOR)
    value, gradient = model.log_posterior(theta, x, y)
    covariance = reference_kernel(theta, x, x) + np.exp(theta[-1]) * np.eye(len(y))
    means, sds = PRIOR.arrays(3)
    expected = (
        -0.5 * y @ np.linalg.solve(covariance, y)
        - 0.5 * np.linalg.slogdet(covariance)[1]
        - 0.5 * (((theta - means) / sds) ** 2).sum()
    )
    assert value == pytest.approx(expected, rel=1e-12)
    for k in range(len(theta)):
        step = np.zeros_like(theta)
        step[k] = 1e-5
        high, low = (model.log_posterior(theta + s, x, y)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((high - low) / 2e-5, rel=1e-6, abs=1e-7)


def test_fitting_finds_the_input_that_matters():
    rng = np.random.default_rng(0)
    x = rng.random((60, 2))
    model = GaussianProcess(2, PRIOR)
    model.fit(x, np.sin(6 * x[:, 0]), steps=50)
    assert model.theta[0] < model.theta[1] - 1  # the first length-scale is much shorter


def test_identical_inputs_do_not_break_the_factorisation():
    model = GaussianProcess(2, PRIOR)
    x, y = np.full((50, 2), 0.3), np.zeros(50)
    model.fit(x, y, steps=20)
    model.condition(x, y)
    assert np.isfinite(model.predict(np.random.default_rng(0).random((4, 2)))).all()


def test_expected_improvement_by_hand():
    # standard normal above 0: φ(0); a certain score above a level: the difference
    gain = expected_improvement(np.array([0.0, 3.0]), np.array([1.0, 1e-9]), np.array([0.0, 1.0]))
    assert gain[0, 0] == pytest.approx(1 / math.sqrt(2 * math.pi))
    np.testing.assert_allclose(gain[1], [3.0, 2.0])


def test_gain_of_the_staircase_is_the_gain_of_volume():
    scores, costs = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
    stairs = Staircase(scores, costs, 0.5, 0.0, 5.0)
    for score, cost in ((3.0, 1.5), (5.0, 0.5), (0.7, 0.2), (1.5, 3.0), (9.0, 4.5)):
        before = hypervolume(scores, np.exp(costs), 0.5, 1.0, math.exp(5.0))
        after = hypervolume(
            np.append(scores, score), np.exp(np.append(costs, cost)), 0.5, 1.0, math.exp(5.0)
        )
        gain = stairs.gain(np.array([score]), np.array([1e-9]), np.array([cost]))
        assert gain[0] == pytest.approx(after - before)


def test_fronts():
    nan = math.nan
    scores, costs = np.array([1.0, 1.0, 2.0, 0.5, 2.0, nan]), np.array([1.0, 1.0, 3.0, 0.5, 2.0, 0])
    assert pareto_front(scores, costs).tolist() == [3, 0, 4]  # of two equal points the first
    assert pareto_front(np.array([nan]), np.array([1.0])).tolist() == []
    assert pareto_front(np.empty(0), np.empty(0)).tolist() == []
    # (2 - 0) x ln(e³ / e) for one point at cost e
    assert hypervolume(np.array([2.0]), np.array([math.e]), 0, 1, math.e**3) == pytest.approx(4.0)


def test_score_scale():
    scores = np.array([-1e6, 0.0, 0.5, 0.8, 0.9, 1.0])
    scale = ScoreScale(scores)
    standard = scale.forward(scores)
    np.testing.assert_allclose(scale.inverse(standard), scores, rtol=1e-6, atol=1e-12)
    assert (np.diff(standard) > 0).all()
    # without the bend, the disaster would leave the rest within a millionth of a deviation
    assert standard[-1] - standard[1] > 0.1
    h = 1e-6
    slope = (scale.inverse(standard + h) - scale.inverse(standard - h)) / (2 * h)
    np.testing.assert_allclose(scale.slope(standard), slope, rtol=1e-4)
