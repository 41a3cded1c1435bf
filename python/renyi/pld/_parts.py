"""The parts of a composition: checked, equal ones added up, Gaussians merged into one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from renyi._validation import uses_of
from renyi.pld._cells import ROUNDING
from renyi.pld._distribution import Part, PrivacyLossDistribution
from renyi.pld._gaussian import REACH, Gaussian

__all__ = ["merged_parts"]


def merged_parts(parts: Iterable[Part]) -> tuple[list[Part], float]:
    """Return the distinct parts, and how far merging Gaussians may have moved their loss."""
    allowed = "an iterable of (PrivacyLossDistribution, count) pairs"
    try:
        items = list(parts)
    except TypeError:
        raise TypeError(f"parts must be {allowed}, got {parts!r}") from None
    counts: dict[PrivacyLossDistribution, int] = {}
    squares, gaussians = Fraction(0), 0
    for item in items:
        pair: object = item
        if not (
            isinstance(pair, tuple)
            and len(pair) == 2
            and isinstance(pair[0], PrivacyLossDistribution)
        ):
            raise TypeError(f"parts must be {allowed}, got {item!r}")
        count = uses_of(item[1])
        if isinstance(item[0], Gaussian):
            squares += count * Fraction(item[0].mu) ** 2
            gaussians += count
        elif count:
            counts[item[0]] = counts.get(item[0], 0) + count
    drift = 0.0
    if gaussians:
        mu = math.sqrt(float(squares))
        counts[Gaussian(mu)] = 1
        if gaussians > 1:
            drift = 2.0 * ROUNDING * mu * (REACH + 2.0 * mu)
    return list(counts.items()), drift
