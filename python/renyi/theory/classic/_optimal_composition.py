"""Optimal composition of equal guarantees, by binomial sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._rounding import above
from renyi._validation import FINITE_NON_NEGATIVE, delta_of, epsilon_of, number_in, uses_of

__all__ = [
    "RELATIVE_ERROR",
    "binomial_masses",
    "likely_range",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
]


# Binomial probabilities to full relative accuracy, and what batches need of them.
#
# Loader 2000, "Fast and accurate computation of binomial probabilities": the probability is
# (n / (2 pi x (n-x)))^(1/2) e^(s(n) - s(x) - s(n-x) - D(x; n q) - D(n-x; n (1-q))) with Stirling's
# errors s and deviances D(x; m) = x log(x/m) + m - x, all computed without cancellation.


Array = npt.NDArray[np.float64]


NEGLIGIBLE = 2.0**-1040


"""Mass that underflow may hide, counted wherever it does harm."""


RELATIVE_ERROR = 1e-11


"""Of every probability above 2^-1022: D < 710 has 60 u of itself, the exponent 5 u."""


_SERIES = 13  # terms of atanh at |v| < 0.1


_TABLE = 16


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


_SMALL = np.array(
    [0.0]
    + [
        math.log(math.factorial(n)) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
        for n in range(1, _TABLE)
    ]
)


def likely_range(n: int, q: float) -> tuple[int, int]:
    """Return the numbers outside which Bin(n, q) has less than ``NEGLIGIBLE`` on either side.

    By Bernstein's inequality P[|X - n q| >= t] <= e^(-t^2 / (2 (n q (1-q) + t/3))).
    """
    exponent = -math.log(NEGLIGIBLE) + 1.0
    spread = exponent / 3.0 + math.sqrt((exponent / 3.0) ** 2 + 2.0 * exponent * n * q * (1.0 - q))
    spread += 1.0 + 1e-12 * n
    return max(math.floor(n * q - spread), 0), min(math.ceil(n * q + spread), n)


def binomial_masses(n: int, q: float, first: int, last: int) -> Array:
    """Return P[Bin(n, q) = x] for first <= x <= last, 0 < q < 1, n <= 1e12."""
    x = np.arange(first, last + 1, dtype=np.float64)
    rest = n - x
    mean = n * q
    # x - n q to full accuracy: the product's rounding error is known exactly.
    lost = float(Fraction(n) * Fraction(q) - Fraction(mean))
    excess = (x - mean) - lost
    found = np.zeros(x.size)
    inner = (x > 0.0) & (rest > 0.0)
    xi, ri, ei = x[inner], rest[inner], excess[inner]
    with np.errstate(under="ignore"):
        exponent = _stirling_error(np.array([float(n)])) - _stirling_error(xi) - _stirling_error(ri)
        exponent = exponent - _deviance(xi, mean, ei) - _deviance(ri, n * (1.0 - q), -ei)
        found[inner] = np.exp(exponent) * np.sqrt(n / (2.0 * math.pi * xi * ri))
        if first == 0:
            found[0] = math.exp(n * math.log1p(-q))
        if last == n:
            found[-1] = math.exp(n * math.log(q))
    return found


def _stirling_error(n: Array) -> Array:
    """Return log n! - (n + 1/2) log n + n - log(2 pi)/2; the series is short by less than 1e-14."""
    large = np.maximum(n, float(_TABLE))
    square, series = 1.0 / (large * large), np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    small = _SMALL[np.minimum(n, _TABLE - 1).astype(np.intp)]
    return np.asarray(np.where(n < _TABLE, small, series / large))


def _deviance(x: Array, mean: float, excess: Array) -> Array:
    """Return x log(x/m) + m - x, given x - m to full accuracy."""
    v = excess / (x + mean)
    square, series = v * v, np.zeros_like(v)
    for k in range(_SERIES, 0, -1):
        series = (series + 1.0 / (2 * k + 1)) * square
    near = excess * v + 2.0 * x * v * series
    return np.asarray(np.where(np.abs(v) < 0.1, near, x * np.log(x / mean) - excess))


# The least guarantee that equal (epsilon, delta)-private mechanisms have together.
#
# The worst case of k of them is k coins of bias exp(epsilon)/(1 + exp(epsilon)), revealed outright
# with probability delta each. With J coins of k fallen the unlikely way the loss is (k - 2 J)
# epsilon and for every E >= 0
#
#     1 - delta(E) = (1 - delta)^k (1 - E[(1 - exp(E - (k - 2 J) epsilon))_+]),
#     J ~ Bin(k, 1/(1 + exp(epsilon))),
#
# which is attained, so no bound from epsilon and delta alone is smaller: the yardstick of all
# others. Adaptive choices are covered. The sum has positive terms only and keeps its relative
# accuracy.
#
# Kairouz, Oh, Viswanath 2015, "The Composition Theorem for Differential Privacy", Theorem 3.3.


_UNIT = 2.0**-52


class _Coins(NamedTuple):
    """Losses from the largest down, and masses rounded up."""

    losses: npt.NDArray[np.float64]
    masses: npt.NDArray[np.float64]

    def delta(self, epsilon: float) -> float:
        """Return the delta of the coins, rounded up."""
        return self.delta_and_slope(epsilon)[0]

    def delta_and_slope(self, epsilon: float) -> tuple[float, float]:
        """Return delta, rounded up, and nearly its derivative."""
        if not self.losses.size or epsilon >= self.losses[0] * (1.0 + 4.0 * _UNIT):
            return 0.0, 0.0
        gap = self.losses - epsilon + 4.0 * _UNIT * self.losses
        used = gap > 0.0
        masses, lost = self.masses[used], np.expm1(-gap[used])
        found, slope = -float(masses @ lost), -float(masses @ lost) - float(masses.sum())
        return min(found * (1.0 + 2.0 * RELATIVE_ERROR) + NEGLIGIBLE, 1.0), slope


def optimal_composition_delta(
    epsilon: float, target_epsilon: float, count: int, *, delta: float = 0.0
) -> float:
    """Return the least delta of ``count`` mechanisms, each (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Of each, in [0, inf).
    target_epsilon : float
        Of the composition, in [0, inf].
    count : int
        From 0 to 1e9.
    delta : float
        Of each, in [0, 1].

    Returns
    -------
    float
        In [0, 1], rounded up by a relative 1e-10 at most, but next to a loss (count - 2 J) epsilon,
        which are rounded up by a relative 1e-15 themselves.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Kairouz, Oh, Viswanath 2015, Theorem 3.3.

    Examples
    --------
    >>> f"{optimal_composition_delta(0.1, 4.0, 100):.4e}"
    '3.4223e-05'
    """
    coins, count = _coins(epsilon, count)
    target = epsilon_of(target_epsilon, "target_epsilon")
    return _with_failures(coins.delta(target), delta_of(delta), count)


def optimal_composition_epsilon(
    epsilon: float, target_delta: float, count: int, *, delta: float = 0.0
) -> float:
    """Return the least epsilon of ``count`` mechanisms, each (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Of each, in [0, inf).
    target_delta : float
        Of the composition, in [0, 1].
    count : int
        From 0 to 1e9.
    delta : float
        Of each, in [0, 1].

    Returns
    -------
    float
        Rounded up: `optimal_composition_delta` there is at most the target. Infinity where the
        probability that a mechanism fails exceeds it.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Kairouz, Oh, Viswanath 2015, Theorem 3.3.

    Examples
    --------
    >>> round(optimal_composition_epsilon(0.1, 1e-6, 100), 4)
    4.7746
    """
    coins, count = _coins(epsilon, count)
    target, each = delta_of(target_delta, "target_delta"), delta_of(delta)

    def delta_at(place: float) -> tuple[float, float]:
        found, slope = coins.delta_and_slope(place)
        return _with_failures(found, each, count), slope * (1.0 - each) ** count

    if delta_at(0.0)[0] <= target:
        return 0.0
    if delta_at(math.inf)[0] > target:
        return math.inf
    return _least(delta_at, target, float(coins.losses[0]) * (1.0 + 8.0 * _UNIT))


def _least(delta_at: Callable[[float], tuple[float, float]], target: float, top: float) -> float:
    """Return where a falling function is at most ``target`` > 0, near the least such place."""
    if target == 0.0:
        return top
    low, high, here = 0.0, top, 0.0
    for _ in range(120):
        value, slope = delta_at(here)
        over = _log_ratio(value, target)
        low, high = (here, high) if over > 0.0 else (low, here)
        # Newton's steps for log delta, from below a little too far
        step = -over * value / slope if slope < 0.0 and math.isfinite(over) else math.nan
        if (over <= 0.0 and step >= -1e-13 * here) or high - low <= 1e-13 * high:
            break
        here += step if over <= 0.0 else step + 5e-14 * here
        if not low < here < high:
            here = 0.5 * (low + high)
    return high


def _log_ratio(value: float, target: float) -> float:
    """Return log(value/target), of a sign that tells value <= target in all cases."""
    if value == 0.0:
        return -math.inf
    found = math.log(value) - math.log(target)
    return max(found, 5e-324) if value > target else min(found, 0.0)


def _coins(epsilon: float, count: int) -> tuple[_Coins, int]:
    epsilon = number_in(epsilon, "epsilon", FINITE_NON_NEGATIVE)
    count = uses_of(count)
    # delta rises as the unlikely side does: its probability is rounded down
    unlikely = math.exp(-epsilon) / (1.0 + math.exp(-epsilon)) * (1.0 - 8.0 * _UNIT)
    if count == 0 or epsilon == 0.0:
        return _Coins(np.empty(0), np.empty(0)), count
    if unlikely < 1e-290:  # not one coin falls so
        return _Coins(np.array([count * epsilon]), np.ones(1)), count
    first, last = likely_range(count, unlikely)
    last = min(last, (count - 1) // 2)
    if first > last:
        return _Coins(np.array([count * epsilon]), np.zeros(1)), count
    fallen = np.arange(first, last + 1, dtype=np.float64)
    masses = binomial_masses(count, unlikely, first, last)
    losses = (count - 2.0 * fallen) * epsilon
    if first > 0:  # the negligible mass above
        losses, masses = np.insert(losses, 0, count * epsilon), np.insert(masses, 0, NEGLIGIBLE)
    return _Coins(losses, masses), count


def _with_failures(delta: float, each: float, count: int) -> float:
    """Return 1 - (1 - each)^count (1 - delta), rounded up."""
    if each == 0.0 or count == 0:
        return delta
    if each == 1.0 or delta == 1.0:
        return 1.0
    return min(above(-math.expm1(count * math.log1p(-each) + math.log1p(-delta))), 1.0)
