"""The smallest argument at which a decreasing delta meets its target."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["smallest_argument"]

TOLERANCE = 1e-12


def smallest_argument(
    delta: Callable[[float], float], target: float, start: float, low: float, high: float
) -> float:
    """Return an x in [low, high] with ``delta(x) <= target``; inf if there is none.

    At ``x (1 - 1e-12)`` the target is missed, unless x is ``low``. ``delta`` must not increase.
    False position in log x and log delta, after Dowell and Jarratt 1971, and bisection in between.
    """

    def excess(x: float) -> float:
        value = delta(x)
        if value <= target:
            return -math.inf if value == 0.0 else min(math.log(value / target), -0.0)
        if target == 0.0:
            return math.inf
        return max(math.log(value) - math.log(target), 1e-17)  # the logarithms may agree

    left = right = start
    at_left = at_right = excess(start)
    factor = 2.0
    while at_right > 0.0 and right < high:
        left, at_left = right, at_right
        right = min(right * factor, high)
        at_right, factor = excess(right), min(factor * factor, 1e100)
    if at_right > 0.0:
        return math.inf
    while at_left <= 0.0 and left > low:
        right, at_right = left, at_left
        left = max(left / factor, low)
        at_left, factor = excess(left), min(factor * factor, 1e100)
    if at_left <= 0.0:
        return left
    looks = side = 0
    while right > left * (1.0 + TOLERANCE):
        looks += 1
        x = _crossing(left, right, at_left, at_right, bisect=looks % 4 == 0)
        at = excess(x)
        if at <= 0.0:
            at_left *= 0.5 if side < 0 else 1.0
            right, at_right, side = x, at, -1
        else:
            at_right *= 0.5 if side > 0 else 1.0
            left, at_left, side = x, at, 1
    return right


def _crossing(left: float, right: float, at_left: float, at_right: float, *, bisect: bool) -> float:
    """Return where the secant crosses, moved away from the nearer end to go beyond the root."""
    width = math.log(right / left)
    share = 0.5
    if not bisect and math.isfinite(at_left - at_right):
        share = at_left / (at_left - at_right)
        aside = min(0.25 * TOLERANCE / width, 0.25)
        share = min(share + aside, 1.0) if share < 0.5 else max(share - aside, 0.0)
    x = left * math.exp(width * share)
    return x if left < x < right else left + 0.5 * (right - left)
