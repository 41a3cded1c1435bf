"""Weibull and Gumbel distributions: a power and a logarithm of an exponential variable.

The divergence is that of two exponentials, given by the log of the ratio of their scales.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, finite_of
from renyi.theory.divergences._gamma import gamma_divergence, settle
from renyi.theory.divergences._stable import Array

__all__ = ["GumbelDistribution", "WeibullDistribution"]

_FAR = 700.0  # e^_FAR does not overflow


@dataclass(frozen=True, slots=True)
class WeibullDistribution(Distribution):
    """P(X > x) = e^(-(x/scale)^shape): X^shape is exponential. Both of one shape.

    Parameters
    ----------
    shape, scale : float
        In [1e-100, 1e100].
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        settle(self, "shape", "scale")

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return ("Weibull", self.shape), self

    def _divergence(self, other: WeibullDistribution, alpha: Array) -> Array:
        ratio = (self.scale - other.scale) / other.scale
        log = math.log(self.scale / other.scale) if abs(ratio) > 0.5 else math.log1p(ratio)
        return _of_log_ratio(self.shape * log, alpha)


@dataclass(frozen=True, slots=True)
class GumbelDistribution(Distribution):
    """P(X <= x) = exp(-e^(-(x - location)/scale)). Both of one scale.

    e^(-X/scale) is exponential of rate e^(location/scale).

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
        settle(self, "scale")

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return ("Gumbel", self.scale), self

    def _divergence(self, other: GumbelDistribution, alpha: Array) -> Array:
        return _of_log_ratio((other.location - self.location) / self.scale, alpha)


def _of_log_ratio(log_ratio: float, alpha: Array) -> Array:
    """Return the divergence of exponentials whose scales have p's over q's ratio e^log_ratio."""
    if abs(log_ratio) > _FAR:
        return _of_far_ratio(log_ratio, alpha)
    if log_ratio > 0.0:
        inverse = math.exp(-log_ratio)
        return gamma_divergence(alpha, (1.0, 1.0), (1.0, inverse), -math.expm1(-log_ratio))
    return gamma_divergence(alpha, (1.0, 1.0), (math.exp(log_ratio), 1.0), math.expm1(log_ratio))


def _of_far_ratio(log_ratio: float, alpha: Array) -> Array:
    """Return the same where e^-|log_ratio| is nothing beside 1."""
    if log_ratio > 0.0:
        return by_order(
            alpha,
            lambda a: np.where(a == 1.0, np.exp(log_ratio) - 1.0 - log_ratio, np.inf),
            lambda a: a / (1.0 - a) * log_ratio + np.log1p(-a) / (1.0 - a),
        )
    return by_order(
        alpha,
        lambda a: np.where(
            a == 1.0, -log_ratio - 1.0, -log_ratio - np.log(a) / (a - 1.0 + (a == 1))
        ),
        lambda a: -log_ratio + np.log(a) / (1.0 - a),
    )
