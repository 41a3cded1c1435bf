"""Pure guarantees: largest losses that have a closed form, added up exactly and rounded once.

Parameters are doubles, hence rational numbers, and so are the losses of most mechanisms and their
sums. Logarithms are taken to 50 digits, an ulp further up: `decimal` rounds ln and exp correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from renyi.accountants._brackets import Array, Curve
from renyi.mechanisms import (
    Composed,
    DiscreteLaplace,
    Exponential,
    Laplace,
    Mechanism,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    Staircase,
)

__all__ = ["PureCurve", "largest_loss", "rounded_up"]

UP = Context(prec=50, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))
LARGEST_SAMPLED = 10_000  # loss of which a sample is taken; e^loss is a number of so many digits


def largest_loss(
    parts: Iterable[tuple[Mechanism, int]], adjacency: str, remove: bool
) -> Fraction | None:
    """Return the largest loss of a composition in one direction; None: it has no closed form.

    It may be above the exact one by 1e-45 of itself, where logarithms take part.
    """
    total = Fraction(0)
    for mechanism, count in parts:
        loss = _loss_of(mechanism, adjacency, remove)
        if loss is None:
            return None
        total += count * loss
    return total


def _loss_of(mechanism: Mechanism, adjacency: str, remove: bool) -> Fraction | None:
    distance = 2 if adjacency == "replace_one" else 1
    if isinstance(mechanism, Composed):
        return largest_loss(mechanism.parts, adjacency, remove)
    if isinstance(mechanism, PureDP | Exponential | Staircase):
        return _finite(mechanism.epsilon)
    if isinstance(mechanism, Laplace):
        return _quotient(distance, mechanism.noise_multiplier)
    if isinstance(mechanism, DiscreteLaplace):
        return _quotient(distance * mechanism.sensitivity, mechanism.scale)
    if isinstance(mechanism, RandomizedResponse):
        return _of_answers(Fraction(mechanism.p), mechanism.choices)
    if isinstance(mechanism, PoissonSampled) and adjacency != "replace_one":
        return _of_sample(mechanism, adjacency, remove)
    return None


def _finite(value: float) -> Fraction | None:
    return Fraction(value) if math.isfinite(value) else None


def _quotient(distance: int, noise: float) -> Fraction | None:
    if noise == math.inf:
        return Fraction(0)
    return distance / Fraction(noise) if noise else None


def _of_answers(p: Fraction, choices: int) -> Fraction | None:
    """Return the logarithm of the ratio of an answer's chances: p to (1 - p)/(choices - 1)."""
    if choices == 1 or p * choices == 1:
        return Fraction(0)
    if not 0 < p < 1:
        return None
    ratio = p * (choices - 1) / (1 - p)
    return _log_up(max(ratio, 1 / ratio))


def _of_sample(mechanism: PoissonSampled, adjacency: str, remove: bool) -> Fraction | None:
    """Return log(1 + q (e^loss - 1)), or -log(1 + q (e^-loss - 1)) of the other direction.

    The loss of what is sampled is that of the same direction: outcomes are mixed with those
    without the record.
    """
    loss = _loss_of(mechanism.mechanism, adjacency, remove)
    if loss is None or loss > LARGEST_SAMPLED:
        return None
    rate = Fraction(mechanism.sample_rate)
    if rate == 1 or loss == 0:
        return loss
    grown = Fraction(UP.exp(_decimal_up(loss)).next_plus(UP))
    if remove:
        return _log_up(1 + rate * (grown - 1))
    return _log_up(1 / (1 - rate + rate / grown))


def _decimal_up(value: Fraction) -> Decimal:
    return UP.divide(Decimal(value.numerator), Decimal(value.denominator))


def _log_up(value: Fraction) -> Fraction:
    """Return a logarithm rounded up, of a number of at least 1; next to 1 the number less 1."""
    if value - 1 < Fraction(1, 10**40):
        return value - 1
    return Fraction(UP.ln(_decimal_up(value)).next_plus(UP))


def rounded_up(value: Fraction) -> float:
    """Return the least double that is not below."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


class PureCurve:
    """A curve that ends at a largest loss: epsilon is at most that, from there on delta is 0.

    Where ``reached``, losses come as near to the largest as one likes: it is epsilon at delta 0.
    """

    def __init__(self, curve: Curve, loss: Fraction, *, reached: bool) -> None:
        self._curve, self._most = curve, rounded_up(loss)
        self._least = self._most if reached else 0.0
        if self._most == math.inf or Fraction(self._most) != loss:  # logarithms are rounded up
            self._least = math.nextafter(math.nextafter(self._least, 0.0), 0.0)

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = np.minimum(self._curve.epsilon_brackets(deltas), self._most)
        at_zero = deltas == 0.0
        result[0, at_zero] = np.maximum(result[0, at_zero], self._least)
        return result

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = self._curve.delta_brackets(epsilons)
        result[:, epsilons >= self._most] = 0.0
        return result
