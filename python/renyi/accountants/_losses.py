"""From mechanisms to the privacy losses that the general engine composes.

Replacing a record moves a query twice as far as removing it or setting it to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, singledispatch

from renyi import pld
from renyi.accountants._pairs import (
    Pair,
    approximate_pair,
    bounded_range_pair,
    gaussian_pair,
    gumbel_pair,
    laplace_pair,
    replace_one_loss_of,
    step_loss,
)
from renyi.accountants._steps import collapsed
from renyi.accountants._support import UnsupportedMechanismError, check_adjacency
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    Mechanism,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
    TreeAggregation,
    TruncatedPoissonSampled,
)

__all__ = ["leaves", "loss_of", "replace_one_loss_of", "step_loss"]

REPLACE = "replace_one"
PRODUCT_POINTS = 8192  # losses of several releases on one sample
NOTHING, REVEALED = pld.NOTHING, pld.REVEALED

BY_RENYI_ONLY = "it is known by its Rényi divergences only, RDPAccountant takes it"
NOT_REMOVAL = (
    "a Poisson sample may hold one of the two records and not the other, and what is known of the "
    "mechanism inside holds for replacing a record, not for removing it"
)


def leaves(mechanism: Mechanism) -> Iterator[tuple[Mechanism, int]]:
    """Yield the parts of a mechanism that are not compositions, with their counts."""
    if isinstance(mechanism, Composed):
        yield from mechanism.parts
    else:
        yield mechanism, 1


@lru_cache(maxsize=256)
def loss_of(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    """Return a pair that dominates one use of a mechanism in one direction.

    Raises
    ------
    UnsupportedMechanismError
        If none is known, or the mechanism does not hold for the adjacency.
    """
    check_adjacency(mechanism, adjacency)
    return _loss(mechanism, adjacency, remove)


@singledispatch
def _loss(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, "its privacy loss is not known")


@_loss.register
def _(mechanism: Gaussian, adjacency: str, remove: bool) -> Pair:
    noise = mechanism.noise_multiplier
    return gaussian_pair(_moved(adjacency) / noise if noise else math.inf)


@_loss.register
def _(mechanism: TreeAggregation, adjacency: str, remove: bool) -> Pair:
    noise = mechanism.noise_multiplier / math.sqrt(mechanism.depth) * (1.0 - 2.0**-50)
    return gaussian_pair(_moved(adjacency) / noise if noise else math.inf)


@_loss.register
def _(mechanism: Laplace, adjacency: str, remove: bool) -> Pair:
    return laplace_pair(mechanism.noise_multiplier / _moved(adjacency))


@_loss.register
def _(mechanism: Gumbel, adjacency: str, remove: bool) -> Pair:
    return gumbel_pair(mechanism.noise_multiplier / _moved(adjacency))


@_loss.register
def _(mechanism: DiscreteGaussian, adjacency: str, remove: bool) -> Pair:
    shift = int(_moved(adjacency)) * mechanism.sensitivity
    if shift > 1000.0 * mechanism.sigma:
        return pld.Bracketed(REVEALED, NOTHING)
    return _within_engine(lambda: pld.DiscreteGaussian(mechanism.sigma, shift), mechanism)


@_loss.register
def _(mechanism: DiscreteLaplace, adjacency: str, remove: bool) -> Pair:
    shift = int(_moved(adjacency)) * mechanism.sensitivity
    if shift > 500.0 * mechanism.scale:
        return pld.Bracketed(REVEALED, NOTHING)
    return _within_engine(lambda: pld.DiscreteLaplace(mechanism.scale, shift), mechanism)


@_loss.register
def _(mechanism: RandomizedResponse, adjacency: str, remove: bool) -> Pair:
    return pld.RandomizedResponse(mechanism.p, mechanism.choices)


@_loss.register
def _(mechanism: Exponential, adjacency: str, remove: bool) -> Pair:
    return bounded_range_pair(mechanism.epsilon)


@_loss.register
def _(mechanism: PureDP, adjacency: str, remove: bool) -> Pair:
    return approximate_pair(mechanism.epsilon, 0.0)


@_loss.register
def _(mechanism: ApproxDP, adjacency: str, remove: bool) -> Pair:
    return approximate_pair(mechanism.epsilon, mechanism.delta)


@_loss.register
def _(mechanism: PrivacyLoss, adjacency: str, remove: bool) -> Pair:
    return mechanism.loss(remove)


@_loss.register
def _(mechanism: GaussianMixture, adjacency: str, remove: bool) -> Pair:
    if adjacency == REPLACE:
        raise UnsupportedMechanismError(
            mechanism, "the pair of two records of random sensitivity each is not known"
        )
    noise, given = mechanism.noise_multiplier, mechanism.probabilities
    kept = [(w, m) for w, m in zip(given, mechanism.sensitivities, strict=True) if w > 0.0]
    weights, means = zip(*kept, strict=True)
    if noise == math.inf or not any(means):
        return NOTHING
    pair = _within_engine(lambda: pld.GaussianMixture(weights, means, noise), mechanism)
    return pair if remove else pld.Reversed(pair)


@_loss.register
def _(mechanism: Composed, adjacency: str, remove: bool) -> Pair:
    parts = [(_loss(part, adjacency, remove), count) for part, count in mechanism.parts]
    parts = [(pair, count) for pair, count in parts if pair != NOTHING]
    # Gaussians are one Gaussian; the rounding of the sum is taken upward.
    mus = [(pair.mu, count) for pair, count in parts if isinstance(pair, pld.Gaussian)]
    parts = [part for part in parts if not isinstance(part[0], pld.Gaussian)]
    if mus:
        largest = max(mu for mu, _ in mus)
        total = math.fsum(count * (mu / largest) ** 2 for mu, count in mus)
        several = len(mus) > 1 or mus[0][1] > 1
        mu = largest * math.sqrt(total) * (1.0 + 2.0**-50) if several else largest
        parts.append((gaussian_pair(mu), 1))
    if not parts:
        return NOTHING
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    return _within_engine(lambda: pld.Product(tuple(parts), PRODUCT_POINTS), mechanism)


@_loss.register
def _(mechanism: PoissonSampled, adjacency: str, remove: bool) -> Pair:
    base, rate = collapsed(mechanism)
    if adjacency == REPLACE and not _covers_removal(base):
        raise UnsupportedMechanismError(mechanism, NOT_REMOVAL)
    pair = _loss(base, adjacency, remove)
    if rate == 0.0:
        return NOTHING
    if rate == 1.0:
        return pair
    if adjacency != REPLACE:
        if remove:
            return pld.poisson_sampled(pair, rate)
        return pld.poisson_sampled(_reverse(pair), rate, "add")
    if isinstance(pair, pld.Gaussian) and pair.mu >= 2e-6:
        return replace_one_loss_of(rate, 2.0 / pair.mu)
    return pld.Spliced(pair, rate)


@_loss.register
def _(mechanism: FixedSizeSampled, adjacency: str, remove: bool) -> Pair:
    base, size, population = mechanism.mechanism, mechanism.sample_size, mechanism.population
    pair = _loss(base, adjacency, remove)
    if mechanism.replacement:
        if not (_adds_noise(base) and isinstance(pair, pld.Gaussian | pld.Laplace)):
            raise UnsupportedMechanismError(
                mechanism,
                "a record may be drawn several times, and only for Gaussian and Laplace noise is "
                "it known what replacing it as often does",
            )
        return pld.sampled_with_replacement(_group(pair), size, population)
    if not (pair.symmetric or isinstance(pair, pld.Product)):
        raise UnsupportedMechanismError(
            mechanism, "two samples may come in either order, and the pair inside has only one"
        )
    if size == population:
        return pair
    return pld.Spliced(pair, min(math.nextafter(size / population, 1.0), 1.0))


@_loss.register
def _(mechanism: TruncatedPoissonSampled, adjacency: str, remove: bool) -> Pair:
    base = _loss(mechanism.mechanism, adjacency, remove)
    pair = pld.truncated_poisson_sampled(
        base, mechanism.sample_rate, mechanism.batch_limit, mechanism.population
    )
    return pair if remove else pld.Reversed(pair)


@_loss.register
def _(mechanism: ShuffledBatches, adjacency: str, remove: bool) -> Pair:
    # A record is in one batch; which one may be known.
    return _loss(mechanism.mechanism, adjacency, remove)


@_loss.register(ZCDP)
@_loss.register(RDPCurve)
@_loss.register(RepeatAndSelect)
@_loss.register(RandomAllocation)
def _(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, BY_RENYI_ONLY)


def _moved(adjacency: str) -> float:
    """Return how far neighbours move a query, in units of one record's presence."""
    return 2.0 if adjacency == REPLACE else 1.0


