"""Gaussian-process regression in float64 with analytic gradients.

Kernel (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, eqs. 4.17, 2.29, 5.9):

    k(x, x') = a m(r) + b (1 + (x - c)·(x' - c)),    r² = Σ_k (x_k - x'_k)² / ℓ_k²
    m(r) = (1 + √5 r + 5 r²/3) exp(-√5 r),           c = ½

A Matérn-5/2 term with one length-scale per input, and a linear trend. Observations have independent
noise of variance s. The logarithms of ℓ, a, b and s have normal priors; `fit` maximises the
posterior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from puffer_protein.parameters import Array

CENTRE = 0.5
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)  # relative to the mean of the diagonal
BLOCK = 64  # rows of a matrix at a time
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

        lengths, (amplitude, linear, noise) = _unpack(theta)
        kernel = Kernel(lengths, x)
        covariance = np.zeros((len(y), len(y)))
        for rows in _blocks(len(y)):  # the upper triangle alone
            root, trend = kernel.parts(x[rows], rows.start)
            value = amplitude * _matern(root, np.exp(-root)) + linear * trend
            covariance[rows, rows.start :] = value
        covariance[np.diag_indices(len(y))] += noise
        factor = _cholesky(covariance)
        alpha = _solve(factor, y)
        pull = (theta - self._mean) / self._sd
        posterior = -0.5 * (y @ alpha) - np.log(np.diag(factor)).sum() - 0.5 * (pull @ pull)

        # d value / dK = (α αᵀ - K⁻¹) / 2. The lower triangle by columns is the upper one by rows.
        inverse = dpotri(factor, lower=1, overwrite_c=1)[0].T
        z, squares = kernel.scaled, kernel.scaled**2
        gradient = np.zeros_like(theta)
        for rows in _blocks(len(y)):
            right = slice(rows.start, None)
            weight = np.outer(alpha[rows], alpha[right]) - inverse[rows, right]
            size = len(weight)
            weight[:, :size] *= np.triu(np.ones((size, size)), 1) + 0.5 * np.eye(size)
            root, trend = kernel.parts(x[rows], rows.start)
            decay = np.exp(-root)
            slope = weight * (1.0 + root) * decay
            # Σ w_ij (z_i - z_j)², without n² D differences
            gradient[: len(lengths)] += slope.sum(1) @ squares[rows] + slope.sum(0) @ squares[right]
            gradient[: len(lengths)] -= 2.0 * (z[rows] * (slope @ z[right])).sum(0)
            gradient[-3] += (weight * _matern(root, decay)).sum()
            gradient[-2] += (weight * trend).sum()
            gradient[-1] += np.trace(weight)
        gradient[: len(lengths)] *= 5.0 * amplitude / 3.0
        gradient[-3:] *= (amplitude, linear, noise)
        return float(posterior), gradient - pull / self._sd

    def condition(self, x: Array, y: Array) -> None:
        """Take (n, D) inputs and (n,) targets as the data to predict from."""
        lengths, self._weights = _unpack(self.theta)
        self._kernel = Kernel(lengths, x)
        covariance = np.empty((len(x), len(x)))
        for rows in _blocks(len(x)):
            covariance[rows] = self._covariance(x[rows])
        covariance[np.diag_indices(len(x))] += self.noise
        self._factor = _cholesky(covariance)
        self._alpha = _solve(self._factor, y)
        self._whitening: Array | None = None

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (m,) of the function, without noise, at (m, D) inputs."""
        from scipy.linalg.lapack import dtrtri

        if self._whitening is None:
            self._whitening = dtrtri(self._factor, lower=1)[0].T
        centred = x - CENTRE
        amplitude, linear, _ = self._weights
        variance = amplitude + linear * (1.0 + np.einsum("md,md->m", centred, centred))
        mean = np.empty(len(x))
        for rows in _blocks(len(x)):
            cross = self._covariance(x[rows])
            mean[rows] = cross @ self._alpha
            white = cross @ self._whitening
            variance[rows] -= np.einsum("mn,mn->m", white, white)
        return mean, np.sqrt(np.maximum(variance, 1e-12))

    def mean(self, x: Array) -> Array:
        """The mean (m,) alone, for less."""
        mean = np.empty(len(x))
        for rows in _blocks(len(x)):
            mean[rows] = self._covariance(x[rows]) @ self._alpha
        return mean

    def _covariance(self, x: Array) -> Array:
        """Prior covariance (m, n) of the function between inputs and data, without noise."""
        amplitude, linear, _ = self._weights
        root, trend = self._kernel.parts(x)
        covariance = _matern(root, np.exp(-root))
        covariance *= amplitude
        trend *= linear
        covariance += trend
        return covariance


class Kernel:
    """The parts of the kernel between some inputs and n fixed ones.

    Attributes:
        scaled: (n, D) fixed inputs over their length-scales.
    """

    def __init__(self, lengths: Array, x: Array) -> None:
        """Prepare (n, D) inputs for (D,) length-scales."""
        self._lengths = lengths
        self.scaled = x / lengths
        # One product each: 5 |z|² + 5 |z'|² - 10 z·z', and 1 + (x - c)·(x' - c).
        squares = 5.0 * (self.scaled**2).sum(1)
        self._distance = np.vstack([-10.0 * self.scaled.T, squares, np.ones(len(x))])
        self._trend = np.vstack([(x - CENTRE).T, np.ones(len(x))])

    def parts(self, x: Array, first: int = 0) -> tuple[Array, Array]:
        """√5 r and 1 + (x - c)·(x' - c), each (m, n - first), for (m, D) inputs."""
        z = x / self._lengths
        squares = 5.0 * (z * z).sum(1)
        root = np.column_stack([z, np.ones(len(x)), squares]) @ self._distance[:, first:]
        np.maximum(root, 0.0, out=root)
        np.sqrt(root, out=root)
        return root, np.column_stack([x - CENTRE, np.ones(len(x))]) @ self._trend[:, first:]


def _matern(root: Array, decay: Array) -> Array:
    """m(r) of √5 r and exp(-√5 r)."""
    value = root + 3.0
    value *= root
    value += 3.0
    value *= decay
    value /= 3.0
    return value


def _unpack(theta: Array) -> tuple[Array, Array]:
    """Length-scales, and (a, b, s)."""
    values = np.exp(theta)
    return values[:-3], values[-3:]


def _blocks(count: int) -> Iterator[slice]:
    """Slices of rows so few that a block of a matrix stays in the cache."""
    return (slice(i, min(i + BLOCK, count)) for i in range(0, count, BLOCK))


def _cholesky(matrix: Array) -> Array:
    """The lower factor, from the upper triangle of a symmetric matrix in C order.

    A matrix that rounding made indefinite gets the least jitter that helps.
    """
    from scipy.linalg.lapack import dpotrf

    scale = float(np.mean(np.diag(matrix)))
    for jitter in JITTERS:
        shifted = matrix + jitter * scale * np.eye(len(matrix)) if jitter else matrix
        factor, info = dpotrf(shifted.T, lower=1, clean=1)  # in Fortran order, which LAPACK reads
        if info == 0:
            return np.asarray(factor)
    raise np.linalg.LinAlgError(f"no Cholesky factor of a matrix with mean diagonal {scale}")


def _solve(factor: Array, y: Array) -> Array:
    from scipy.linalg.lapack import dpotrs

    return np.asarray(dpotrs(factor, y, lower=1)[0])
