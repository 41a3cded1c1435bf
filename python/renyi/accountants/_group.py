"""What holds for groups of records, from the curves for one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from renyi._validation import uses_of
from renyi.accountants._brackets import Array, Curve
from renyi.accountants._chain import Chain

__all__ = ["LARGEST_GROUP", "GroupCurve", "SmallerCurve", "group_size_of"]

LARGEST_GROUP = 1000
LARGEST_EPSILON = 1500.0  # doubles hold no delta of one record that is small enough beyond
CLOSE = 1e-9  # of epsilons, relatively
MOST_STEPS = 60
FARTHEST = 8.0  # logarithms of deltas, from the one that is sought


class GroupCurve:
    """The curve for a group, above it by a chain of neighbours, below it that for one record.

    Parameters
    ----------
    own, other : Curve
        Of one record, in the direction asked for and the opposite one.
    size : int
        Of the group.
    """

    def __init__(self, own: Curve, other: Curve, size: int) -> None:
        self._own, self._size = own, size
        self._chain = Chain(own, other, size)

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = self._own.epsilon_brackets(deltas)
        # The largest losses add up.
        largest = float(self._own.epsilon_brackets(np.zeros(1))[1, 0])
        largest *= self._size * (1.0 + 2.0**-52)
        for i, delta in enumerate(deltas.tolist()):
            found = self._epsilon(delta, min(self._size * float(result[1, i]), largest))
            result[1, i] = max(min(found, largest), result[0, i])
        return result

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = self._own.delta_brackets(epsilons)
        for i, epsilon in enumerate(epsilons.tolist()):
            result[1, i] = max(self._chain.delta(epsilon), result[0, i])
        return result

    def _epsilon(self, delta: float, start: float) -> float:
        """Return an epsilon at which the chain's delta is small enough, about the least."""
        if self._chain.delta(0.0) <= delta:
            return 0.0
        if delta == 0.0:
            return math.inf
        low, high = 0.0, max(start, 1e-9)
        while (reached := self._chain.delta(high)) > delta:
            if not high < LARGEST_EPSILON:
                return math.inf
            low, high = high, 2.0 * high
        return self._narrowed(delta, (low, self._chain.delta(low)), (high, reached))

    def _narrowed(self, delta: float, low: tuple[float, float], high: tuple[float, float]) -> float:
        """Return the upper end of a bracket around the epsilon of a delta: false position."""
        weights = [1.0, 1.0]  # Illinois
        ends, side = [low, high], 0
        for _ in range(MOST_STEPS):
            (left, _), (right, at_right) = ends
            if right - left <= CLOSE * right or at_right > delta * (1.0 - CLOSE):
                break
            offs = [w * _excess(d, delta) for w, (_, d) in zip(weights, ends, strict=True)]
            share = offs[0] / (offs[0] - offs[1])
            # A little beyond where the line says, so that the upper end closes in too.
            at = left + (right - left) * share + 0.25 * CLOSE * right
            found = (at, self._chain.delta(at))
            now = 1 if found[1] <= delta else 0
            weights = [1.0, 1.0]
            if now == side:
                weights[1 - now] = 0.5
            ends[now], side = found, now
        return ends[1][0]


class SmallerCurve:
    """What is lower of several curves above the truth, the first of which bounds it below."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self._curves = curves

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        return _smaller([curve.epsilon_brackets(deltas) for curve in self._curves])

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        return _smaller([curve.delta_brackets(epsilons) for curve in self._curves])


def group_size_of(value: Any) -> int:
    """Return a number of records."""
    return uses_of(value, "group_size", 1, LARGEST_GROUP)


def _smaller(brackets: list[Array]) -> Array:
    upper = np.min([bracket[1] for bracket in brackets], axis=0)
    return np.stack([np.minimum(brackets[0][0], upper), upper])


def _excess(reached: float, delta: float) -> float:
    """Return how far one is above the other, on a scale that kinks do not tear apart."""
    if reached == 0.0:
        return -FARTHEST
    return min(max(math.log(reached) - math.log(delta), -FARTHEST), FARTHEST)
