"""From delta back to epsilon: where the bounds of a composition cross a given delta."""

from __future__ import annotations

import math

from renyi.pld._cells import ROUNDING
from renyi.pld._composed_loss import ComposedLoss
from renyi.pld._solve import Solved

__all__ = ["solved_epsilon", "tighter"]


def tighter(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Return what two brackets have in common."""
    return max(a[0], b[0]), min(a[1], b[1])


def solved_epsilon(solved: Solved, delta: float) -> tuple[float, float]:
    """Return numbers that enclose epsilon(delta), from both sides of one composition."""
    # delta(epsilon) >= 1 - e^epsilon gives the first where the lattice gives nothing.
    floor = math.log1p(-delta) - 4.0 * ROUNDING
    return (
        max(_crossing(solved.lower, delta, solved.epsilon, outward=-1.0), floor),
        _crossing(solved.upper, delta, solved.epsilon, outward=1.0),
    )


def _crossing(curve: ComposedLoss, delta: float, start: float, outward: float) -> float:
    """Return a point where the bound crosses delta, found from ``start`` outward by bisection.

    A point where the lower bound exceeds delta is below epsilon, one where the upper bound does
    not is above it, wherever they were found.
    """
    stride = curve.step * curve.window.size / 1024.0
    low = high = start
    for _ in range(40):
        if curve.delta(low) > delta:
            break
        low, high, stride = low - stride, low, 1.5 * stride
    else:
        return -math.inf if outward < 0.0 else math.inf
    stride = curve.step * curve.window.size / 1024.0
    for _ in range(40):
        if curve.delta(high) <= delta:
            break
        low, high, stride = high, high + stride, 1.5 * stride
    else:
        return math.inf
    target = math.log(delta) if delta > 0.0 else -math.inf
    above, below = _log(curve.delta(low)) - target, _log(curve.delta(high)) - target
    for turn in range(200):
        width, least = high - low, 1e-13 * max(abs(low), abs(high))
        if width <= 2.0 * least:
            break
        # Log delta is nearly linear: false position, halving the end that stays (Illinois), and no
        # closer to an end than what is asked for.
        middle = low + 0.5 * width
        if turn % 4 != 3 and math.isfinite(above) and math.isfinite(below):
            middle = low + width * above / (above - below)
            middle = min(max(middle, low + least), high - least)
        if not low < middle < high:
            break
        value = curve.delta(middle)
        if value > delta:
            low, above, below = middle, _log(value) - target, 0.5 * below
        else:
            high, below, above = middle, _log(value) - target, 0.5 * above
    return high if outward > 0.0 else low


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
