"""Outward rounding of short formulas: margins that cover what a few operations can lose.

A margin of sixteen units of 2^-52 covers eight operations, each within two units: those of IEEE
arithmetic, and exp, log, erfc and their like as C libraries give them.
"""

from __future__ import annotations

import math
import sys

from renyi._validation import float_above, integer_of

__all__ = ["MARGIN", "above", "below", "count_above", "exp_above", "loss_deviations"]


MARGIN = 2.0**-48


_LARGEST_COUNT = 10**300


def above(value: float) -> float:
    """Return a number at least the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value + abs(value) * MARGIN, math.inf)


def below(value: float) -> float:
    """Return a number at most the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value - abs(value) * MARGIN, -math.inf)


def exp_above(exponent: float, size: float = 0.0) -> float:
    """Return e^exponent rounded up, at most 1; ``size`` bounds the terms the exponent came from.

    Never 0: an exponent of minus infinity is one that overflowed.

    >>> exp_above(-math.inf), exp_above(3.0), exp_above(-1e5)
    (5e-324, 1.0, 5e-324)
    """
    if exponent == -math.inf:
        return 5e-324
    raised = exponent + MARGIN * (1.0 + abs(exponent) + size)
    return 1.0 if raised >= 0.0 else math.nextafter(math.exp(raised), 1.0)


def loss_deviations(epsilon: float, distance: float, sigma: float) -> float:
    """Return epsilon/mu - mu/2, mu = distance/sigma, rounded down; epsilon finite.

    The privacy loss of Gaussian noise is normal: by so many standard deviations ``epsilon`` is
    above its mean.

    >>> round(loss_deviations(1.0, 1.0, 2.0), 12), loss_deviations(1.0, 1e-300, 1e300)
    (1.75, inf)
    """
    mu = distance / sigma
    if mu < sys.float_info.min:  # few digits are left
        if epsilon < 0.0:
            return -math.inf
        mu = above(mu)
    ahead, behind = epsilon / mu, 0.5 * mu
    if math.isinf(ahead) or math.isinf(behind):
        return ahead - behind
    return math.nextafter(ahead - behind - MARGIN * (abs(ahead) + behind), -math.inf)


def count_above(value: object, name: str) -> float:
    """Return an integer from 1 to 10^300 as a float, rounded up.

    >>> count_above(3, "count"), count_above(2**53 + 1, "count") > 2**53
    (3.0, True)
    """
    count = integer_of(value, name, 1)
    if count > _LARGEST_COUNT:
        raise ValueError(
            f"{name} must be an integer from 1 to 10^300, got one of {count.bit_length()} bits"
        )
    return float_above(count)
