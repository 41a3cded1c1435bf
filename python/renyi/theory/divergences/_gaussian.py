"""Normal, log-normal and multivariate normal distributions.

Of variances s_p^2, s_q^2 and with v = alpha s_q^2 + (1-alpha) s_p^2, the divergence is that of
Gamma(1/2, .) with the scales s^2, which is the part of the variances, plus alpha d^2/(2 v). In many
dimensions both are sums over the principal axes of S_p relative to S_q.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of
from renyi.theory.divergences._base import Distribution, finite_of, positive_of
from renyi.theory.divergences._gamma import gamma_divergence
from renyi.theory.divergences._stable import Array, weighted

__all__ = ["GaussianDistribution", "LogNormalDistribution", "MultivariateGaussianDistribution"]


@dataclass(frozen=True, slots=True)
class GaussianDistribution(Distribution):
    """The normal distribution; finite if alpha s_q^2 + (1-alpha) s_p^2 > 0.

    Parameters
    ----------
    mean : float
        In [-1e100, 1e100].
    sigma : float
        Standard deviation, in [1e-100, 1e100].
    """

    mean: float
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", finite_of(self.mean, "mean"))
        object.__setattr__(self, "sigma", positive_of(self.sigma, "sigma"))

    def _divergence(self, other: GaussianDistribution, alpha: Array) -> Array:
        unit = max(self.sigma, other.sigma)
        s, t = self.sigma / unit, other.sigma / unit
        gap, distance = (self.sigma - other.sigma) / unit, (self.mean - other.mean) / unit
        found = gamma_divergence(alpha, (0.5, 0.5), (s * s, t * t), gap * (s + t))
        variance = weighted(alpha, t * t, s * s)
        full = np.full(alpha.size, np.inf)
        moved = 0.5 * alpha * distance * distance
        return np.asarray(found + np.divide(moved, variance, out=full, where=variance > 0.0))


@dataclass(frozen=True, slots=True)
class LogNormalDistribution(Distribution):
    """e^X of a normal X.

    Parameters
    ----------
    mean : float
        Mean of X, in [-1e100, 1e100].
    sigma : float
        Standard deviation of X, in [1e-100, 1e100].
    """

    mean: float
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", finite_of(self.mean, "mean"))
        object.__setattr__(self, "sigma", positive_of(self.sigma, "sigma"))

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return "log", GaussianDistribution(self.mean, self.sigma)


@dataclass(frozen=True)
class MultivariateGaussianDistribution(Distribution):
    """The normal distribution in n dimensions; finite if alpha S_q + (1-alpha) S_p is definite.

    Parameters
    ----------
    mean : sequence of n floats
        In [-1e100, 1e100].
    covariance : sequence of n sequences of n floats
        Symmetric, positive definite.

    Raises
    ------
    TypeError, ValueError
        If the shapes do not fit or the covariance is not symmetric and positive definite.

    Notes
    -----
    The relative error grows with the condition number of q's covariance: about u times it.
    """

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        mean, shape = _reals(self.mean, "mean")
        matrix, square = _reals(self.covariance, "covariance")
        if len(shape) != 1 or square != (*shape, *shape) or not shape[0]:
            raise ValueError(
                f"covariance must be a matrix of the size of mean, got shapes {square} and {shape}"
            )
        if not np.array_equal(matrix, matrix.T):
            raise ValueError(f"covariance must be symmetric, got {self.covariance!r}")
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"covariance must be positive definite, got {self.covariance!r}"
            ) from None
        object.__setattr__(self, "mean", tuple(map(float, mean)))
        object.__setattr__(self, "covariance", tuple(tuple(map(float, row)) for row in matrix))

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return ("MultivariateGaussian", len(self.mean)), self

    def _divergence(self, other: MultivariateGaussianDistribution, alpha: Array) -> Array:
        root = np.linalg.cholesky(np.array(other.covariance))
        gap = np.array(self.covariance) - np.array(other.covariance)
        half = np.linalg.solve(root, gap)
        whole = np.linalg.solve(root, half.T)
        # S_p = root (1 + axes diag(excess) axes') root', S_q = root root'.
        excess, axes = np.linalg.eigh(0.5 * (whole + whole.T))
        distance = axes.T @ np.linalg.solve(root, np.subtract(self.mean, other.mean))
        found = np.zeros(alpha.size)
        for r, d in zip(excess, distance, strict=True):
            found += _axis(float(r), float(d), alpha)
        return found


def _axis(r: float, d: float, alpha: Array) -> Array:
    """Return the divergence of N(d, 1 + r) from N(0, 1)."""
    found = gamma_divergence(alpha, (0.5, 0.5), (1.0 + r, 1.0), r)
    variance = 1.0 + (1.0 - alpha) * r
    full = np.full(alpha.size, np.inf)
    moved = np.divide(0.5 * alpha * d * d, variance, out=full, where=variance > 0.0)
    return np.asarray(found + moved)


def _reals(values: Any, name: str) -> tuple[npt.NDArray[np.float64], tuple[int, ...]]:
    flat, shape = numbers_of(values, name, -1e100, 1e100, "of finite numbers")
    return flat.reshape(shape), shape
