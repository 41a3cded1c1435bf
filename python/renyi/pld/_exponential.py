"""Losses whose continuous part has a density proportional to e^(l/2): Laplace noise, bounded range.

Under Q the density is then proportional to e^(-l/2), and every integral over a cell is elementary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array, Atoms, Cells
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["BoundedRange", "Laplace"]


@dataclass(frozen=True, slots=True)
class Laplace(PrivacyLossDistribution):
    """Laplace noise of a given scale over a query of L1 sensitivity 1.

    Parameters
    ----------
    scale : float
        b over the sensitivity, in [2e-3, 1e12]. The loss lies in [-1/b, 1/b].

    Notes
    -----
    The loss has the atoms 1/2 at 1/b and e^(-1/b)/2 at -1/b, and between them the density
    e^((l - 1/b)/2) / 4. The pair is its own reverse.

    Examples
    --------
    >>> Laplace(2.0).loss_range(1e-6)
    (-0.5, 0.5)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _within(self.scale, "scale", 2e-3, 1e12))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def support(self) -> tuple[float, float]:
        return -1.0 / self.scale, 1.0 / self.scale

    def atoms(self) -> Atoms:
        top = 1.0 / self.scale
        masses = np.array([0.5 * math.exp(-top), 0.5])
        errors = np.full(2, ROUNDING * top), np.full(2, ROUNDING * (2.0 + top))
        return Atoms(np.array([-top, top]), masses, masses[::-1], *errors)

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self.support

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.support

    def cells(self, edges: Array) -> Cells:
        return _cells(edges, 1.0 / self.scale, 1.0)


@dataclass(frozen=True, slots=True)
class BoundedRange(PrivacyLossDistribution):
    """The pair that dominates every mechanism whose loss lies in some interval of length epsilon.

    The exponential mechanism is one: its loss between two neighbours takes values in
    [t - epsilon, t], t known to nobody.

    Parameters
    ----------
    epsilon : float
        Length of the interval, in [1e-12, 500].

    Notes
    -----
    Among the losses in [t - epsilon, t] the two-point pair on the ends has the largest profile,
    (E - e^t)(1 - e^(e-t))/(E - 1) with E = e^epsilon (Dong, Durfee, Rogers 2020, arXiv 1909.13830).
    Its maximum over t, at t = (epsilon + e)/2, is delta(e) = (E^(1/2) - e^(e/2))^2 / (E - 1) for
    |e| <= epsilon, the profile of the density E^(1/2) e^(l/2) / (2 (E - 1)) on [-epsilon, epsilon].
    One pair dominates all, so that adaptive compositions are covered. It is its own reverse.

    Examples
    --------
    >>> from renyi.pld import delta_bounds
    >>> lower, upper = delta_bounds([(BoundedRange(1.0), 1)], 0.0)
    >>> round(lower, 9), round(upper, 9)  # tanh(1/4)
    (0.244918662, 0.244918662)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _within(self.epsilon, "epsilon", 1e-12, 500.0))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def support(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self.support

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.support

    def cells(self, edges: Array) -> Cells:
        return _cells(edges, self.epsilon, 2.0 / -math.expm1(-self.epsilon))


def _cells(edges: Array, top: float, factor: float) -> Cells:
    """Integrate the density factor e^((l - top)/2) / 4 on [-top, top]."""
    inner = np.clip(edges, -top, top)
    width = np.diff(inner)
    start, end = inner[:-1], inner[1:]
    growth = np.expm1(0.5 * width)
    p = 0.5 * factor * np.exp(0.5 * (start - top)) * growth
    q = 0.5 * factor * np.exp(-0.5 * (end + top)) * growth
    curve = 2.0 * factor * np.square(np.sinh(0.25 * width))
    up, low = np.exp(0.5 * (start - top)) * curve, np.exp(0.5 * (end - top)) * curve
    with np.errstate(over="ignore", invalid="ignore"):
        below, above = edges[:-1] < start, (edges[1:] > end) & (p > 0.0)
        up[below] -= (np.expm1(edges[:-1] - start) * np.maximum(p - up, 0.0))[below]
        low[above] += (np.expm1(edges[1:] - end) * (p + low))[above]
    error = np.full(width.size, ROUNDING * (12.0 + 2.0 * top))
    return Cells(p, q, up, low, error, error, 2.0 * ROUNDING * np.abs(inner))


def _within(value: object, name: str, low: float, high: float) -> float:
    allowed = f"a number in [{low:g}, {high:g}]"
    number = real_of(value, name, allowed)
    if not low <= number <= high:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number
