"""Outward rounding of short formulas: margins that cover what a few operations can lose.

A margin of sixteen units of 2^-52 covers eight operations, each within two units: those of IEEE
arithmetic, and exp, log, erfc and their like as C libraries give them.
"""

from __future__ import annotations

import math

__all__ = ["MARGIN", "above", "below", "exp_above"]

MARGIN = 2.0**-48


def above(value: float) -> float:
    """Return a number at least the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value + abs(value) * MARGIN, math.inf)


def below(value: float) -> float:
    """Return a number at most the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value - abs(value) * MARGIN, -math.inf)


def exp_above(exponent: float, size: float = 0.0) -> float:
    """Return e^exponent rounded up, at most 1; ``size`` bounds the terms the exponent came from.

    >>> exp_above(-math.inf), exp_above(3.0), exp_above(-1e5)
    (0.0, 1.0, 5e-324)
    """
    if exponent == -math.inf:
        return 0.0
    raised = exponent + MARGIN * (1.0 + abs(exponent) + size)
    return 1.0 if raised >= 0.0 else math.nextafter(math.exp(raised), 1.0)
