"""Inverse Gaussian distributions.

With w = 1/mean and d(y) = y - log(1 + y),

    KL(1 || 2) = d(l_2/l_1 - 1)/2 + l_2 (w_1 - w_2)^2 / (2 w_1).

The normalised p^a q^(1-a) has l* = a l_p + (1-a) l_q > 0 and w*^2 = c/l*,
c = a l_p w_p^2 + (1-a) l_q w_q^2 >= 0; at c = 0 it is a Lévy distribution. Differences of w* are
multiples of w_p - w_q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, positive_of, sure
from renyi.theory.divergences._gamma import gamma_divergence
from renyi.theory.divergences._stable import Array, weighted

__all__ = ["InverseGaussianDistribution"]


@dataclass(frozen=True, slots=True)
class InverseGaussianDistribution(Distribution):
    """Density (l/(2 pi x^3))^(1/2) exp(-l (x - m)^2/(2 m^2 x)), x > 0.

    Finite if alpha l_p + (1-alpha) l_q > 0 and alpha l_p/m_p^2 + (1-alpha) l_q/m_q^2 >= 0.

    Parameters
    ----------
    mean, shape : float
        m and l, in [1e-40, 1e40].
    """

    mean: float
    shape: float

    def __post_init__(self) -> None:
        for name in ("mean", "shape"):
            value = positive_of(getattr(self, name), name)
            if not 1e-40 <= value <= 1e40:
                raise ValueError(f"{name} must be a number in [1e-40, 1e40], got {value!r}")
            object.__setattr__(self, name, value)

    def _divergence(self, other: InverseGaussianDistribution, alpha: Array) -> Array:
        lp, lq = self.shape, other.shape
        wp, wq = 1.0 / self.mean, 1.0 / other.mean
        gap = (other.mean - self.mean) / (self.mean * other.mean)  # w_p - w_q
        # Scales of a gamma distribution of shape 1/2 are the shapes of the others.
        found = gamma_divergence(alpha, (0.5, 0.5), (lq, lp))

        def rates(a: Array) -> tuple[Array, Array]:
            return weighted(a, lp, lq), _edge(weighted(a, lp * wp * wp, lq * wq * wq), a, lp, wp)

        def finite(a: Array) -> Array:
            rate, c = rates(a)
            beta, w = a - 1.0, np.sqrt(c / rate)
            # w* - w_p = beta l_q (w_p^2 - w_q^2) / (l* (w* + w_p)), and its share of l*.
            change = lq * gap * (wp + wq) / (w + wp)
            return 0.5 * lq * gap * gap / wp + 0.5 * beta * change * change / (rate * wp)

        def above(a: Array) -> Array:
            rate, c = rates(a)
            return sure((rate > 0.0) & (c >= 0.0), a, finite)

        def below(a: Array) -> Array:
            rate, c = rates(a)
            w, rest = np.sqrt(c / rate), 1.0 - a
            to_p = rest * lq * gap * (wp + wq) / (rate * (w + wp))
            to_q = a * lp * gap * (wp + wq) / (rate * (w + wq))
            return 0.5 * (lp * np.square(to_p) * (a / rest) + lq * np.square(to_q)) / w

        return found + by_order(alpha, above, below)


def _edge(c: Array, alpha: Array, lp: float, wp: float) -> Array:
    """Return c, and 0 where it is 0 but for the rounding of the squares."""
    return np.where(np.abs(c) <= 2.0**-50 * alpha * lp * wp * wp, 0.0, c)
