"""The Rényi curve of each mechanism under an adjacency, or the reason why there is none."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from renyi._accounting import RenyiCurve
from renyi.accountants._base import Adjacency
from renyi.accountants._steps import SMALLEST, SampledStep, collapsed, settled
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    ZCDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedSizeSampled,
    Gaussian,
    Gumbel,
    Laplace,
    Mechanism,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
    TreeAggregation,
)

__all__ = ["curve_of", "fixed_size_curve", "is_symmetric"]

LARGEST_LOSS = 500.0  # of a pair that is followed loss by loss; above, only the bound is
SMALLEST_SHIFT = 1e-12  # smaller ones, relative to the noise, are accounted as this one
MOST_ATOMS = 2**16
LARGEST = 1e290  # of a divergence over its order
UNPROTECTED = "its Rényi divergences are beyond every number"

# Each has a dominating pair of distributions that an involution swaps. Then the two directions of
# a Poisson sample compare as in Mironov, Talwar, Zhang 2019, Theorem 5, and the expansion of Zhu
# and Wang is the divergence itself, without their factor 3. Compositions keep the property.
SYMMETRIC = (
    Gaussian,
    Laplace,
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
    Exponential,
    PureDP,
    TreeAggregation,
)


@singledispatch
def curve_of(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve:
    """Return K(alpha) = (alpha-1) times the Rényi divergence of order alpha.

    Raises
    ------
    UnsupportedMechanismError
        If none is known that is valid.
    """
    raise UnsupportedMechanismError(
        mechanism, "no Rényi divergence of it is known; PLDAccountant may take it"
    )


def _distance(adjacency: Adjacency) -> int:
    """Return how far a record moves the query, in units of its presence."""
    return 2 if adjacency == "replace_one" else 1


def _gaussian(mechanism: Mechanism, noise: float, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(noise):
        return RenyiCurve.linear(0.0)
    shift = _distance(adjacency) / noise if noise > 0.0 else math.inf
    return _linear(mechanism, 0.5 * shift * shift * (1.0 + 2.0**-50))


def _linear(mechanism: Mechanism, rho: float, xi: float = 0.0) -> RenyiCurve:
    if not (rho <= LARGEST and xi <= LARGEST):
        raise UnsupportedMechanismError(mechanism, UNPROTECTED)
    return RenyiCurve.linear(rho, xi)


def _bounded(mechanism: Mechanism, loss: float) -> RenyiCurve:
    """Return the curve of pure differential privacy."""
    if loss <= LARGEST_LOSS:
        return RenyiCurve.pure_dp(max(loss, SMALLEST_SHIFT) if loss else 0.0)
    return _linear(mechanism, 0.0, loss * (1.0 + 2.0**-50))


@curve_of.register
def _(mechanism: Gaussian, adjacency: Adjacency) -> RenyiCurve:
    return _gaussian(mechanism, mechanism.noise_multiplier, adjacency)


@curve_of.register
def _(mechanism: TreeAggregation, adjacency: Adjacency) -> RenyiCurve:
    return _gaussian(mechanism, mechanism.effective_noise_multiplier, adjacency)


@curve_of.register
def _(mechanism: DiscreteGaussian, adjacency: Adjacency) -> RenyiCurve:
    # Canonne, Kamath, Steinke 2020, Proposition 5: no more than continuous noise.
    return _gaussian(mechanism, mechanism.sigma / mechanism.sensitivity, adjacency)


@curve_of.register
def _(mechanism: Laplace, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(mechanism.noise_multiplier):
        return RenyiCurve.linear(0.0)
    loss = _distance(adjacency) / mechanism.noise_multiplier
    if loss > LARGEST_LOSS:
        return _bounded(mechanism, loss)
    return RenyiCurve.laplace(1.0 / max(loss, SMALLEST_SHIFT) * (1.0 - 2.0**-51))


@curve_of.register
def _(mechanism: DiscreteLaplace, adjacency: Adjacency) -> RenyiCurve:
    shift = mechanism.sensitivity * _distance(adjacency)
    loss = shift / mechanism.scale
    if shift > MOST_ATOMS or loss > LARGEST_LOSS:
        return _bounded(mechanism, loss)
    return RenyiCurve.discrete_laplace(min(mechanism.scale, shift / SMALLEST_SHIFT), shift)


@curve_of.register
def _(mechanism: Gumbel, adjacency: Adjacency) -> RenyiCurve:
    if math.isinf(mechanism.noise_multiplier):
        return RenyiCurve.linear(0.0)
    return RenyiCurve.gumbel(max(_distance(adjacency) / mechanism.noise_multiplier, SMALLEST_SHIFT))


@curve_of.register
def _(mechanism: RandomizedResponse, adjacency: Adjacency) -> RenyiCurve:
    return RenyiCurve.randomized_response(mechanism.p, mechanism.choices)


@curve_of.register
def _(mechanism: Exponential, adjacency: Adjacency) -> RenyiCurve:
    if mechanism.epsilon > LARGEST_LOSS:
        return _bounded(mechanism, mechanism.epsilon)
    return RenyiCurve.bounded_range(max(mechanism.epsilon, SMALLEST_SHIFT))


@curve_of.register
def _(mechanism: PureDP, adjacency: Adjacency) -> RenyiCurve:
    return _bounded(mechanism, mechanism.epsilon)


@curve_of.register
def _(mechanism: ZCDP, adjacency: Adjacency) -> RenyiCurve:
    return _linear(mechanism, mechanism.rho, mechanism.xi)


@curve_of.register
def _(mechanism: RDPCurve, adjacency: Adjacency) -> RenyiCurve:
    # Divergences rise with the order, so that a bound holds for all smaller orders too.
    rdp = np.minimum.accumulate(np.asarray(mechanism.rdp)[::-1])[::-1]
    orders = np.asarray(mechanism.orders)
    with np.errstate(over="ignore"):
        moments = (orders - 1.0) * rdp * (1.0 + 2.0**-50)
    finite = np.isfinite(moments)
    if not finite.any():
        raise UnsupportedMechanismError(mechanism, UNPROTECTED)
    return RenyiCurve.polygon(orders[finite].tolist(), moments[finite].tolist())


@curve_of.register
def _(mechanism: Composed, adjacency: Adjacency) -> RenyiCurve:
    return RenyiCurve.composed(
        [(curve_of(part, adjacency), float(count)) for part, count in mechanism.parts]
    )


@curve_of.register
def _(mechanism: ShuffledBatches, adjacency: Adjacency) -> RenyiCurve:
    return curve_of(mechanism.mechanism, adjacency)


@curve_of.register
def _(mechanism: RepeatAndSelect, adjacency: Adjacency) -> RenyiCurve:
    base = curve_of(mechanism.mechanism, adjacency)
    return base.repeat_and_select(mechanism.mean, mechanism.shape)


@curve_of.register
def _(mechanism: RandomAllocation, adjacency: Adjacency) -> RenyiCurve:
    return RenyiCurve.random_allocation(mechanism.mechanism.noise_multiplier, mechanism.steps)


@curve_of.register
def _(mechanism: PoissonSampled, adjacency: Adjacency) -> RenyiCurve:
    base, rate = collapsed(mechanism)
    if adjacency == "replace_one" and 0.0 < rate < 1.0:
        raise UnsupportedMechanismError(
            mechanism,
            "no Rényi divergence of Poisson samples is known to it where one record is replaced; "
            "PLDAccountant takes some",
        )
    return _sampled(base, rate, adjacency)


def _sampled(base: Mechanism, rate: float, adjacency: Adjacency) -> RenyiCurve:
    """Return the curve of ((1-q) Q + q P, Q) and its reverse, (P, Q) the pairs of a mechanism."""
    if rate == 0.0:
        return RenyiCurve.linear(0.0)
    rate = max(rate, SMALLEST)
    curve = _pair_of(base) or curve_of(base, adjacency)
    if rate == 1.0:
        return curve_of(base, adjacency)
    if isinstance(base, Gaussian) and base.noise_multiplier < math.inf:
        step = settled(SampledStep(rate, base.noise_multiplier / _distance(adjacency)))
        if step is None or step.noise == 0.0:
            raise UnsupportedMechanismError(base, UNPROTECTED)
        return RenyiCurve.sampled_gaussian(step.rate, step.noise)
    if is_symmetric(base):
        return curve.sampled(rate) or curve.poisson_bound(rate, "tight")
    return curve.poisson_bound(rate, "general").smaller(curve.mixture_bound(rate))


def _pair_of(mechanism: Mechanism) -> RenyiCurve | None:
    """Return the dominating pair where the curve of a single use is sharper than that."""
    if isinstance(mechanism, Exponential) and mechanism.epsilon <= LARGEST_LOSS:
        return RenyiCurve.exponential(max(mechanism.epsilon, SMALLEST_SHIFT))
    return None


def is_symmetric(mechanism: Mechanism) -> bool:
    """Return whether a dominating pair is known that an involution swaps."""
    if isinstance(mechanism, Composed):
        return all(is_symmetric(part) for part, _ in mechanism.parts)
    return isinstance(mechanism, SYMMETRIC)


@curve_of.register
def _(mechanism: FixedSizeSampled, adjacency: Adjacency) -> RenyiCurve:
    if mechanism.replacement:
        raise UnsupportedMechanismError(
            mechanism,
            "no Rényi divergence of samples with replacement is known; PLDAccountant takes some",
        )
    innermost = mechanism
    while isinstance(innermost.mechanism, FixedSizeSampled) and not innermost.replacement:
        innermost = innermost.mechanism  # a sample of a sample
    if innermost.replacement:
        return curve_of(innermost, adjacency)  # raises
    rate = innermost.sample_size / mechanism.population
    return fixed_size_curve(innermost.mechanism, math.nextafter(rate, 1.0) if rate < 1.0 else 1.0)


def fixed_size_curve(base: Mechanism, rate: float) -> RenyiCurve:
    """Return the curve of a sample without replacement, see `renyi.subsampling`."""
    if rate in (0.0, 1.0):
        return _sampled(base, rate, "replace_one")
    alone = curve_of(base, "replace_one")
    if not is_symmetric(base):
        return alone.fixed_size_bound(rate, False).smaller(alone.mixture_bound(rate))
    # Both directions of a Poisson sample together: twice the excess of the larger one.
    both = _sampled(base, rate, "replace_one").mixture_bound(2.0)
    return both.smaller(alone.mixture_bound(rate))
