"""From mechanisms to the privacy losses that the general engine composes.

Single releases are those of `_releases`; here is what is done with them: composition, sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from renyi import pld
from renyi.accountants._pairs import (
    Pair,
    gaussian_pair,
    laplace_pair,
    replace_one_loss_of,
)
from renyi.accountants._releases import pair_of, within_engine
from renyi.accountants._steps import collapsed
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    FixedSizeSampled,
    Gaussian,
    Gumbel,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    RandomizedResponse,
    ShuffledBatches,
    TreeAggregation,
    TruncatedPoissonSampled,
)

__all__ = ["is_mirrored", "leaves", "loss_of"]

REPLACE = "replace_one"
PRODUCT_POINTS = 8192  # losses of several releases on one sample
NOTHING = pld.NOTHING

NOT_REMOVAL = (
    "a Poisson sample may hold one of the two records and not the other, and what is known of the "
    "mechanism inside holds for replacing a record, not for removing it"
)


def leaves(mechanism: Mechanism) -> tuple[tuple[Mechanism, int], ...]:
    """Return the parts of a mechanism that are not compositions, with their counts."""
    return mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)


@lru_cache(maxsize=256)
def loss_of(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    """Return a pair that dominates one use of a mechanism in one direction.

    Whether the mechanism holds for the adjacency is for `check_adjacency` to say.

    Raises
    ------
    UnsupportedMechanismError
        If none is known.
    """
    return pair_of(mechanism, adjacency, remove)


def is_mirrored(mechanism: Mechanism, adjacency: str) -> bool:
    """Whether one use loses as much in the one direction as in the other, by the pairs known."""
    remove, add = (loss_of(mechanism, adjacency, side) for side in (True, False))
    return remove == add or (remove.symmetric and pld.Reversed(remove) == add)


@pair_of.register
def _(mechanism: Composed, adjacency: str, remove: bool) -> Pair:
    parts = [(pair_of(part, adjacency, remove), count) for part, count in mechanism.parts]
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
    return within_engine(lambda: pld.Product(tuple(parts), PRODUCT_POINTS), mechanism)


@pair_of.register
def _(mechanism: PoissonSampled, adjacency: str, remove: bool) -> Pair:
    base, rate = collapsed(mechanism)
    if adjacency == REPLACE and not _covers_removal(base):
        raise UnsupportedMechanismError(mechanism, NOT_REMOVAL)
    pair = pair_of(base, adjacency, remove)
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


@pair_of.register
def _(mechanism: FixedSizeSampled, adjacency: str, remove: bool) -> Pair:
    base, size, population = mechanism.mechanism, mechanism.sample_size, mechanism.population
    pair = pair_of(base, adjacency, remove)
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


@pair_of.register
def _(mechanism: TruncatedPoissonSampled, adjacency: str, remove: bool) -> Pair:
    base = pair_of(mechanism.mechanism, adjacency, remove)
    pair = pld.truncated_poisson_sampled(
        base, mechanism.sample_rate, mechanism.batch_limit, mechanism.population
    )
    return pair if remove else pld.Reversed(pair)


@pair_of.register
def _(mechanism: ShuffledBatches, adjacency: str, remove: bool) -> Pair:
    # A record is in one batch; which one may be known.
    return pair_of(mechanism.mechanism, adjacency, remove)


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
        | MultivariateDiscreteGaussian
        | RandomizedResponse
        | TreeAggregation,
    )
