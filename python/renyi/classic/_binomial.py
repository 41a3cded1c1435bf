"""Binomial probabilities to full relative accuracy, and what batches need of them.

Loader 2000, "Fast and accurate computation of binomial probabilities": the probability is
(n / (2 pi x (n-x)))^(1/2) e^(s(n) - s(x) - s(n-x) - D(x; n q) - D(n-x; n (1-q))) with Stirling's
errors s and deviances D(x; m) = x log(x/m) + m - x, all computed without cancellation.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["RELATIVE_ERROR", "binomial_masses", "likely_range"]

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
