"""The tilted law of a composition, and delta from it.

Tilting multiplies the mass at node i by e^(theta i - c), which makes its sum about 1 and moves the
mean of the composition to the losses that decide delta(epsilon): rounding errors are then relative
to them, and delta may be as small as a double can hold. theta and c are short dyadic fractions, so
that theta i, c count and their differences are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from renyi.pld._cells import ROUNDING, Array

__all__ = [
    "ComposedLoss",
    "NodeMasses",
    "TailSums",
    "Tilt",
    "Window",
    "largest_weight",
    "weights_sum",
]


@dataclass(frozen=True, slots=True)
class Tilt:
    """theta = numerator / 2^bits per node; slope is theta over the step."""

    numerator: int
    bits: int

    @property
    def theta(self) -> float:
        """Exponent per node."""
        return math.ldexp(float(self.numerator), -self.bits)


@dataclass(frozen=True, slots=True)
class Window:
    """Nodes first ... first + size - 1 of the composition; size is a power of two."""

    first: int
    size: int


@dataclass(frozen=True, slots=True)
class ComposedLoss:
    """The composition of one side's lattice losses, tilted, on a window.

    delta(epsilon) = infinite + scale * sum of weights(n) masses(n), see ``delta``.

    Attributes
    ----------
    law : TailSums
        The tilted masses n: sums of them beyond a node.
    log_scale : Fraction
        Undoes the tilt: the true mass of node n is masses(n) e^(log_scale - theta n).
    outside : float
        Bound on the tilted mass outside the window.
    relative_error : float
        Of the masses put in, beyond their own outward rounding.
    left_out : (float, float), optional
        log c and s: what outcomes all in the bulk give to delta is at most c e^(-s epsilon).
    """

    step: float
    offset: Fraction
    tilt: Tilt
    window: Window
    law: TailSums
    log_scale: Fraction
    outside: float
    relative_error: float
    infinite: float
    drift: float
    left_out: tuple[float, float] | None
    upper: bool

    def delta(self, epsilon: float) -> float:
        """Bound delta(epsilon) on this side.

        The sum over nodes above epsilon of (1 - e^-x) e^(-theta j) masses, x the distance to
        epsilon, is of non-negative terms. The bound adds, or subtracts, the errors of the masses
        times the sum of the weights, at most 1/(h t (t+1)) + max, and the mass that the window
        does not hold or holds twice times the largest weight.
        """
        if epsilon == math.inf:
            return self.infinite
        epsilon += -self.drift if self.upper else self.drift
        if epsilon == -math.inf:
            return 1.0 if self.upper else self.infinite
        h, theta = self.step, self.tilt.theta
        step = Fraction(h)
        target = (Fraction(epsilon) - self.offset) / step
        start = max(math.floor(target) + 1, self.window.first)
        distance = float((start - target) * step)
        index = start - self.window.first
        total = error = 0.0
        if index < self.window.size:
            length = self.window.size - index
            total, error = self.law.sum_from(start, length, distance, h, theta)
        peak = largest_weight(theta / h)
        # Weights are relative to the first node above epsilon; the bounds to epsilon itself.
        from_start = self._scale(start)
        spread = theta / h * distance
        from_epsilon = from_start * math.exp(spread) * (1.0 + 1e-12) if spread < 700.0 else math.inf
        lost = from_epsilon * self.outside * peak if self.outside else 0.0
        lost += from_start * error if error else 0.0
        room = self.relative_error + (64.0 + math.log2(self.window.size)) * ROUNDING
        if self.upper:
            value = from_start * total * (1.0 + room) + lost * (1.0 + room)
            if self.left_out is not None:
                exponent = self.left_out[0] - self.left_out[1] * epsilon
                value += math.exp(min(exponent, 1.0)) * (1.0 + 1e-12)
            bound = (self.infinite + value) * (1.0 + 4.0 * ROUNDING)
            return min(bound, 1.0) if bound == bound else 1.0
        value = from_start * total * (1.0 - room) - lost * (1.0 + room)
        kept = value if value > 0.0 else 0.0  # NaN, out of reach of this tilt, says nothing
        return min((self.infinite + kept) * (1.0 - 4.0 * ROUNDING), 1.0)

    def _scale(self, node: int) -> float:
        exponent = self.log_scale - Fraction(self.tilt.numerator, 2**self.tilt.bits) * node
        try:
            value = math.exp(float(exponent))
        except OverflowError:
            return math.inf
        room = ROUNDING * (abs(float(exponent)) + 4.0)
        return value * (1.0 + room) if self.upper else value * (1.0 - room)


class TailSums(Protocol):
    """The tilted masses at the nodes of a window."""

    def sum_from(
        self, start: int, length: int, distance: float, step: float, theta: float
    ) -> tuple[float, float]:
        """Return a weighted sum of masses and a bound on its error beyond rounding.

        The mass at node start + k, k < length, has the weight
        (1 - e^-(distance + step k)) e^(-theta k).
        """


@dataclass(frozen=True, slots=True)
class NodeMasses:
    """Tilted masses from node ``first`` on, with error at most ``point_error`` each."""

    first: int
    masses: Array
    point_error: float

    def sum_from(
        self, start: int, length: int, distance: float, step: float, theta: float
    ) -> tuple[float, float]:
        k = np.arange(length, dtype=np.float64)
        with np.errstate(under="ignore"):
            weights = -np.expm1(-(distance + step * k)) * np.exp(-theta * k)
        index = start - self.first
        total = float(np.dot(weights, np.maximum(self.masses[index : index + length], 0.0)))
        return total, self.point_error * weights_sum(theta, step, distance)


def weights_sum(theta: float, step: float, distance: float) -> float:
    """Bound the sum of the weights (1 - e^-x) e^(-theta k) at x = distance + step k > 0.

    As (1 - e^-x) e^(-t x), t = theta/step, times e^(t distance): at most its integral 1/(t (t+1))
    over the step, plus its maximum.
    """
    slope = theta / step
    if slope * distance > 700.0:
        return math.inf
    return (
        math.exp(slope * distance)
        * (1.0 / (theta * (slope + 1.0)) + largest_weight(slope))
        * (1.0 + 1e-12)
    )


def largest_weight(slope: float) -> float:
    """Return the largest value of (1 - e^-x) e^(-slope x) over x > 0."""
    if slope == 0.0:
        return 1.0
    return math.exp(-slope * math.log1p(1.0 / slope)) / (1.0 + slope)
