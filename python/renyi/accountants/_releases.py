"""From mechanisms that are one release to the pair of distributions that dominates them.

Replacing a record moves a query twice as far as removing it or setting it to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

from renyi import pld
from renyi.accountants._pairs import (
    Pair,
    approximate_pair,
    bounded_range_pair,
    gaussian_pair,
    gumbel_pair,
    laplace_pair,
)
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    PrivacyLoss,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    TreeAggregation,
)

__all__ = ["pair_of", "within_engine"]

NOTHING, REVEALED = pld.NOTHING, pld.REVEALED

NO_LARGEST_SHIFT = (
    "of the integer vectors that a record may add none is known to dominate the others; "
    "RDPAccountant takes it, on Poisson samples for adding, removing or zeroing out a record"
)
BY_RENYI_ONLY = "it is known by its Rényi divergences only, RDPAccountant takes it"


@singledispatch
def pair_of(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    """Return a pair that dominates one use of a mechanism in one direction.

    What is done with mechanisms, composition and sampling, `_losses` adds.

    Raises
    ------
    UnsupportedMechanismError
        If none is known.
    """
    raise UnsupportedMechanismError(mechanism, "its privacy loss is not known")


@pair_of.register
def _(mechanism: Gaussian, adjacency: str, remove: bool) -> Pair:
    return _gaussian(mechanism.noise_multiplier, adjacency)


@pair_of.register
def _(mechanism: TreeAggregation, adjacency: str, remove: bool) -> Pair:
    return _gaussian(mechanism.effective_noise_multiplier, adjacency)


@pair_of.register
def _(mechanism: Laplace, adjacency: str, remove: bool) -> Pair:
    return laplace_pair(mechanism.noise_multiplier / _moved(adjacency))


@pair_of.register
def _(mechanism: Gumbel, adjacency: str, remove: bool) -> Pair:
    return gumbel_pair(mechanism.noise_multiplier / _moved(adjacency))


@pair_of.register
def _(mechanism: DiscreteGaussian, adjacency: str, remove: bool) -> Pair:
    shift = int(_moved(adjacency)) * mechanism.sensitivity
    if shift > 1000.0 * mechanism.sigma:
        return pld.Bracketed(REVEALED, NOTHING)
    return within_engine(lambda: pld.DiscreteGaussian(mechanism.sigma, shift), mechanism)


@pair_of.register
def _(mechanism: MultivariateDiscreteGaussian, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, NO_LARGEST_SHIFT)


@pair_of.register
def _(mechanism: DiscreteLaplace, adjacency: str, remove: bool) -> Pair:
    shift = int(_moved(adjacency)) * mechanism.sensitivity
    if shift > 500.0 * mechanism.scale:
        return pld.Bracketed(REVEALED, NOTHING)
    return within_engine(lambda: pld.DiscreteLaplace(mechanism.scale, shift), mechanism)


@pair_of.register
def _(mechanism: RandomizedResponse, adjacency: str, remove: bool) -> Pair:
    return pld.RandomizedResponse(mechanism.p, mechanism.choices)


@pair_of.register
def _(mechanism: Exponential, adjacency: str, remove: bool) -> Pair:
    return bounded_range_pair(mechanism.epsilon)


@pair_of.register
def _(mechanism: PureDP, adjacency: str, remove: bool) -> Pair:
    return approximate_pair(mechanism.epsilon, 0.0)


@pair_of.register
def _(mechanism: ApproxDP, adjacency: str, remove: bool) -> Pair:
    return approximate_pair(mechanism.epsilon, mechanism.delta)


@pair_of.register
def _(mechanism: PrivacyLoss, adjacency: str, remove: bool) -> Pair:
    return mechanism.loss(remove)


@pair_of.register
def _(mechanism: GaussianMixture, adjacency: str, remove: bool) -> Pair:
    if adjacency == "replace_one":
        raise UnsupportedMechanismError(
            mechanism, "the pair of two records of random sensitivity each is not known"
        )
    noise, given = mechanism.noise_multiplier, mechanism.probabilities
    kept = [(w, m) for w, m in zip(given, mechanism.sensitivities, strict=True) if w > 0.0]
    weights, means = zip(*kept, strict=True)
    if noise == math.inf or not any(means):
        return NOTHING
    pair = within_engine(lambda: pld.GaussianMixture(weights, means, noise), mechanism)
    return pair if remove else pld.Reversed(pair)


@pair_of.register(ZCDP)
@pair_of.register(RDPCurve)
@pair_of.register(RepeatAndSelect)
@pair_of.register(RandomAllocation)
def _(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, BY_RENYI_ONLY)


def _moved(adjacency: str) -> float:
    """Return how far neighbours move a query, in units of one record's presence."""
    return 2.0 if adjacency == "replace_one" else 1.0


def _gaussian(noise: float, adjacency: str) -> Pair:
    return gaussian_pair(_moved(adjacency) / noise if noise else math.inf)


def within_engine(build: Callable[[], Pair], mechanism: Mechanism) -> Pair:
    """Return the pair built, or raise `UnsupportedMechanismError` where the engine refuses it."""
    try:
        return build()
    except ValueError as error:
        raise UnsupportedMechanismError(mechanism, str(error)) from error
