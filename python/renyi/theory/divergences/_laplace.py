"""Laplace distributions: no exponential family, but integrals of exponentials.

With d = |m_p - m_q|, A = alpha/b_p, B = (alpha-1)/b_q: the divergence is that of
exponentials of rates 1/b, the case d = 0, plus log(H)/(alpha-1),

    H = (A e^(B d) + B e^(-A d)) / (A + B)
    H - 1 = (A E(B d) + B E(-A d)) / (A + B)                        E(y) = e^y - 1 - y >= 0

a sum of non-negative terms for alpha > 1. For alpha < 1 and C = -B > 0, with the share
a = max(A, C)/(A + C) >= 1/2, c = 2a - 1 and x = (A + C) d,

    1 - H = a (1-a) integral of e^(-t/2) (2/c) sinh(c t/2) over t in [0, x]
    -log H = (1-a) x - log1p((1-a) (1 - e^(-c x))/c)

the first for x < 1, the second beyond, where it loses less than a digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, finite_of, positive_of, sure
from renyi.theory.divergences._gamma import gamma_divergence
from renyi.theory.divergences._stable import Array, exp_excess, weighted

__all__ = ["LaplaceDistribution"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True, slots=True)
class LaplaceDistribution(Distribution):
    """Density e^(-|x - location|/scale) / (2 scale).

    Finite if alpha/b_p > (alpha-1)/b_q; always if the scales are equal.

    Parameters
    ----------
    location : float
        In [-1e100, 1e100].
    scale : float
        In [1e-100, 1e100].
    """

    location: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", finite_of(self.location, "location"))
        object.__setattr__(self, "scale", positive_of(self.scale, "scale"))

    def _divergence(self, other: LaplaceDistribution, alpha: Array) -> Array:
        d, bp, bq = abs(self.location - other.location), self.scale, other.scale
        found = gamma_divergence(alpha, (1.0, 1.0), (bp, bq))
        if d == 0.0:
            return found

        def above(a: Array) -> Array:
            finite = weighted(a, bq, bp) > 0.0
            return sure(finite, a, lambda a: _apart(a / bp, a - 1.0, d, bp, bq))

        def below(a: Array) -> Array:
            A, C = a / bp, (1.0 - a) / bq
            return _minus_log(A, C, d) / (1.0 - a)

        return found + by_order(alpha, above, below)


def _apart(A: Array, beta: Array, d: float, bp: float, bq: float) -> Array:
    """Return log(H)/(alpha - 1) for alpha >= 1."""
    B = beta / bq
    # (H - 1)/(alpha - 1) where that is small, with E(B d)/(alpha - 1) = 0 at alpha = 1.
    first = np.divide(exp_excess(np.minimum(B * d, 1.0)), beta, out=np.zeros_like(A), where=B > 0)
    rise = (A * first + exp_excess(-A * d) / bq) / (A + B)
    safe = np.where(beta > 0.0, beta, 1.0)
    near = np.where(beta > 0.0, np.log1p(rise * beta) / safe, rise)
    far = d / bq + np.log1p(B / (A + B) * np.expm1(-(A + B) * d)) / safe
    return np.where(B * d <= 1.0, near, far)


def _minus_log(A: Array, C: Array, d: float) -> Array:
    """Return -log H for alpha < 1; the divergence is this over 1 - alpha."""
    total = A + C
    a, rest, x = np.maximum(A, C) / total, np.minimum(A, C) / total, total * d
    c = np.abs(A - C) / total
    near = np.minimum(x, 1.0)
    integral = np.zeros_like(x)
    for node, weight in zip(0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS, strict=True):
        t = near * node
        # (2/c) sinh(c t/2) = t (1 + (c t)^2/24 + ...)
        s = np.square(0.5 * c * t)
        ratio = np.ones_like(s)
        for k in range(8, 0, -1):
            ratio = 1.0 + ratio * s / (2.0 * k * (2.0 * k + 1.0))
        integral += weight * near * np.exp(-0.5 * t) * t * ratio
    small = -np.log1p(-a * rest * integral)
    fade = np.divide(-np.expm1(-c * x), c, out=x.copy(), where=c > 0.0)
    large = rest * x - np.log1p(rest * fade)
    return np.where(x < 1.0, small, large)
