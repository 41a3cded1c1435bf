"""The Rényi curve of each mechanism under an adjacency, or the reason why there is none.

Of mechanisms on all of the data; `_sampled_curves` adds samples.
"""

from __future__ import annotations

import math
from functools import lru_cache, singledispatch

import numpy as np

from renyi._accounting import RenyiCurve
from renyi._adjacency import Adjacency
from renyi.accountants._compiled_pairs import compiled_pair, is_mirrored
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    ZCDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    PureDP,
    RandomizedResponse,
    RDPCurve,
    Skellam,
)

__all__ = [
    "LARGEST_LOSS",
    "SMALLEST_SHIFT",
    "curve_of_pairs",
    "distance",
    "single_curve",
]

LARGEST_LOSS = 500.0  # of a pair that is followed loss by loss; above, only the bound is
SMALLEST_SHIFT = 1e-12  # smaller ones, relative to the noise, are accounted as this one
MOST_ATOMS = 2**16
WHOLE = np.unique(np.rint(np.geomspace(2.0, 1e6, 400)))  # orders
LARGEST = 1e290  # of a divergence over its order; above, it is accounted as infinite


@singledispatch
def single_curve(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve:
    """Return K(alpha) = (alpha-1) times the Rényi divergence of order alpha.

    Raises
    ------
    UnsupportedMechanismError
        If none is known that is valid.
    """
    return curve_of_pairs(mechanism, adjacency)


@lru_cache(maxsize=256)
def curve_of_pairs(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve:
    """Return the curve of the pairs that dominate a mechanism in each direction.

    Raises
    ------
    UnsupportedMechanismError
        If no pair is known, or nothing of a pair but its spans, and these have no end.
    """
    sides = (True,) if is_mirrored(mechanism, adjacency) else (True, False)
    curves = [RenyiCurve.of_pair(compiled_pair(mechanism, adjacency, side)) for side in sides]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(curves):
        raise UnsupportedMechanismError(
            mechanism,
            "its losses have no bound, and no form of its Rényi divergences is known; "
            "PLDAccountant takes it",
        )
    return known[0] if len(known) == 1 else known[0].larger(known[1])


def distance(adjacency: Adjacency) -> int:
    """Return how far a record moves the query, in units of its presence."""
    return 2 if adjacency == "replace_one" else 1


def _gaussian(noise: float, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(noise):
        return RenyiCurve.linear(0.0)
    shift = distance(adjacency) / noise if noise > 0.0 else math.inf
    return _linear(0.5 * shift * shift * (1.0 + 2.0**-50))


def _linear(rho: float, xi: float = 0.0) -> RenyiCurve:
    return RenyiCurve.linear(rho, xi) if max(rho, xi) <= LARGEST else RenyiCurve.unbounded()


def _bounded(loss: float) -> RenyiCurve:
    """Return the curve of pure differential privacy."""
    if loss <= LARGEST_LOSS:
        return RenyiCurve.pure_dp(max(loss, SMALLEST_SHIFT) if loss else 0.0)
    return _linear(0.0, loss * (1.0 + 2.0**-50))


@single_curve.register
def _gaussian_curve(mechanism: Gaussian, adjacency: Adjacency) -> RenyiCurve:
    return _gaussian(mechanism.noise_multiplier, adjacency)


@single_curve.register
def _discrete_gaussian_curve(mechanism: DiscreteGaussian, adjacency: Adjacency) -> RenyiCurve:
    # Canonne, Kamath, Steinke 2020, Proposition 5: no more than continuous noise.
    return _gaussian(mechanism.sigma / mechanism.sensitivity, adjacency)


@single_curve.register
def _multivariate_discrete_gaussian_curve(
    mechanism: MultivariateDiscreteGaussian, adjacency: Adjacency
) -> RenyiCurve:
    # Each entry by the same Proposition; the squares of its shifts add up.
    return _gaussian(mechanism.noise_multiplier, adjacency)


@single_curve.register
def _laplace_curve(mechanism: Laplace, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(mechanism.noise_multiplier):
        return RenyiCurve.linear(0.0)
    loss = distance(adjacency) / mechanism.noise_multiplier
    if loss > LARGEST_LOSS:
        return _bounded(loss)
    return RenyiCurve.laplace(1.0 / max(loss, SMALLEST_SHIFT) * (1.0 - 2.0**-51))


@single_curve.register
def _discrete_laplace_curve(mechanism: DiscreteLaplace, adjacency: Adjacency) -> RenyiCurve:
    shift = mechanism.sensitivity * distance(adjacency)
    loss = shift / mechanism.scale
    if shift > MOST_ATOMS or loss > LARGEST_LOSS:
        return _bounded(loss)
    return RenyiCurve.discrete_laplace(min(mechanism.scale, shift / SMALLEST_SHIFT), shift)


@single_curve.register
def _gumbel_curve(mechanism: Gumbel, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(mechanism.noise_multiplier):
        return RenyiCurve.linear(0.0)
    return RenyiCurve.gumbel(max(distance(adjacency) / mechanism.noise_multiplier, SMALLEST_SHIFT))


@single_curve.register
def _skellam_curve(mechanism: Skellam, adjacency: Adjacency) -> RenyiCurve:
    # Agarwal, Kairouz, Liu 2021, arXiv 2110.04995, Theorem 3.5, of whole orders and with both
    # sensitivities equal; between them K lies below its chords.
    shift = float(mechanism.sensitivity * distance(adjacency))
    ratio = shift / mechanism.variance
    rest = np.minimum(0.25 * ((2.0 * WHOLE - 1.0) * ratio + 6.0 / mechanism.variance), 1.5) * ratio
    moments = (WHOLE - 1.0) * (0.5 * WHOLE * shift * ratio + rest) * (1.0 + 2.0**-48)
    if not moments[-1] < LARGEST:
        return RenyiCurve.unbounded()
    return RenyiCurve.polygon(WHOLE.tolist(), moments.tolist())


@single_curve.register
def _randomized_response_curve(mechanism: RandomizedResponse, adjacency: Adjacency) -> RenyiCurve:
    p, choices = mechanism.p, mechanism.choices
    if p in (0.0, 1.0) or choices == 1 or p * choices == 1.0:
        return curve_of_pairs(mechanism, adjacency)  # all or nothing is revealed
    return RenyiCurve.randomized_response(p, choices)


@single_curve.register
def _exponential_curve(mechanism: Exponential, adjacency: Adjacency) -> RenyiCurve:
    if mechanism.epsilon > LARGEST_LOSS:
        return _bounded(mechanism.epsilon)
    return RenyiCurve.bounded_range(max(mechanism.epsilon, SMALLEST_SHIFT))


@single_curve.register
def _pure_dp_curve(mechanism: PureDP, adjacency: Adjacency) -> RenyiCurve:
    return _bounded(mechanism.epsilon)


@single_curve.register
def _zcdp_curve(mechanism: ZCDP, adjacency: Adjacency) -> RenyiCurve:
    return _linear(mechanism.rho, mechanism.xi)


@single_curve.register
def _table_curve(mechanism: RDPCurve, adjacency: Adjacency) -> RenyiCurve:
    # Divergences rise with the order, so that a bound holds for all smaller orders too.
    rdp = np.minimum.accumulate(np.asarray(mechanism.rdp)[::-1])[::-1]
    orders = np.asarray(mechanism.orders)
    with np.errstate(over="ignore"):
        moments = (orders - 1.0) * rdp * (1.0 + 2.0**-50)
    finite = np.isfinite(moments)
    if not finite.any():
        return RenyiCurve.unbounded()
    return RenyiCurve.polygon(orders[finite].tolist(), moments[finite].tolist())
