"""Trade-off functions: the errors of tests for one record's presence.

A trade-off function ``f`` gives the least type II error of all tests with a type I error of at most
``alpha`` (Dong, Roth, Su 2022, arXiv 1905.02383). Every function here rounds towards less privacy:
the errors of an attacker down, the success up. Arrays broadcast.

>>> beta_from_epsilon_delta(np.array([0.0, 0.1, 0.5]), 1.0, 1e-5).round(6)
array([0.99999 , 0.728162, 0.183936])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._search import lower_hull
from renyi._validation import (
    FINITE_POSITIVE,
    RATE,
    number_in,
    numbers_of,
    probability_of,
    set_fields,
    uses_of,
)

__all__ = [
    "TradeOff",
    "beta_from_epsilon_delta",
    "central_limit",
    "membership_posterior",
]
__dir__ = __all__.copy


Floats = npt.NDArray[np.float64]

SLACK = 2.0**-49  # 16 units: above the rounding error of any formula here


def within(values: npt.ArrayLike, name: str, low: float, high: float) -> Floats:
    flat, shape = numbers_of(values, name, low, high, f"a number in [{low:g}, {high:g}]")
    return flat.reshape(shape)


def plain(values: Any) -> Any:
    """Return a float for a zero-dimensional result."""
    array = np.asarray(values)
    return float(array) if array.ndim == 0 else array


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A piecewise linear trade-off function, with methods like those of an accountant.

    Args:
        alpha: The type I errors of the vertices, from 0 to 1 and not falling. If one repeats, the
            function jumps, and the last value counts.
        beta: As many type II errors, not rising and ending in 0.

    Raises:
        ValueError: If the vertices do not give a trade-off function.

    >>> test = TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    >>> round(test.get_beta(0.125), 12), round(test.get_delta(0.5), 6), test.get_bayes_risk() < 0.25
    (0.625, 0.33782, True)
    """

    alpha: Floats
    beta: Floats

    def __post_init__(self) -> None:
        a, b = within(self.alpha, "alpha", 0.0, 1.0), within(self.beta, "beta", 0.0, 1.0)
        if a.ndim != 1 or len(a) < 2 or a[0] != 0.0 or a[-1] != 1.0 or np.any(np.diff(a) < 0.0):
            raise ValueError(f"alpha must be an array rising from 0 to 1, got {self.alpha!r}")
        if b.shape != a.shape or b[-1] != 0.0 or np.any(np.diff(b) > 0.0):
            raise ValueError(
                f"beta must be an array as long as alpha, falling to 0, got {self.beta!r}"
            )
        a, b = a.copy(), b.copy()  # a caller's arrays may be written to
        a.flags.writeable = b.flags.writeable = False
        set_fields(self, alpha=a, beta=b)

    def get_beta(self, alpha: npt.ArrayLike) -> Any:
        """Return the type II error at type I errors in [0, 1], rounded down."""
        a, b, x = self.alpha, self.beta, within(alpha, "alpha", 0.0, 1.0)
        i = np.minimum(np.searchsorted(a, x, side="right"), len(a) - 1)
        left = np.maximum(i - 1, 0)
        width = np.where(a[i] > a[left], a[i] - a[left], 1.0)
        share = np.clip((x - a[left]) / width, 0.0, 1.0)
        # (1 - share) is formed from the other end: it keeps its digits next to alpha = 1
        rest = np.clip((a[i] - x) / width, 0.0, 1.0)
        value = b[left] * rest + b[i] * np.where(rest == 0.0, 1.0, share)
        return plain(np.maximum(value * (1.0 - SLACK), 0.0))

    def get_delta(self, epsilon: npt.ArrayLike) -> Any:
        """Return the privacy curve at any epsilon, rounded up.

        ``1 + f*(-exp(epsilon)) = max over the vertices of 1 - beta - exp(epsilon) * alpha``; at 0
        the advantage of the best test, its true minus its false positive rate.

        Source: Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.12.
        """
        e = within(epsilon, "epsilon", -math.inf, math.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(self.alpha == 0.0, 0.0, np.exp(e)[..., None] * self.alpha)
            gain = (1.0 - self.beta) * (1.0 + SLACK) - steep * (1.0 - SLACK)
        return plain(np.clip(gain.max(axis=-1), 0.0, 1.0))

    def get_bayes_risk(self, prior: float = 0.5) -> float:
        """Return the least chance of a wrong verdict, prior*alpha + (1-prior)*beta, rounded down.

        ``prior`` is the probability of the null hypothesis, whose rejection is the type I error.
        """
        p = probability_of(prior, "prior")
        return float(np.min(p * self.alpha + (1.0 - p) * self.beta)) * (1.0 - SLACK)

    def convexified(self) -> TradeOff:
        """Return the largest convex function below this one.

        Its vertices are some of these vertices, chosen exactly.

        >>> TradeOff([0.0, 0.2, 0.5, 1.0], [1.0, 0.7, 0.1, 0.0]).convexified()
        TradeOff(alpha=array([0. , 0.5, 1. ]), beta=array([1. , 0.1, 0. ]))
        """
        return TradeOff(*lower_hull(self.alpha, self.beta))

    def symmetrised(self) -> TradeOff:
        """Return the largest convex function below this one and its inverse.

        ``min(f, f^-1)**``: if ``f`` holds for a record removed, ``f^-1`` holds for it added, and
        this holds for both.

        Source: Dong, Roth, Su 2022, arXiv 1905.02383, Theorem 4.2.

        >>> TradeOff([0.0, 0.1, 1.0], [1.0, 0.5, 0.0]).symmetrised().alpha
        array([0. , 0.1, 0.5, 1. ])
        """
        a, b = self.alpha, self.beta
        return TradeOff(*lower_hull(np.concatenate([a, b]), np.concatenate([b, a])))


def beta_from_epsilon_delta(
    alpha: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike
) -> Any:
    """Return the type II error that (epsilon, delta)-privacy guarantees, rounded down.

    It is ``max(0, 1 - delta - exp(epsilon)*alpha, exp(-epsilon)*(1 - delta - alpha))``. For several
    pairs it is the largest over all: a mechanism that satisfies all pairs satisfies this bound.

    Args:
        alpha: Type I error, in [0, 1].
        epsilon, delta: One pair, or sequences of equal length; epsilon >= 0, delta in [0, 1].

    Source: Wasserman, Zhou 2010; Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.5.

    >>> round(beta_from_epsilon_delta(0.05, [0.5, 2.0], [1e-2, 1e-6]), 6)
    0.907564
    """
    a = within(alpha, "alpha", 0.0, 1.0)[..., None]
    e = np.atleast_1d(within(epsilon, "epsilon", 0.0, math.inf))
    d = np.atleast_1d(within(delta, "delta", 0.0, 1.0))
    if e.ndim != 1 or e.shape != d.shape:
        raise ValueError(f"delta must be of the shape of epsilon, {e.shape}, got {d.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a == 0.0, 0.0, np.exp(e) * a)
        first = (1.0 - d) * (1.0 - SLACK) - steep * (1.0 + SLACK)
    second = np.exp(-e) * ((1.0 - d - a) - SLACK * (1.0 + a))
    return plain(np.maximum(np.maximum(first, second), 0.0).max(axis=-1))


def compose_mu(mu: npt.ArrayLike, counts: npt.ArrayLike = 1) -> float:
    """Return ``sqrt(sum(counts * mu**2))``, rounded up: Gaussians compose to one, exactly.

    Args:
        mu: Sensitivity over noise of each mechanism, in [0, inf].
        counts: The number of uses of each mechanism.

    Source: Dong, Roth, Su 2022, arXiv 1905.02383, Corollary 3.3.

    >>> round(compose_mu([0.3, 0.4]), 12)
    0.5
    """
    m = within(mu, "mu", 0.0, math.inf)
    n = within(counts, "counts", 0.0, math.inf)
    terms = np.where(n == 0.0, 0.0, np.sqrt(n) * np.where(n == 0.0, 0.0, m))
    return math.hypot(*terms.ravel().tolist()) * (1.0 + SLACK)


def membership_posterior(
    false_positive_rate: npt.ArrayLike, beta: npt.ArrayLike, prior: float = 0.5
) -> Any:
    """Return the probability that a record an attack accuses is a member.

    Args:
        false_positive_rate: Type I error of the attack, in [0, 1].
        beta: Trade-off function there; ``1 - beta`` bounds the true positive rate.
        prior: Probability of membership before the attack, in [0, 1].

    Returns:
        ndarray or float: ``prior*tpr / (prior*tpr + (1-prior)*fpr)`` at the largest true positive
            rate, rounded up.

    >>> from renyi import special
    >>> round(membership_posterior(0.01, special.gaussian_tradeoff_lower(1.0, 0.01), prior=0.1), 6)
    0.506477
    """
    fpr = within(false_positive_rate, "false_positive_rate", 0.0, 1.0)
    missed = within(beta, "beta", 0.0, 1.0)
    p = probability_of(prior, "prior")
    hit, false_alarm = p * (1.0 - missed), (1.0 - p) * fpr
    total = hit + false_alarm
    share = np.where(total > 0.0, hit / np.where(total > 0.0, total, 1.0), p)
    return plain(np.minimum(share * (1.0 + SLACK), 1.0))


_BERRY_ESSEEN = 0.4748  # identically distributed terms: Shevtsova 2011, arXiv 1111.6554
_STEEPEST = 0.24197072451914337  # max of x phi(x)
_MARGIN = 1e-7  # relative, for the quadrature and all arithmetic in double precision


class GaussianLimit(NamedTuple):
    """``G_mu(alpha + gamma) - gamma <= f(alpha) <= G_mu(alpha - gamma) + gamma``, both directions.

    Attributes:
        mu: Parameter of the limiting Gaussian trade-off function.
        gamma: Bound on the distance, at most 1; with 1 there is no guarantee.
    """

    mu: float
    gamma: float


def central_limit(sample_rate: float, noise_multiplier: float, steps: int) -> GaussianLimit:
    """Return the central-limit ``mu`` of a composition of sampled Gaussian steps, and its error.

    ``mu = q * sqrt(T * (exp(1/sigma**2) - 1))``, exact in the limit of many steps with ``q *
    sqrt(T)`` fixed. For a finite number of steps it may understate the privacy loss: it is a
    bound only together with ``gamma``.

    Args:
        sample_rate: Probability ``q`` with which a record is in a batch, in (0, 1].
        noise_multiplier: Standard deviation of the noise at sensitivity 1, positive.
        steps: Number of steps ``T``, in [1, 2^53].

    Returns:
        ``mu`` and ``gamma`` such that the trade-off function ``f`` of the composition, of a record
        added as of one removed, satisfies ``G_mu(alpha + gamma) - gamma <= f(alpha) <= G_mu(alpha -
        gamma) + gamma``, where ``G_mu`` is 1 below 0 and 0 above 1. ``mu`` is infinite and
        ``gamma`` 1 where ``sigma < 0.04``.

    By the theorem of Berry and Esseen, with the constant 0.4748 of Shevtsova 2011 for identically
    distributed terms, the sum of the losses is within ``0.4748 * rho / (s**3 * sqrt(T))`` of a
    normal law, under both hypotheses; the distance of these two normal laws from those of ``G_mu``
    is added. Dong, Roth, Su 2022, Theorem 3.4, is the same argument for symmetric steps.

    Source: Dong, Roth, Su 2022, arXiv 1905.02383, Theorem 3.4; for ``mu`` Bu, Dong, Long, Su 2020,
    arXiv 1911.11607.

    >>> limit = central_limit(0.01, 1.0, 10_000)
    >>> round(limit.mu, 6), limit.gamma < 0.05
    (1.310832, True)
    """
    q = number_in(sample_rate, "sample_rate", RATE)
    sigma = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    count = uses_of(steps, "steps", 1, 2**53)
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
    """Bound the distance from the law of the summed losses to N(mu**2/2, mu**2)."""
    deviation = math.sqrt(step.variance)
    if deviation**3 == 0.0:  # below the smallest double
        return math.inf
    total = deviation * math.sqrt(count)
    berry_esseen = _BERRY_ESSEEN * step.third / (deviation**3 * math.sqrt(count))
    shift = abs(count * step.mean - mu * mu / 2) / (total * math.sqrt(2 * math.pi))
    stretch = _STEEPEST * abs(math.log(total / mu))
    return (berry_esseen + shift + stretch) * (1 + _MARGIN) + _MARGIN * (1 + mu)


def _moments(q: float, c: float) -> tuple[_Moments, _Moments]:
    """Return moments of the loss in both directions, by the trapezoidal rule in units of sigma."""
    h = min(1.0 / 512, 1.0 / (128 * c))
    u = np.arange(math.floor(-13.0 / h), math.ceil((c + 13.0) / h) + 1) * h
    absent = np.exp(-0.5 * u * u) * (h / math.sqrt(2 * math.pi))
    present = np.exp(-0.5 * (u - c) ** 2) * (h / math.sqrt(2 * math.pi))
    mixed = (1 - q) * absent + q * present
    x = q * np.expm1(c * u - 0.5 * c * c)  # the ratio of the laws, minus 1
    loss = np.log1p(x)
    gap = _x_minus_log1p(x)
    # E[x] = 0 without the record: the divergences are sums of terms >= 0.
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
    """Return ``absent * ((1 + x) * log1p(x) - x)``, without overflow for large x."""
    small = np.abs(x) < 1e-2
    near = absent * (np.where(small, x, 0.0) * loss - gap)
    return np.where(small, near, mixed * loss - excess)
