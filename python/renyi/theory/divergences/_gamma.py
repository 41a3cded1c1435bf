"""Gamma distributions, and those whose variable or its square is one: exponential, chi-square, chi.

With g of ``_log_gamma`` and means m = k t,

    KL(Gamma(k_1, t_1) || Gamma(k_2, t_2)) = B_g(k_1, k_2 - k_1) + k_2 d(m_1/m_2 - 1),

d(y) = y - log(1 + y). The normalised p^a q^(1-a) is the gamma distribution of shape
a k_p + (1-a) k_q and rate a/t_p + (1-a)/t_q, for a > 1 if both are positive, and the differences
of means needed are multiples of k_p t_p - k_q t_q.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, positive_of, sure
from renyi.theory.divergences._log_gamma import gamma_excess
from renyi.theory.divergences._stable import Array, log_deficit, weighted

__all__ = [
    "ChiDistribution",
    "ChiSquareDistribution",
    "ExponentialDistribution",
    "GammaDistribution",
    "HalfNormalDistribution",
    "MaxwellDistribution",
    "RayleighDistribution",
    "gamma_divergence",
    "settle",
]


def gamma_divergence(
    alpha: Array,
    shapes: tuple[float, float],
    scales: tuple[float, float],
    difference: float | None = None,
) -> Array:
    """Return the divergence of gamma distributions, scales up to a common factor.

    ``difference`` is that of the scales, p's less q's, where it is known better.
    """
    (kp, kq), (tp, tq) = shapes, scales
    gap = tp - tq if difference is None else difference
    step, moved = kp - kq, (kp - kq) * tp + kq * gap  # k_p t_p - k_q t_q

    def excess(k: Array | float, h: Array | float) -> Array:
        return gamma_excess(np.asarray(k), np.asarray(h)) if step else np.zeros(())

    def above(a: Array) -> Array:
        shape, rate = weighted(a, kp, kq), weighted(a, tq, tp)  # rate: times t_p t_q

        def finite(a: Array) -> Array:
            shape, rate, beta = weighted(a, kp, kq), weighted(a, tq, tp), a - 1.0
            tilted = excess(kp, beta * step) + shape * log_deficit(
                -beta * moved / (tq * shape), kp * rate / (tq * shape)
            )
            plain = excess(kp, -step) + kq * log_deficit(
                np.asarray(moved / (kq * tq)), np.asarray(kp * tp / (kq * tq))
            )
            return plain + np.divide(tilted, beta, out=np.zeros_like(a), where=beta > 0.0)

        return sure((shape > 0.0) & (rate > 0.0), a, finite)

    def below(a: Array) -> Array:
        shape, rate, rest = weighted(a, kp, kq), weighted(a, tq, tp), 1.0 - a
        from_p = excess(shape, rest * step) + kp * log_deficit(
            -rest * moved / (kp * rate), shape * tq / (kp * rate)
        )
        from_q = excess(shape, -a * step) + kq * log_deficit(
            a * moved / (kq * rate), shape * tp / (kq * rate)
        )
        return from_q + from_p * (a / rest)

    return by_order(alpha, above, below)


@dataclass(frozen=True, slots=True)
class GammaDistribution(Distribution):
    """Density x^(shape-1) e^(-x/scale) / (Gamma(shape) scale^shape), x > 0.

    The divergence of order alpha > 1 is finite if alpha k_p + (1-alpha) k_q and
    alpha/t_p + (1-alpha)/t_q are positive.

    Parameters
    ----------
    shape, scale : float
        In [1e-100, 1e100].

    Examples
    --------
    >>> from renyi.theory.divergences import renyi_divergence
    >>> p, q = GammaDistribution(2.0, 1.0), GammaDistribution(3.0, 1.0)
    >>> round(float(renyi_divergence(p, q, 2.0)), 12)  # log 2
    0.69314718056
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        settle(self, "shape", "scale")

    def _divergence(self, other: GammaDistribution, alpha: Array) -> Array:
        return gamma_divergence(alpha, (self.shape, other.shape), (self.scale, other.scale))


@dataclass(frozen=True, slots=True)
class ExponentialDistribution(Distribution):
    """Density rate e^(-rate x), x > 0; finite if alpha rate_p + (1-alpha) rate_q > 0.

    Parameters
    ----------
    rate : float
        In [1e-100, 1e100].
    """

    rate: float

    def __post_init__(self) -> None:
        settle(self, "rate")

    def _divergence(self, other: ExponentialDistribution, alpha: Array) -> Array:
        # Scales are the other's rates, but for a common factor.
        return gamma_divergence(alpha, (1.0, 1.0), (other.rate, self.rate))


@dataclass(frozen=True, slots=True)
class ChiSquareDistribution(Distribution):
    """The chi-square distribution: Gamma(degrees/2, 2).

    Parameters
    ----------
    degrees : float
        Degrees of freedom, in [1e-100, 1e100].
    """

    degrees: float

    def __post_init__(self) -> None:
        settle(self, "degrees")

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return "Gamma", GammaDistribution(0.5 * self.degrees, 2.0)


@dataclass(frozen=True, slots=True)
class ChiDistribution(Distribution):
    """``scale`` times the root of a chi-square variable: X^2 is Gamma(degrees/2, 2 scale^2).

    Parameters
    ----------
    degrees, scale : float
        In [1e-100, 1e100].
    """

    degrees: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        settle(self, "degrees", "scale")

    def _divergence(self, other: ChiDistribution, alpha: Array) -> Array:
        s, t = self.scale / max(self.scale, other.scale), other.scale / max(self.scale, other.scale)
        gap = (self.scale - other.scale) / max(self.scale, other.scale)
        shapes = 0.5 * self.degrees, 0.5 * other.degrees
        return gamma_divergence(alpha, shapes, (s * s, t * t), gap * (s + t))


@dataclass(frozen=True, slots=True)
class _ChiOfScale(Distribution):
    """Chi with as many degrees of freedom as the name of the class says."""

    scale: float
    _degrees: ClassVar[float]

    def __post_init__(self) -> None:
        settle(self, "scale")

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return "Chi", ChiDistribution(self._degrees, self.scale)


@dataclass(frozen=True, slots=True)
class HalfNormalDistribution(_ChiOfScale):
    """|X| of a normal X with standard deviation ``scale``: Chi(1, scale).

    Parameters
    ----------
    scale : float
        In [1e-100, 1e100].
    """

    _degrees: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class RayleighDistribution(_ChiOfScale):
    """Density x/scale^2 e^(-x^2/(2 scale^2)), x > 0: Chi(2, scale).

    Parameters
    ----------
    scale : float
        In [1e-100, 1e100].
    """

    _degrees: ClassVar[float] = 2.0


@dataclass(frozen=True, slots=True)
class MaxwellDistribution(_ChiOfScale):
    """The length of a normal vector in three dimensions: Chi(3, scale).

    Parameters
    ----------
    scale : float
        In [1e-100, 1e100].
    """

    _degrees: ClassVar[float] = 3.0


def settle(target: object, *names: str) -> None:
    """Check the positive fields and write them as floats."""
    for name in names:
        object.__setattr__(target, name, positive_of(getattr(target, name), name))
