"""The Gaussian limit of composed sampled Gaussian steps, with a proven distance from it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import count_of, real_of

__all__ = ["GaussianLimit", "central_limit"]

Floats = npt.NDArray[np.float64]

_BERRY_ESSEEN = 0.4748  # identically distributed terms: Shevtsova 2011, arXiv 1111.6554
_STEEPEST = 0.24197072451914337  # max of x phi(x)
_MARGIN = 1e-7  # of the quadrature and of everything done in double precision, relative


class GaussianLimit(NamedTuple):
    """``G_mu(alpha + gamma) - gamma <= f(alpha) <= G_mu(alpha - gamma) + gamma``, both directions.

    Attributes
    ----------
    mu : float
        Parameter of the limiting Gaussian trade-off function.
    gamma : float
        Bound on the distance, at most 1; a distance of 1 says nothing.
    """

    mu: float
    gamma: float


def central_limit(sample_rate: float, noise_multiplier: float, steps: int) -> GaussianLimit:
    """Return the central-limit ``mu`` of a composition of sampled Gaussian steps, and its error.

    ``mu = q * sqrt(T * (exp(1/sigma**2) - 1))``, exact in the limit of many steps with ``q *
    sqrt(T)`` fixed. For a finite number of steps it may understate the privacy loss: only with
    ``gamma`` it bounds anything.

    Parameters
    ----------
    sample_rate : float
        Probability ``q`` with which a record is in a batch, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise at sensitivity 1, positive.
    steps : int
        Number of steps ``T``, at least 1.

    Returns
    -------
    GaussianLimit
        ``mu`` and ``gamma`` such that the trade-off function ``f`` of the composition, of a record
        added as of one removed, satisfies ``G_mu(alpha + gamma) - gamma <= f(alpha) <= G_mu(alpha -
        gamma) + gamma``, where ``G_mu`` is 1 below 0 and 0 above 1. ``mu`` is infinite and
        ``gamma`` 1 where ``sigma < 0.04``.

    Raises
    ------
    ValueError, TypeError
        If an argument is not in its range.

    Notes
    -----
    By the theorem of Berry and Esseen, with the constant 0.4748 of Shevtsova 2011 for identically
    distributed terms, the sum of the losses is within ``0.4748 * rho / (s**3 * sqrt(T))`` of a
    normal law, under both hypotheses; the distance of these two normal laws from those of ``G_mu``
    is added. Dong, Roth, Su 2022, Theorem 3.4, is the same argument for symmetric steps.

    References
    ----------
    Dong, Roth, Su, "Gaussian Differential Privacy", 2022, arXiv 1905.02383, Theorem 3.4. For
    ``mu``: Bu, Dong, Long, Su, "Deep Learning with Gaussian Differential Privacy", 2020, arXiv
    1911.11607.

    Examples
    --------
    >>> limit = central_limit(0.01, 1.0, 10_000)
    >>> round(limit.mu, 6), limit.gamma < 0.05
    (1.310832, True)
    """
    q = real_of(sample_rate, "sample_rate", "a number in (0, 1]")
    if not 0.0 < q <= 1.0:
        raise ValueError(f"sample_rate must be a number in (0, 1], got {sample_rate!r}")
    sigma = real_of(noise_multiplier, "noise_multiplier", "a positive number")
    if not 0.0 < sigma < math.inf:
        raise ValueError(f"noise_multiplier must be a positive number, got {noise_multiplier!r}")
    count = count_of(steps, "steps")
    if count < 1:
        raise ValueError(f"steps must be an integer >= 1, got {steps!r}")
    if sigma < 0.04:
        return GaussianLimit(math.inf, 1.0)
    mu = q * math.sqrt(count * math.expm1(sigma**-2))
    gamma = max(_distance(m, count, mu) for m in _moments(q, 1.0 / sigma))
    return GaussianLimit(mu, min(gamma, 1.0))


class _Moments(NamedTuple):
    mean: float  # a Kullback-Leibler divergence
    variance: float
    third: float  # absolute, central


def _distance(step: _Moments, count: int, mu: float) -> float:
    """From the law of the summed losses to N(mu**2/2, mu**2)."""
    deviation = math.sqrt(step.variance)
    total = deviation * math.sqrt(count)
    berry_esseen = _BERRY_ESSEEN * step.third / (deviation**3 * math.sqrt(count))
    shift = abs(count * step.mean - mu * mu / 2) / (total * math.sqrt(2 * math.pi))
    stretch = _STEEPEST * abs(math.log(total / mu))
    return (berry_esseen + shift + stretch) * (1 + _MARGIN) + _MARGIN * (1 + mu)


def _moments(q: float, c: float) -> tuple[_Moments, _Moments]:
    """Of the loss with a record removed and added, by the trapezoidal rule in units of sigma."""
    h = min(1.0 / 512, 1.0 / (128 * c))
    u = np.arange(math.floor(-13.0 / h), math.ceil((c + 13.0) / h) + 1) * h
    absent = np.exp(-0.5 * u * u) * (h / math.sqrt(2 * math.pi))
    present = np.exp(-0.5 * (u - c) ** 2) * (h / math.sqrt(2 * math.pi))
    mixed = (1 - q) * absent + q * present
    x = q * np.expm1(c * u - 0.5 * c * c)  # the ratio of the laws, minus 1
    loss = np.log1p(x)
    gap = _x_minus_log1p(x)
    # E[x] = 0 without the record, so that the divergences are sums of terms >= 0.
    remove = float(np.sum(_weighted_log(x, loss, gap, absent, mixed, q * (present - absent))))
    add = float(np.sum(absent * gap))
    return _central(loss, mixed, remove), _central(-loss, absent, add)


def _central(loss: Floats, weight: Floats, mean: float) -> _Moments:
    centred = np.abs(loss - mean)
    return _Moments(mean, float(np.sum(weight * centred**2)), float(np.sum(weight * centred**3)))


def _x_minus_log1p(x: Floats) -> Floats:
    small = np.abs(x) < 1e-2
    y = np.where(small, x, 0.0)
    series = sum((-1.0) ** n * y**n / n for n in range(2, 11))
    return np.where(small, series, x - np.log1p(x))


def _weighted_log(
    x: Floats, loss: Floats, gap: Floats, absent: Floats, mixed: Floats, excess: Floats
) -> Any:
    """``absent * ((1 + x) * log1p(x) - x)``, without overflow for large x."""
    small = np.abs(x) < 1e-2
    near = absent * (np.where(small, x, 0.0) * loss - gap)
    return np.where(small, near, mixed * loss - excess)
