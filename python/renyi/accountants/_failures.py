"""Mechanisms that reveal everything with some probability: what that takes off delta."""

from __future__ import annotations

import math

__all__ = ["Failures"]


class Failures:
    """Independent failures; composition adds the logarithms of not failing.

    Equal ones merge, so that the same failures give the same number, however they came.
    """

    def __init__(self) -> None:
        self._counts: dict[float, float] = {}
        self._log_safe = 0.0  # logarithm of the probability that nothing fails, rounded down

    def add(self, probability: float, count: float) -> None:
        """Add ``count`` chances of a failure."""
        self._counts[probability] = self._counts.get(probability, 0.0) + count
        total = 0.0
        for chance, times in self._counts.items():
            loss = times * math.log1p(-chance) if chance < 1.0 else -math.inf
            total = math.nextafter((total + loss) * (1.0 + 2.0**-50), -math.inf)
        self._log_safe = total

    def left_of(self, delta: float) -> float:
        """Return what remains of delta if nothing fails, rounded down; negative: nothing."""
        if self._log_safe == 0.0:
            return delta
        failed = -math.expm1(self._log_safe)
        left = delta - failed * (1.0 + 2.0**-50)
        return left * (1.0 - 2.0**-50) / math.exp(self._log_safe) if left >= 0.0 else -1.0

    def with_them(self, delta: float) -> float:
        """Return delta with the failures, rounded up."""
        if self._log_safe == 0.0:
            return delta
        total = delta * math.exp(self._log_safe) - math.expm1(self._log_safe)
        return min(total * (1.0 + 2.0**-50), 1.0)
