"""Remainders of the logarithm and the exponential, and weighted sums, without cancellation.

Domain, formula and bound stand with each function; u = 2^-53.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "entropy_excess", "exp_excess", "log_deficit", "weighted"]

Array = npt.NDArray[np.float64]

_SPLIT = 2.0**27 + 1.0


def log_deficit(y: Array, one_plus: Array | None = None) -> Array:
    """Return y - log(1 + y) >= 0 for y > -1, with relative error at most 16 u.

    Near 0, with z = y/(2+y), it is y z - 2 z^3 (1/3 + z^2/5 + ...): the second term is less than a
    tenth of the first. ``one_plus`` is 1 + y where it is known better than y near -1.
    """
    y = np.asarray(y, dtype=np.float64)
    z = np.where(np.abs(y) < 0.5, y, 0.0)
    z = z / (2.0 + z)
    square = z * z
    series = np.zeros_like(z)
    for k in range(17, -1, -1):
        series = series * square + 1.0 / (2 * k + 3)
    small = y * z - 2.0 * z * square * series
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log1p(y) if one_plus is None else np.where(y < -0.5, np.log(one_plus), np.log1p(y))
        return np.asarray(np.where(np.abs(y) < 0.5, small, y - log))


def exp_excess(y: Array) -> Array:
    """Return e^y - 1 - y >= 0, with relative error at most 8 u."""
    y = np.asarray(y, dtype=np.float64)
    near = np.where(np.abs(y) < 1.0, y, 0.0)
    series = np.zeros_like(near)
    for k in range(20, 1, -1):
        series = series * near + 1.0 / math.factorial(k)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(np.abs(y) < 1.0, near * near * series, np.expm1(y) - y))


def entropy_excess(y: Array) -> Array:
    """Return (1 + y) log(1 + y) - y >= 0 for y > -1, with relative error at most 64 u."""
    y = np.asarray(y, dtype=np.float64)
    log = np.log1p(y)
    return np.asarray(np.where(np.abs(y) < 0.5, y * log - log_deficit(y), (1.0 + y) * log - y))


def weighted(alpha: Array, x: float, y: float) -> Array:
    """Return alpha x + (1 - alpha) y = y + alpha (x - y), in about twice the working precision.

    The relative error is a few u unless the result is smaller than 2^-40 of its terms: the
    conditions for a finite divergence are decided by its sign.
    """
    first, first_error = _product(alpha, x)
    second, second_error = _product(alpha, -y)
    total, error = _sum(first, second)
    total, more = _sum(total, np.full_like(total, y))
    return total + (error + more + first_error + second_error)


def _product(a: Array, b: float) -> tuple[Array, Array]:
    """Return a b and its rounding error (Dekker); numbers within 2^+-480."""
    product = a * b
    high_a, high_b = a * _SPLIT - (a * _SPLIT - a), b * _SPLIT - (b * _SPLIT - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b and its rounding error (Knuth)."""
    total = a + b
    shift = total - a
    return total, (a - (total - shift)) + (b - shift)
