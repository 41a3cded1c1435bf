"""The theorem of the moments accountant, with constants: what its "there are c1, c2" can be.

Abadi and others 2016, arXiv 1607.00133, Theorem 1: there are c1, c2 so that T steps on Poisson
samples of rate r are (epsilon, delta)-private for every epsilon < c1 r^2 T if the noise multiplier
s is at least c2 r sqrt(T log(1/delta)) / epsilon. As it stands no c2 will do: for a delta near 1 it
asks for no noise. With x = log(1/delta)/epsilon >= depth and, as in their proof, r s <= 1/16 it has
constants. Put c = epsilon/(r^2 T) <= c1, so that s^2 = c2^2 x / c. By Chernoff, delta is at most
exp(T log A - (alpha-1) epsilon) with A the moment of order alpha, and T cancels:

    log A(r, s, alpha) <= c r^2 (alpha - 1 - x)   for one alpha       (*)

is enough; if it fails for all alpha, large T fail (Cramer's theorem). It is enough to have (*) with
A - 1 in place of log A at the largest rate r = min(1/(16 s), 1) and at c = c1. For alpha >= 2, with
X log-normal of mean 1, log X normal of variance p = 1/s^2, and Y = X - 1:

* (A-1)/r^2 does not fall with r: its derivative is a positive mean of E[Y^3 (1 + wY)^(alpha-3)],
  0 <= w <= 1, which rises with alpha and falls with w, and is E[Y^3/(1+Y)] = 0 at alpha 2, w 1.
* (A-1)/p does not fall with p: d/dp E f(X) = E[X^2 f''(X)]/2, where x^2 (1-r+rx)^(alpha-2) is
  convex and X a martingale in p, so that A - 1 is convex in p, and 0 at p = 0.
* so (A-1)/(r^2 p) at r = min(sqrt(p)/16, 1) does not fall with p, and that over c2^2 x, as p is
  c/(c2^2 x), is what (*) compares with alpha - 1 - x: the largest c is the worst.

What is left is an x from depth on. It is swept in intervals, noise from the lower end, what is
permitted from the upper one; beyond, alpha is a multiple of s^2 above 10^6, and A has the bound of
`renyi.classic.moment_constant`. In the limit r -> 0 losses are normal and (*) becomes
c2^2 >= c/(x log(1 + c m)), m = (sqrt(2x + 2) - sqrt(2x))^2, which no constant can be below.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi.classic._minimum import smallest
from renyi.classic._rounding import above
from renyi.classic.moment_constant import log_moment_beyond
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["moments_theorem_constant", "moments_theorem_noise"]

Array = npt.NDArray[np.float64]
_SHARE = Range(1e-6, 10.0, "[]")
_DEPTH = Range(0.5, 1e4, "[]")
_LARGEST_PRODUCT = 1.0 / 16.0  # of rate and noise
_ORDERS = np.linspace(0.4, 1.0, 16)  # of the best order in the limit
_LARGEST_ORDER = 1e6
_WIDEST, _NARROWEST = 0.05, 3e-4  # intervals of x, relative
_DOWN = 1.0 - 1e-12  # for a few roundings


def moments_theorem_constant(c1: float, *, depth: float = 1.0) -> float:
    """Return a c2 with which the theorem holds for c1, proven; next to the smallest.

    Parameters
    ----------
    c1 : float
        In [1e-6, 10].
    depth : float
        The theorem is for log(1/delta) >= depth * epsilon; in [0.5, 1e4].

    Returns
    -------
    float
        For every rate r and noise s with r s <= 1/16, and every number of steps. Above the smallest
        such constant by less than 0.1 % for c1 up to 1, by 3 % up to 10. For c1 -> 0 and large
        depth it is near sqrt(2).

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(moments_theorem_constant(1.0), 3), round(moments_theorem_constant(1e-3, depth=100), 3)
    (1.856, 1.418)
    """
    return _constant(number_in(c1, "c1", _SHARE), number_in(depth, "depth", _DEPTH))


def moments_theorem_noise(
    sample_rate: float, steps: int, epsilon: float, delta: float, c2: float
) -> float:
    """Return c2 r sqrt(T log(1/delta)) / epsilon, the noise the theorem asks for.

    It says nothing where the rate times this noise is above 1/16.

    >>> round(moments_theorem_noise(0.01, 10_000, 1.0, 1e-5, 1.856), 3)
    6.298
    """
    rate = number_in(sample_rate, "sample_rate", Range(0.0, 1.0, "(]"))
    target = number_in(epsilon, "epsilon", FINITE_POSITIVE)
    depth = -math.log(number_in(delta, "delta", Range(0.0, 1.0, "()")))
    return above(number_in(c2, "c2", FINITE_POSITIVE) * rate * math.sqrt(steps * depth) / target)


@lru_cache(maxsize=256)
def _constant(c1: float, depth: float) -> float:
    """Return the least constant that is found to hold, to 2e-4, by bisection from the limit."""
    found = smallest(lambda x: -_limit_square(c1, x), depth, 1e6 * depth)[1]
    low = math.sqrt(max(-found, _limit_square(c1, depth), 2.0))
    high = low * (1.0 + 1e-3)
    while not _holds(c1, depth, high):
        low, high = high, high * (high / low) ** 2
    while high > low * (1.0 + 2e-4):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _holds(c1, depth, middle) else (middle, high)
    return high


def _limit_square(c: float, x: float) -> float:
    """Return what c2^2 is at least, from rates to 0; it rises with c."""
    return c / (x * math.log1p(c * _limit_share(x)))


def _limit_share(x: float) -> float:
    # sqrt(2x + 2) - sqrt(2x) without cancellation
    return (2.0 / (math.sqrt(2.0 * x + 2.0) + math.sqrt(2.0 * x))) ** 2


def _holds(c1: float, depth: float, c2: float) -> bool:
    """Return whether (*) is proven for every x from depth on."""
    beyond = _noise_beyond(c1, c2)
    if not math.isfinite(beyond):
        return False
    last = max(beyond**2 * c1 / c2**2, depth) * (1.0 + 1e-9)
    count = math.ceil(math.log(last / depth) / math.log1p(_WIDEST)) + 1
    ends = np.geomspace(depth, last, count)
    ends[0] = depth
    low, high = ends[:-1], ends[1:]
    while len(low):
        wrong = ~_proven(c1, c2, low, high)
        low, high = low[wrong], high[wrong]
        if len(low) and float(np.min(high / low)) < 1.0 + _NARROWEST:
            return False
        middle = np.sqrt(low * high)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return True


def _proven(c1: float, c2: float, low: Array, high: Array) -> npt.NDArray[np.bool_]:
    """Return for which intervals one of the orders has (*), A - 1 for log A."""
    noise = c2 * np.sqrt(low / c1) * _DOWN
    rate = np.minimum(_LARGEST_PRODUCT / noise, 1.0) / _DOWN
    best = 0.5 + np.array([1.0 / _limit_share(x) for x in low.tolist()])
    order = np.clip(best[:, None] * _ORDERS, 2.0, _LARGEST_ORDER)
    rate = np.minimum(rate, 1.0)[:, None]
    with np.errstate(over="ignore"):
        excess = np.expm1(special.log_a_upper(rate, noise[:, None], order)) / rate**2
    permitted = c1 * (order - 1.0 - high[:, None])
    return np.asarray((excess <= permitted * _DOWN).any(axis=1))


def _noise_beyond(c1: float, c2: float) -> float:
    """Return a noise from which on (*) is proven with orders that are a multiple of its square."""
    for factor in (2.0 * _ORDERS[::-1] * c1 / c2**2).tolist():
        noise = math.sqrt(_LARGEST_ORDER / factor)
        excess = math.expm1(log_moment_beyond(_LARGEST_PRODUCT, factor)) / _LARGEST_PRODUCT**2
        if excess <= c1 * (factor - c1 / c2**2 - noise**-2) * _DOWN:
            return noise / _DOWN
    return math.inf
