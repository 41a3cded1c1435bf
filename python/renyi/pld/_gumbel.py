"""Gumbel noise: the one location family whose loss is an exponential variable.

With u = e^(-x/b), exponential of rate 1 around 0 and of rate e^t around the shift, t = shift/b, the
loss is t - (e^t - 1) u. Hence t - L is exponential, of rate r = 1/(e^t - 1) under Q, r + 1 under P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array, Cells
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["Gumbel"]

UNDERFLOW = 746.0
"""Exponents beyond which densities vanish."""

# log(sinh(x/2) / (x/2)) = sum of c_n x^(2n), |c_n| (2 pi)^(2n) <= 2/n; 16 terms for x <= 2.
BERNOULLI = (
    "1/6 -1/30 1/42 -1/30 5/66 -691/2730 7/6 -3617/510 43867/798 -174611/330 854513/138 "
    "-236364091/2730 8553103/6 -23749461029/870 8615841276005/14322 -7709321041217/510"
)
COEFFICIENTS = tuple(
    float(Fraction(number) / (2 * n * math.factorial(2 * n)))
    for n, number in enumerate(BERNOULLI.split(), start=1)
)


@dataclass(frozen=True, slots=True)
class Gumbel(PrivacyLossDistribution):
    """Gumbel noise of a given scale over a query moved by 1: P around 1, Q around 0.

    Parameters
    ----------
    scale : float
        b over the shift, in [0.1, 1e9].

    Notes
    -----
    The loss is at most 1/b; the loss of the other direction, ``Reversed``, has an exponential tail.

    Examples
    --------
    >>> Gumbel(2.0).support
    (-inf, 0.5)
    """

    scale: float

    def __post_init__(self) -> None:
        allowed = "a number in [0.1, 1e9]"
        scale = real_of(self.scale, "scale", allowed)
        if not 0.1 <= scale <= 1e9:
            raise ValueError(f"scale must be {allowed}, got {self.scale!r}")
        object.__setattr__(self, "scale", scale)

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, 1.0 / self.scale

    def loss_range(self, tail: float) -> tuple[float, float]:
        top = 1.0 / self.scale
        return top + math.log(max(tail, 1e-320)) / (1.0 + self._rate), top

    def other_range(self, tail: float) -> tuple[float, float]:
        top = 1.0 / self.scale
        return top + math.log(max(tail, 1e-320)) / self._rate, top

    def cells(self, edges: Array) -> Cells:
        inner, p, q, rise, fall, error = self._integrals(edges)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            up, low = p * -np.expm1(-rise), p * np.expm1(fall)
            above = (edges[1:] > inner[1:]) & (p > 0.0)
            low[above] += (np.expm1(edges[1:] - inner[1:]) * (p + low))[above]
        return Cells(p, q, up, low, error, error, _slip(inner))

    def mirrored(self, edges: Array) -> Cells:
        # Not from ``cells``: P's density vanishes long before Q's.
        inner, p, q, rise, fall, error = self._integrals(-edges[::-1])
        inner, p, q, rise, fall, error = (
            array[::-1] for array in (-inner, q, p, fall, rise, error)
        )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            up, low = p * -np.expm1(-rise), p * np.expm1(fall)
            below = (edges[:-1] < inner[:-1]) & (p > 0.0)
            up[below] -= (np.expm1(edges[:-1] - inner[:-1]) * np.maximum(p - up, 0.0))[below]
        return Cells(p, q, up, low, error, error, _slip(inner))

    def _integrals(self, edges: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return the edges used, the masses, log(P/Q) of cells from either end, the errors."""
        top, r = 1.0 / self.scale, self._rate
        inner = np.minimum(edges, top)
        start, end = inner[:-1], inner[1:]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            width = np.where(start == end, 0.0, end - start)
            p = np.exp(-(1.0 + r) * (top - end)) * -np.expm1(-(1.0 + r) * width)
            q = np.exp(-r * (top - end)) * -np.expm1(-r * width)
            rise, fall = _mean_losses(width, r)
        # Of the exponents: the factors r and top - x have relative errors of a few u and, near the
        # top, an absolute one of u top.
        depth = np.where(p > 0.0, (1.0 + r) * (top - end), r * (top - end))
        error = ROUNDING * (32.0 + 8.0 * np.minimum(depth, UNDERFLOW) + 4.0 * (1.0 + r) * top)
        return inner, p, q, rise, fall, error

    @property
    def _rate(self) -> float:
        return 1.0 / math.expm1(1.0 / self.scale)


def _slip(edges: Array) -> Array:
    return 2.0 * ROUNDING * np.where(np.isfinite(edges), np.abs(edges), 0.0)


def _mean_losses(width: Array, r: float) -> tuple[Array, Array]:
    """Return log(P/Q) of a cell, seen from its lower end and, as a positive number, its upper.

    They add to the width w. With x = (1+r) w, y = r w and l(x) = log(sinh(x/2)/(x/2)) the first is
    w/2 + l(x) - l(y), both terms positive. For x <= 2 the difference is a series with the factor
    x^2 - y^2 = w (x + y); else w > 1 or y > 1 and the second is log1p((1/r - z)/(1 + z)),
    z = (1 - e^-w)/(e^y - 1), where 1/r - z loses less than two bits.
    """
    x, y = (1.0 + r) * width, r * width
    small = x <= 2.0
    x2, y2 = np.square(np.minimum(x, 2.0)), np.square(np.minimum(y, 2.0))
    total, power, symmetric = np.zeros_like(x), np.ones_like(x), np.ones_like(x)
    for coefficient in COEFFICIENTS:
        total += coefficient * symmetric
        power = power * y2
        symmetric = x2 * symmetric + power
    difference = width * (x + y) * total
    z = np.divide(-np.expm1(-width), np.expm1(y), out=np.zeros_like(y), where=y > 0.0)
    fall = np.log1p((1.0 / r - z) / (1.0 + z))
    rise = np.where(small, 0.5 * width + difference, width - fall)
    return rise, np.where(small, 0.5 * width - difference, fall)
