"""Logistic distributions: a location family with a Rényi divergence in closed form.

With t the distance over the scale and l the loss log(p/q), w = e^((t - l)/2) is uniform on
[1, e^t] under q. Hence E_q e^(alpha l) = sinh((alpha - 1/2) t) / ((2 alpha - 1) sinh(t/2)) and

    D_alpha = (S(y_2) - S(y_1)) / (alpha - 1),   S(y) = log(sinh(y)/y),
    y_1 = t/2,   y_2 = |2 alpha - 1| t/2.

Orders below 1/2 follow by alpha/(1-alpha) D_(1-alpha), the pair being its own reverse. From there
on the quotient is t times the mean of S'(y) = coth(y) - 1/y > 0 between y_1 and y_2: an integral
where they are close, else a difference in which little cancels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, finite_of, positive_of
from renyi.theory.divergences._stable import Array

__all__ = ["LogisticDistribution"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class LogisticDistribution(Distribution):
    """P(X <= x) = 1/(1 + e^(-(x - location)/scale)). Both of one scale; always finite.

    Parameters
    ----------
    location : float
        In [-1e100, 1e100].
    scale : float
        In [1e-100, 1e100].

    Notes
    -----
    The pair is that of `renyi.pairs.logistic_pair`.

    Examples
    --------
    >>> from renyi.theory.divergences import renyi_divergence
    >>> p, q = LogisticDistribution(1.0), LogisticDistribution(0.0)
    >>> round(float(renyi_divergence(p, q, 2.0)), 12)  # log((1+2cosh 1)/3)
    0.308993675776
    """

    location: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", finite_of(self.location, "location"))
        object.__setattr__(self, "scale", positive_of(self.scale, "scale"))

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return ("Logistic", self.scale), self

    def _divergence(self, other: LogisticDistribution, alpha: Array) -> Array:
        t = abs(self.location - other.location) / self.scale
        return _logistic(alpha, t)


def _logistic(alpha: Array, t: float) -> Array:
    low = alpha < 0.5
    a = np.where(low, 1.0 - alpha, alpha)
    y1, y2 = np.full(a.size, 0.5 * t), (a - 0.5) * t
    width = (a - 1.0) * t
    near = np.abs(width) < 1.0
    mean = np.zeros(a.size)
    for node, weight in zip(0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS, strict=True):
        mean += weight * _langevin(y1 + node * np.where(near, width, 0.0))
    safe = np.where(near, 1.0, a - 1.0)
    both = np.minimum(y1, y2) >= 0.5
    large = t - (_rest(y2) - _rest(y1)) / safe
    apart = np.where(both, large, (_log_sinhc(y2) - _log_sinhc(y1)) / safe)
    found = np.where(near, t * mean, apart)
    return found * np.where(low, alpha / np.where(low, 1.0 - alpha, 1.0), 1.0)


def _langevin(y: Array) -> Array:
    """Return coth(y) - 1/y for y >= 0."""
    small = np.minimum(y, 1.0)
    square, top, bottom = small * small, np.zeros_like(y), np.zeros_like(y)
    # (y cosh(y) - sinh(y)) / y^2 over sinh(y)/y.
    for k in range(10, 0, -1):
        factorial = math.factorial(2 * k + 1)
        top = top * square + 2.0 * k / factorial
        bottom = (bottom + 1.0 / factorial) * square
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, small * top / (1.0 + bottom), 1.0 / np.tanh(large) - 1.0 / large)


def _log_sinhc(y: Array) -> Array:
    """Return log(sinh(y)/y) for y >= 0."""
    small = np.minimum(y, 1.0)
    square, series = small * small, np.zeros_like(y)
    for k in range(10, 0, -1):
        series = (1.0 + series) * square / (2.0 * k * (2.0 * k + 1.0))
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, np.log1p(series), large - _rest(large))


def _rest(y: Array) -> Array:
    """Return y - log(sinh(y)/y) for y >= 1/2; smaller y give the value there."""
    y = np.maximum(y, 0.5)
    return np.asarray(np.log(2.0 * y) - np.log(-np.expm1(-2.0 * y)))
