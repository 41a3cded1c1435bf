"""Where a function without a second valley is least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from renyi.reference._numbers import mp


def lowest(value: Callable[[Any], Any], low: Any, high: Any, digits: int) -> Any:
    """Return the place of the minimum in [low, high] to 10^-digits of the interval: golden section.

    >>> round(float(lowest(lambda x: (x - 2) ** 2, mp.zero, mp.mpf(5), 10)), 8)
    2.0
    """
    golden = (mp.sqrt(5) - 1) / 2
    smallest = (high - low) * mp.mpf(10) ** -digits
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = value(left), value(right)
    while high - low > smallest:
        if at_left > at_right:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = value(left)
    return (low + high) / 2
