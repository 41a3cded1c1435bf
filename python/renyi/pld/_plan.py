"""Choosing the tilt and what counts as bulk; nothing here needs to be certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi.pld._moments import Law, in_blocks, moments, reduced, truncated, with_bulk

__all__ = ["Choice", "choose", "log_delta", "saddle"]


def saddle(parts: list[Law], epsilon: float, near: float | None = None) -> float:
    """Return t > 0 where K(t) - epsilon t - log t - log(1 + t) is least, within 1 %."""
    blocks, shift = (reduced(parts, near), near) if near else (parts, 0.0)
    largest = largest_slope(parts)
    low, high = largest * 1e-16, largest

    def too_large(t: float) -> bool:
        return moments(blocks, t - shift).mean - epsilon > 1.0 / t + 1.0 / (1.0 + t)

    if near is not None:
        low, high = max(low, near / 1.3), min(high, near * 1.3)
        low = low if not too_large(low) else largest * 1e-16
        high = high if too_large(high) else largest
    elif not too_large(high):
        return high
    while high > 1.02 * low:
        middle = math.sqrt(low) * math.sqrt(high)  # the product may overflow
        if too_large(middle):
            high = middle
        else:
            low = middle
    return math.sqrt(low) * math.sqrt(high)


def largest_slope(parts: list[Law]) -> float:
    """Return the largest tilt used: exponents stay below 2000."""
    widest = max(float(np.abs(part.losses).max()) for part in parts)
    return 2000.0 / max(widest, 1e-300)


def log_delta(parts: list[Law], t: float, epsilon: float) -> float:
    """Return the saddle-point approximation of log delta, at its saddle t."""
    k = moments(parts, t)
    curvature = k.variance + t**-2.0 + (1.0 + t) ** -2.0
    height = k.value - t * epsilon - math.log(t) - math.log1p(t)
    return min(height - 0.5 * math.log(2.0 * math.pi * max(curvature, 1e-300)), 0.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """How to compose: tilt, log delta about, log mass to cut off above, bulk of single losses.

    ``limit`` is the loss up to which a part is bulk, -inf for no bulk, and ``bulk_slope`` the tilt
    at which Chernoff's bound for outcomes all in the bulk is least.
    """

    slope: float
    log_delta: float
    log_tail: float
    limit: float
    bulk_slope: float


def choose(parts: list[Law], epsilon: float, rtol: float) -> Choice:
    """Return what makes delta(epsilon) stand out.

    With few effective steps delta comes from one large loss, and no tilt makes that likely. Then
    outcomes in which every loss is small are left out; they are bounded apart.
    """
    parts = [in_blocks(part) for part in parts]
    shares = (0.9, 0.7, 0.5, 0.3, 0.15) if epsilon > 0.0 else ()
    for share in shares:
        limit = share * epsilon
        split = with_bulk(parts, limit)
        if any(p.bulk == 0 or p.bulk == p.logs.size for p in split):
            continue
        slope, found, log_tail = _choose_tail(split, epsilon, rtol)
        bulk = [Law(p.logs[: p.bulk], p.losses[: p.bulk], p.count) for p in split]
        bulk_slope = saddle(bulk, epsilon)
        left_out = moments(bulk, bulk_slope).value - bulk_slope * epsilon
        if left_out < math.log(1e-3 * rtol) + found:
            return Choice(slope, found, log_tail, limit, bulk_slope)
    return Choice(*_choose_tail(parts, epsilon, rtol), -math.inf, 1.0)


def _choose_tail(parts: list[Law], epsilon: float, rtol: float) -> tuple[float, float, float]:
    """Cut off as much of the tails as the delta that remains allows.

    The moment function of a long tail is dominated by losses that matter to no delta of interest.
    """
    for log_tail in (-15.0, -25.0, -40.0, -65.0, -105.0, -160.0, -250.0, -400.0):
        cut = truncated(parts, log_tail)
        t = saddle(cut, epsilon)
        found = log_delta(cut, t, epsilon)
        if log_tail <= math.log(1e-3 * rtol) + found:
            return t, found, log_tail
    t = saddle(parts, epsilon)
    return t, log_delta(parts, t, epsilon), -math.inf
