"""Gaussian noise: the plain pair, replacement under Poisson sampling.

Both are written with Q's and P's components of unit variance; distances are in units of sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import probability_of, real_of
from renyi.pld._cells import ROUNDING, Array, Cells
from renyi.pld._distribution import PrivacyLossDistribution
from renyi.pld._quadrature import Densities, integrate_cells
from renyi.pld._sampled import poisson_sampled

__all__ = [
    "REACH",
    "SCALE",
    "STEEPEST",
    "Gaussian",
    "ReplaceOneSampledGaussian",
    "positive_of",
    "reach_of",
    "sampled_gaussian",
]

REACH = 38.6
"""Normal densities are below 2^-1074 beyond this distance from the mean."""

STEEPEST = 600.0
"""Only cells that reach to infinity are wider than this, and nobody asks for their ``low``."""

SCALE = 1.0 / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class Gaussian(PrivacyLossDistribution):
    """(N(mu, 1), N(0, 1)): Gaussian noise of multiplier 1/mu, or a composition of such.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, in (0, 1e6].

    Notes
    -----
    The loss is N(mu^2/2, mu^2). k-fold composition is Gaussian with mu sqrt(k); compositions merge
    all their Gaussian parts by it. The pair is its own reverse.

    Examples
    --------
    >>> Gaussian(0.5)
    Gaussian(mu=0.5)
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive_of(self.mu, "mu"))

    @property
    def symmetric(self) -> bool:
        return True

    def loss_range(self, tail: float) -> tuple[float, float]:
        reach, mean = self.mu * reach_of(tail), 0.5 * self.mu * self.mu
        return mean - reach, mean + reach

    def other_range(self, tail: float) -> tuple[float, float]:
        low, high = self.loss_range(tail)
        return -high, -low

    def cells(self, edges: Array) -> Cells:
        mu = self.mu
        with np.errstate(over="ignore"):
            centred = edges / mu - 0.5 * mu  # distance from the mean of P
        clipped = np.clip(centred, -REACH - mu, REACH)
        losses = np.where(centred == clipped, edges, mu * (clipped + 0.5 * mu))
        reach = np.maximum(np.abs(clipped[:-1]), np.abs(clipped[1:]))

        def integrand(v: Array, lower: Array, upper: Array) -> Densities:
            p = SCALE * np.exp(-0.5 * v * v)
            q = SCALE * np.exp(-0.5 * np.square(v + mu))
            return p, q, p * -np.expm1(-mu * lower), p * np.expm1(np.minimum(mu * upper, STEEPEST))

        found = integrate_cells(edges, clipped, losses, reach + 2.0 * mu, integrand)
        error = found.error + 4.0 * ROUNDING * reach**2
        error_q = found.error + 4.0 * ROUNDING * (reach + mu) ** 2
        slip = 4.0 * ROUNDING * (np.abs(losses) + mu * mu)
        return Cells(found.p, found.q, found.up, found.low, error, error_q, slip)


