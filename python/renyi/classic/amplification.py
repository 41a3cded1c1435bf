"""The subsampling theorem: a private mechanism on a random sample is more private.

It holds in the same form for a uniform sample of fixed size, neighbours differing in one replaced
record and the rate being sample size over data set size, and for a Poisson sample, neighbours
differing by one record more or less. What is put in and what comes out refer to that adjacency.
"""

from __future__ import annotations

import math

from renyi._validation import delta_of, epsilon_of
from renyi.classic._rounding import MARGIN, above
from renyi.classic.composition import Guarantee
from renyi.mechanisms._arguments import Range, number_in

__all__ = ["before_subsampling", "subsampled"]

_RATE = Range(0.0, 1.0, "(]")


def subsampled(epsilon: float, delta: float, rate: float) -> Guarantee:
    """Return what an (epsilon, delta)-private mechanism guarantees on a random sample.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    delta : float
        In [0, 1].
    rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    Guarantee
        (log(1 + r (exp(epsilon) - 1)), r delta), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 19 (fixed size); Balle, Barthe, Gaboardi 2018, arXiv
    1807.01647, Theorems 8 (Poisson) and 9 (fixed size).

    Examples
    --------
    >>> amplified = subsampled(1.0, 1e-5, 0.01)
    >>> round(amplified.epsilon, 6), round(amplified.delta, 12)
    (0.017037, 1e-07)
    """
    epsilon, delta, r = epsilon_of(epsilon), delta_of(delta), number_in(rate, "rate", _RATE)
    if r == 1.0:
        return Guarantee(epsilon, delta)
    return Guarantee(_log_mixture(epsilon, r), above(r * delta) if delta else 0.0)


def before_subsampling(epsilon: float, delta: float, rate: float) -> Guarantee:
    """Return what a mechanism must satisfy so that it is (epsilon, delta)-private on a sample.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    delta : float
        In [0, 1].
    rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    Guarantee
        (log(1 + (exp(epsilon) - 1)/r), min(1, delta/r)), rounded down: `subsampled` takes it back
        to no more than what was asked for.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 19, inverted.

    Examples
    --------
    >>> base = before_subsampling(0.017, 1e-7, 0.01)
    >>> round(base.epsilon, 6), round(base.delta, 12)
    (0.99862, 1e-05)
    """
    epsilon, delta, r = epsilon_of(epsilon), delta_of(delta), number_in(rate, "rate", _RATE)
    if r == 1.0:
        return Guarantee(epsilon, delta)
    base_epsilon, base_delta = _log_share(epsilon, r), min(delta / r, 1.0)
    margin = MARGIN
    while True:
        again = subsampled(base_epsilon, base_delta, r)
        if again.epsilon <= epsilon and again.delta <= delta:
            return Guarantee(base_epsilon, base_delta)
        if again.epsilon > epsilon:
            base_epsilon *= 1.0 - margin
        if again.delta > delta:
            base_delta *= 1.0 - margin
        margin = min(2.0 * margin, 1.0)


def _log_share(epsilon: float, r: float) -> float:
    """Return log(1 + (e^epsilon - 1)/r), nearly."""
    if epsilon < 1.0:
        odds = math.expm1(epsilon) / r
        return math.log1p(odds) if odds < math.inf else math.log(math.expm1(epsilon)) - math.log(r)
    # e^epsilon may overflow
    return epsilon - math.log(r) + math.log1p(-(1.0 - r) * math.exp(-epsilon))


def _log_mixture(epsilon: float, r: float) -> float:
    """Return log(1 + r (e^epsilon - 1)), rounded up."""
    if epsilon < 700.0:
        return above(math.log1p(r * math.expm1(epsilon))) if epsilon else 0.0
    # log(1 + e^(epsilon + log r) - r) where e^epsilon overflows; epsilon and log r may cancel
    x = epsilon + math.log(r) + MARGIN * (epsilon - math.log(r))
    return above(max(x, 0.0) + math.log1p(math.exp(-abs(x))))