def _reverse(pair: Pair) -> Pair:
    if pair.symmetric:
        return pair
    return pair.base if isinstance(pair, pld.Reversed) else pld.Reversed(pair)


def _group(pair: pld.Gaussian | pld.Laplace) -> Callable[[int], Pair]:
    """Return the pair of replacing k records, as a function of k."""
    if isinstance(pair, pld.Gaussian):
        return lambda k: gaussian_pair(k * pair.mu)
    return lambda k: laplace_pair(pair.scale / k)


def _adds_noise(mechanism: Mechanism) -> bool:
    """Whether replacing k records moves the mean of a mechanism's noise k times as far."""
    if isinstance(mechanism, Composed):
        return all(_adds_noise(part) for part, _ in mechanism.parts)
    return isinstance(mechanism, Gaussian | Laplace)


def _covers_removal(mechanism: Mechanism) -> bool:
    """Whether the pair for replacing a record also dominates its removal."""
    if isinstance(mechanism, Composed):
        return all(_covers_removal(part) for part, _ in mechanism.parts)
    if isinstance(mechanism, PoissonSampled):
        return _covers_removal(mechanism.mechanism)
    return isinstance(
        mechanism,
        Gaussian
        | Laplace
        | Gumbel
        | DiscreteGaussian
        | DiscreteLaplace
        | RandomizedResponse
        | TreeAggregation,
    )


def _within_engine(build: Callable[[], Pair], mechanism: Mechanism) -> Pair:
    try:
        return build()
    except ValueError as error:
        raise UnsupportedMechanismError(mechanism, str(error)) from error