@dataclass(frozen=True, slots=True)
class ReplaceOneSampledGaussian(PrivacyLossDistribution):
    """((1-q) N(0) + q N(-1), (1-q) N(0) + q N(1)) of deviation sigma: replacing one record.

    Parameters
    ----------
    sample_rate : float
        q in (0, 1].
    sigma : float
        Noise over the sensitivity of one record's contribution.

    Notes
    -----
    The loss at x takes the value e where x = sigma^2 (asinh(-a sinh(e/2)) - e/2),
    a = e^(1/(2 sigma^2)) (1-q)/q. The pair is its own reverse.

    Examples
    --------
    >>> ReplaceOneSampledGaussian(0.01, 1.0).sample_rate
    0.01
    """

    sample_rate: float
    sigma: float

    def __post_init__(self) -> None:
        rate = probability_of(self.sample_rate, "sample_rate")
        if rate == 0.0:
            raise ValueError(f"sample_rate must be a number in (0, 1], got {self.sample_rate!r}")
        object.__setattr__(self, "sample_rate", rate)
        sigma = positive_of(self.sigma, "sigma", 1e300)
        if sigma < 0.1:  # e^(m x) would overflow
            raise ValueError(f"sigma must be a number in [0.1, 1e300], got {self.sigma!r}")
        object.__setattr__(self, "sigma", sigma)

    @property
    def symmetric(self) -> bool:
        return True

    def loss_range(self, tail: float) -> tuple[float, float]:
        reach = reach_of(tail) + 1.0 / self.sigma
        values = self._loss(np.array([reach, -reach]))
        return float(values[0]), float(values[1])

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.loss_range(tail)

    def cells(self, edges: Array) -> Cells:
        q, m = self.sample_rate, 1.0 / self.sigma
        bound = REACH + m
        with np.errstate(over="ignore", invalid="ignore"):
            # x falls with the loss; both terms have one sign, nothing cancels.
            half = 0.5 * edges
            ratio = math.exp(0.5 * m * m) * (1.0 - q) / q
            exact = -self.sigma * (np.arcsinh(ratio * np.sinh(np.clip(half, -700, 700))) + half)
        positions = np.clip(exact, -bound, bound)
        losses = np.where(positions == exact, edges, self._loss(positions))

        def integrand(x: Array, lower: Array, upper: Array) -> Densities:
            # (p(x) Q(y) - p(y) Q(x)) / Q(y) with y = x + shift the edge; positive for shift > 0.
            middle = SCALE * np.exp(-0.5 * x * x)
            right = SCALE * np.exp(-0.5 * np.square(x - m))
            left = SCALE * np.exp(-0.5 * np.square(x + m))

            def moment(shift: Array) -> Array:
                with np.errstate(over="ignore", invalid="ignore"):  # NaN bounds nothing
                    edge = (1.0 - q) + q * np.exp(m * (x + shift) - 0.5 * m * m)
                    body = left * -np.expm1(-m * shift) + right * np.expm1(m * shift)
                    square = 2.0 * q * q * math.exp(-m * m) * middle * np.sinh(m * shift)
                    return np.asarray(((1.0 - q) * q * body + square) / edge)

            p, other = (1.0 - q) * middle + q * left, (1.0 - q) * middle + q * right
            return p, other, moment(-lower), -moment(upper)

        far = np.maximum(np.abs(positions[:-1]), np.abs(positions[1:])) + 4.0 * m
        # 1/edge is constant on a cell, so the integrands are entire as those of a mixture.
        found = integrate_cells(edges, positions, losses, far, integrand)
        error = found.error + 8.0 * ROUNDING * far**2
        slip = 8.0 * ROUNDING * np.abs(losses) * (1.0 + m * m)
        return Cells(found.p, found.q, found.up, found.low, error, error, slip)

    def _loss(self, x: Array) -> Array:
        # log p - log Q = -2 atanh(tanh-like ratio), accurate near 0 and far away.
        q, m = self.sample_rate, 1.0 / self.sigma
        if q == 1.0:
            return -2.0 * m * x
        base = math.log1p(-q)
        tilt = math.log(q) - 0.5 * m * m
        difference = np.logaddexp(base, tilt - m * x) - np.logaddexp(base, tilt + m * x)
        return np.asarray(difference)


def sampled_gaussian(
    sample_rate: float, sigma: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the Poisson-sampled Gaussian in one direction, see ``poisson_sampled``."""
    return poisson_sampled(Gaussian(1.0 / positive_of(sigma, "sigma")), sample_rate, direction)


def reach_of(tail: float) -> float:
    """Return a distance beyond which a normal variable has probability at most ``tail``."""
    return math.sqrt(-2.0 * math.log(min(max(tail, 1e-320), 0.5)))


def positive_of(value: object, name: str, largest: float = 1e6) -> float:
    allowed = f"a number in (0, {largest:g}]"
    number = real_of(value, name, allowed)
    if not 0.0 < number <= largest:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number
