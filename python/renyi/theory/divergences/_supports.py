"""Families whose supports depend on the parameters: Pareto and uniform distributions.

For alpha > 1 the divergence is infinite where p has mass outside q's support; for alpha < 1 the
normalised p^a q^(1-a) lives on the intersection, and the divergence is infinite only if that is
empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, finite_of, positive_of
from renyi.theory.divergences._gamma import gamma_divergence
from renyi.theory.divergences._stable import Array

__all__ = ["ParetoDistribution", "UniformDistribution"]


@dataclass(frozen=True, slots=True)
class ParetoDistribution(Distribution):
    """P(X > x) = (minimum/x)^index, x >= minimum.

    Finite if minimum_p >= minimum_q and alpha c_p + (1-alpha) c_q > 0, c the index; for alpha < 1
    always.

    Parameters
    ----------
    minimum, index : float
        In [1e-100, 1e100].

    Notes
    -----
    log(X/minimum) is exponential of rate ``index``. With equal minima the divergence is that of
    two exponentials; otherwise the mass that one of them has to itself is added.
    """

    minimum: float
    index: float

    def __post_init__(self) -> None:
        for name in ("minimum", "index"):
            object.__setattr__(self, name, positive_of(getattr(self, name), name))

    def _divergence(self, other: ParetoDistribution, alpha: Array) -> Array:
        found = gamma_divergence(alpha, (1.0, 1.0), (other.index, self.index))
        gap = _log_ratio(self.minimum, other.minimum)
        if gap >= 0.0:
            return found + other.index * gap
        return by_order(
            alpha,
            lambda a: np.full(a.size, np.inf),
            # P(X > minimum_q) = e^(c_p gap), to the power a.
            lambda a: found[alpha < 1.0] - self.index * gap * (a / (1.0 - a)),
        )


@dataclass(frozen=True, slots=True)
class UniformDistribution(Distribution):
    """The uniform distribution on [low, high].

    Finite if p's interval lies in q's; for alpha < 1 if they overlap.

    Parameters
    ----------
    low, high : float
        In [-1e100, 1e100], low < high.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, finite_of(getattr(self, name), name))
        if not self.low < self.high:
            raise ValueError(f"high must be a number above low, got {self.high!r}")

    def _divergence(self, other: UniformDistribution, alpha: Array) -> Array:
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high:
            return np.full(alpha.size, np.inf)
        of_p = _log_length(self.low, self.high, low, high)
        of_q = _log_length(other.low, other.high, low, high)
        return by_order(
            alpha,
            lambda a: np.full(a.size, of_q if of_p == 0.0 else np.inf),
            lambda a: of_q + of_p * (a / (1.0 - a)),
        )


def _log_length(low: float, high: float, start: float, end: float) -> float:
    """Return the log of an interval's length over that of a part of it."""
    return math.log1p(((start - low) + (high - end)) / (end - start))


def _log_ratio(x: float, y: float) -> float:
    ratio = (x - y) / y
    return math.log1p(ratio) if abs(ratio) < 0.5 else math.log(x) - math.log(y)
