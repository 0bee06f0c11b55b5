"""Gaussian-process regression in float64 with analytic gradients.

Kernel (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eqs. 4.17, 2.29, 5.9):

    k(x, x') = a m(r) + b (1 + (x - c)·(x' - c)),    r² = Σ_k (x_k - x'_k)² / ℓ_k²
    m(r) = (1 + √5 r + 5 r²/3) exp(-√5 r),           c = ½

A Matérn-5/2 term with one length-scale per input, and a linear trend. Observations have independent
noise of variance s. The logarithms of ℓ, a, b and s have normal priors; `fit` maximises the
posterior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from puffer_protein.parameters import Array

CENTRE = 0.5
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)  # relative to the mean of the diagonal
BOUND = 8.0  # hyperparameters stay within so many prior standard deviations


class Prior(NamedTuple):
    """Normal priors of the logarithms: mean and standard deviation of each."""

    length: tuple[float, float]
    amplitude: tuple[float, float]
    linear: tuple[float, float]
    noise: tuple[float, float]

    def arrays(self, inputs: int) -> tuple[Array, Array]:
        """Means and standard deviations of log (ℓ_1 ... ℓ_D, a, b, s)."""
        pairs = np.array([self.length] * inputs + [self.amplitude, self.linear, self.noise])
        return pairs[:, 0], pairs[:, 1]


class GaussianProcess:
    """A Gaussian process with its hyperparameters; `fit` chooses them, `condition` takes data.

    Attributes:
        theta: logarithms of ℓ_1 ... ℓ_D, a, b, s.
    """

    def __init__(self, inputs: int, prior: Prior) -> None:
        """Start at the mean of the prior, without data.

        Args:
            inputs: D.
            prior: of the hyperparameters.
        """
        self._mean, self._sd = prior.arrays(inputs)
        self.theta = self._mean.copy()

    @property
    def noise(self) -> float:
        """Variance of the noise."""
        return float(np.exp(self.theta[-1]))

    def fit(self, x: Array, y: Array, steps: int) -> None:
        """Maximise the log posterior of `theta` from where it stands.

        Args:
            x: (n, D).
            y: (n,), standardised.
            steps: most iterations of L-BFGS.
        """
        from scipy.optimize import minimize

        def loss(theta: Array) -> tuple[float, Array]:
            value, gradient = self.log_posterior(theta, x, y)
            return -value, -gradient

        reach = BOUND * self._sd
        bounds = list(zip(self._mean - reach, self._mean + reach, strict=True))
        result = minimize(
            loss, self.theta, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
        )
        if np.isfinite(result.x).all():
            self.theta = result.x

    def log_posterior(self, theta: Array, x: Array, y: Array) -> tuple[float, Array]:
        """Log marginal likelihood plus log prior (without constants), and its gradient.

        Returns:
            The value, and d value / d theta (D + 3,).
        """
        from scipy.linalg.lapack import dpotri

        z, lengths, (amplitude, linear, noise) = _unpack(theta, x)
        root = np.sqrt(5.0 * _squared_distances(z, z))
        decay = np.exp(-root)
        matern = (1.0 + root + root * root / 3.0) * decay
        trend = 1.0 + (x - CENTRE) @ (x - CENTRE).T
        covariance = amplitude * matern + linear * trend
        covariance[np.diag_indices(len(y))] += noise
        factor = _cholesky(covariance)
        alpha = _solve(factor, y)
        pull = (theta - self._mean) / self._sd
        value = -0.5 * (y @ alpha) - np.log(np.diag(factor)).sum() - 0.5 * (pull @ pull)

        inverse = dpotri(factor, lower=1)[0]  # the lower triangle
        lower = np.tril(inverse, -1)
        inverse = lower + lower.T + np.diag(np.diag(inverse))
        weight = np.outer(alpha, alpha) - inverse  # d value / dK = weight / 2
        slope = weight * ((5.0 * amplitude / 3.0) * (1.0 + root) * decay)
        gradient = np.empty_like(theta)
        gradient[: len(lengths)] = slope.sum(0) @ (z * z) - (z * (slope @ z)).sum(0)
        gradient[-3] = 0.5 * amplitude * (weight * matern).sum()
        gradient[-2] = 0.5 * linear * (weight * trend).sum()
        gradient[-1] = 0.5 * noise * np.trace(weight)
        return float(value), gradient - pull / self._sd

    def condition(self, x: Array, y: Array) -> None:
        """Take (n, D) inputs and (n,) targets as the data to predict from."""
        covariance = self.kernel(x, x)
        covariance[np.diag_indices(len(y))] += self.noise
        self._x = x
        self._factor = _cholesky(covariance)
        self._alpha = _solve(self._factor, y)

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (m,) of the function, without noise, at (m, D) inputs."""
        from scipy.linalg import solve_triangular

        cross = self.kernel(self._x, x)
        half = solve_triangular(self._factor, cross, lower=True, check_finite=False)
        variance = self.diagonal(x) - np.einsum("nm,nm->m", half, half)
        return cross.T @ self._alpha, np.sqrt(np.maximum(variance, 1e-12))

    def mean(self, x: Array) -> Array:
        """The mean (m,) alone, for less."""
        return self.kernel(x, self._x) @ self._alpha

    def kernel(self, x: Array, other: Array) -> Array:
        """Prior covariance (n, m) of the function, without noise."""
        z, lengths, (amplitude, linear, _) = _unpack(self.theta, x)
        root = np.sqrt(5.0 * _squared_distances(z, other / lengths))
        trend = 1.0 + (x - CENTRE) @ (other - CENTRE).T
        covariance = root * root / 3.0
        covariance += root
        covariance += 1.0
        np.negative(root, out=root)
        covariance *= np.exp(root, out=root)
        covariance *= amplitude
        return np.asarray(covariance + linear * trend)

    def diagonal(self, x: Array) -> Array:
        """Prior variance (n,) of the function, without noise."""
        centred = x - CENTRE
        _, _, (amplitude, linear, _) = _unpack(self.theta, x)
        return np.asarray(amplitude + linear * (1.0 + np.einsum("nd,nd->n", centred, centred)))


def _unpack(theta: Array, x: Array) -> tuple[Array, Array, Array]:
    """Scaled inputs, length-scales, and (a, b, s)."""
    values = np.exp(theta)
    return x / values[:-3], values[:-3], values[-3:]


def _squared_distances(z: Array, other: Array) -> Array:
    """(n, m) of |z_i - other_j|², by one matrix product."""
    squares = (z * z).sum(1)[:, None] + (other * other).sum(1) - 2.0 * (z @ other.T)
    if z is other:
        np.fill_diagonal(squares, 0.0)
    return np.asarray(np.maximum(squares, 0.0))


def _cholesky(matrix: Array) -> Array:
    """The lower factor; a matrix that rounding made indefinite gets the least jitter that helps."""
    from scipy.linalg.lapack import dpotrf

    scale = float(np.mean(np.diag(matrix)))
    for jitter in JITTERS:
        shifted = matrix + jitter * scale * np.eye(len(matrix)) if jitter else matrix
        factor, info = dpotrf(shifted, lower=1, clean=1)
        if info == 0:
            return np.asarray(factor)
    raise np.linalg.LinAlgError(f"no Cholesky factor of a matrix with mean diagonal {scale}")


def _solve(factor: Array, y: Array) -> Array:
    from scipy.linalg.lapack import dpotrs

    return np.asarray(dpotrs(factor, y, lower=1)[0])
