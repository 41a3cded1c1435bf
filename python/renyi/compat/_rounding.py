"""The doubles on either side of an exact number."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["at_least", "at_most"]


def at_least(exact: Fraction) -> float:
    """Return the least double that is not smaller."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def at_most(exact: Fraction) -> float:
    """Return the largest double that is not larger."""
    return -at_least(-exact)
