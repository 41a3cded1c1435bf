"""The pairs of what is done with releases: composition and sampling."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from renyi._pair import Pair
from renyi.accountants._pairs import (
    LARGEST_MU,
    NOTHING,
    REPLACE,
    gaussian_pair,
    laplace_pair,
    moved,
    single_pair,
)
from renyi.accountants._steps import SampledStep, collapsed, gaussian_steps
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    FixedSizeSampled,
    Gaussian,
    Gumbel,
    Laplace,
    MatrixMechanism,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    PrivacyLoss,
    RandomizedResponse,
    ShuffledBatches,
    Skellam,
    TreeAggregation,
    TruncatedPoissonSampled,
)
from renyi.mechanisms.nesting import samplings
from renyi.pairs import ReversedPair

__all__ = [
    "NOT_REMOVAL",
    "covers_removal",
    "holds_in_both_orders",
    "is_lopsided",
    "leaves",
    "pair_of",
    "step_pair",
]

MOST_PRODUCTS = 10_000  # releases on one sample
LARGEST_DRAWN_MU = 1e6  # of a record drawn each time

NOT_REMOVAL = (
    "a Poisson sample may hold one of the two records and not the other, and what is known of the "
    "mechanism inside holds for replacing a record, not for removing it"
)


def leaves(mechanism: Mechanism) -> tuple[tuple[Mechanism, int], ...]:
    """Return the parts of a mechanism that are not compositions, with their counts."""
    return mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)


def step_pair(step: SampledStep, adjacency: str, remove: bool) -> Pair:
    """Return the pair of Gaussian noise on a Poisson sample; rate 1: on all of the data."""
    rate, noise = step
    if rate == 1.0:
        return gaussian_pair(moved(adjacency) / noise if noise else math.inf)
    if adjacency == REPLACE:
        if noise == 0.0:
            return Pair.discrete(np.array([rate, 0.0, 1 - rate]), np.array([0.0, rate, 1 - rate]))
        return Pair.replaced_gaussian(rate, noise)
    if noise == 0.0:  # the record shows itself whenever it is in the sample
        pair = Pair.discrete(np.array([rate, 1.0 - rate]), np.array([0.0, 1.0]))
    else:
        pair = gaussian_pair(1.0 / noise).sampled(rate)
    return pair if remove else pair.reversed()


@singledispatch
def pair_of(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    """Return a pair that dominates one use of a mechanism in one direction.

    Raises
    ------
    UnsupportedMechanismError
        If none is known.
    """
    return single_pair(mechanism, adjacency, remove)


@pair_of.register(MatrixMechanism)
@pair_of.register(TreeAggregation)
def _correlated_pair(
    mechanism: MatrixMechanism | TreeAggregation, adjacency: str, remove: bool
) -> Pair:
    return pair_of(mechanism.released, adjacency, remove)


@pair_of.register
def _composed_pair(mechanism: Composed, adjacency: str, remove: bool) -> Pair:
    steps = _whole_steps(mechanism)
    if steps is not None:
        return gaussian_pair(moved(adjacency) * _mu_of(steps))
    uses = sum(count for _, count in mechanism.parts)
    if uses > MOST_PRODUCTS:
        raise UnsupportedMechanismError(
            mechanism, f"releases on one sample are at most {MOST_PRODUCTS} together"
        )
    parts = [(pair_of(part, adjacency, remove), count) for part, count in mechanism.parts]
    return parts[0][0] if uses == 1 else Pair.product(parts)


@pair_of.register
def _poisson_sampled_pair(mechanism: PoissonSampled, adjacency: str, remove: bool) -> Pair:
    base, rate = collapsed(mechanism)
    if rate == 0.0:
        return NOTHING
    if rate == 1.0:
        return pair_of(base, adjacency, remove)
    steps = gaussian_steps(mechanism)
    if steps is not None and len(steps) == 1 and steps[0][1] == 1:
        return step_pair(steps[0][0], adjacency, remove)
    if adjacency != REPLACE:
        pair = pair_of(base, adjacency, remove)
        return pair.sampled(rate) if remove else pair.reversed().sampled(rate).reversed()
    if not covers_removal(base):
        raise UnsupportedMechanismError(mechanism, NOT_REMOVAL)
    removal = pair_of(base, "add_remove", True)
    return Pair.spliced(pair_of(base, adjacency, remove), rate, removal.sampled(rate))


@pair_of.register
def _fixed_size_sampled_pair(mechanism: FixedSizeSampled, adjacency: str, remove: bool) -> Pair:
    base, size, population = mechanism.mechanism, mechanism.sample_size, mechanism.population
    if mechanism.replacement:
        return _with_replacement(mechanism, adjacency)
    pair = pair_of(base, adjacency, remove)
    if not holds_in_both_orders(base):
        raise UnsupportedMechanismError(
            mechanism, "two samples may come in either order, and the pair inside has only one"
        )
    if size == population:
        return pair
    rate = min(math.nextafter(size / population, 1.0), 1.0)
    return Pair.spliced(pair, rate, _attained(base, pair, math.nextafter(size / population, 0.0)))


def _attained(base: Mechanism, pair: Pair, rate: float) -> Pair:
    """Return what two fixed neighbours have on a sample of this rate.

    All other records equal the one of the two: a sample without the replaced record tells as little
    as one with it. In Poisson samples of a sample that record is one of no effect.
    """
    if not covers_removal(base):
        return NOTHING
    sampled_again = next(samplings(base), None) is not None
    return (pair_of(base, "zero_out", True) if sampled_again else pair).sampled(rate)


def _with_replacement(mechanism: FixedSizeSampled, adjacency: str) -> Pair:
    base, draws, population = mechanism.mechanism, mechanism.sample_size, mechanism.population
    steps = _whole_steps(base)
    if steps is not None:
        mu = moved(adjacency) * _mu_of(steps)

        def group(k: int) -> Pair:
            # The rarest group has all draws in it: taken for revealed it would have no Rényi curve.
            far = LARGEST_MU < k * mu <= LARGEST_DRAWN_MU
            return Pair.gaussian(k * mu) if far else gaussian_pair(k * mu)
    elif isinstance(base, Laplace):

        def group(k: int) -> Pair:
            return laplace_pair(base.noise_multiplier / (moved(adjacency) * k))
    else:
        raise UnsupportedMechanismError(
            mechanism,
            "a record may be drawn several times, and only for Gaussian and Laplace noise is "
            "it known what replacing it as often does",
        )
    if population == 1:
        return group(draws)
    return Pair.sampled_with_replacement(group, draws, population)


@pair_of.register
def _truncated_poisson_sampled_pair(
    mechanism: TruncatedPoissonSampled, adjacency: str, remove: bool
) -> Pair:
    base, rate = mechanism.mechanism, mechanism.sample_rate
    limit, population = mechanism.batch_limit, mechanism.population
    if rate == 0.0:
        return NOTHING
    if adjacency == "add_remove":
        if not covers_removal(base):
            raise UnsupportedMechanismError(mechanism, NOT_REMOVAL)
        pair = Pair.truncated_poisson_removal(
            pair_of(base, "add_remove", True), pair_of(base, REPLACE, True), rate, limit, population
        )
        return pair if remove else pair.reversed()

    def pair_at(some_rate: float) -> Pair:
        if some_rate == 0.0:
            return NOTHING
        if some_rate == 1.0:
            return pair_of(base, adjacency, True)
        return pair_of(PoissonSampled(base, some_rate), adjacency, True)

    pair = Pair.truncated_poisson(pair_at, rate, limit, population)
    return pair if remove or adjacency == REPLACE else pair.reversed()


@pair_of.register
def _shuffled_batches_pair(mechanism: ShuffledBatches, adjacency: str, remove: bool) -> Pair:
    # A record is in one batch; which one may be known.
    return pair_of(mechanism.mechanism, adjacency, remove)


def holds_in_both_orders(mechanism: Mechanism) -> bool:
    """Whether a pair for replacing a record dominates both orders of the two neighbours.

    It does but for losses of a user's own that differ between the directions.
    """
    if isinstance(mechanism, PrivacyLoss):
        one, other = mechanism.loss(True)._pair, mechanism.loss(False)._pair
        return one is other or (one.symmetric and other.symmetric and not is_lopsided(mechanism))
    return all(holds_in_both_orders(inner) for inner in mechanism._inner())


def is_lopsided(mechanism: Mechanism) -> bool:
    """Whether the direction "add" is known by a pair of its own, not the reverse of the other."""
    if isinstance(mechanism, PrivacyLoss):
        return mechanism.add != ReversedPair(mechanism.remove)
    return any(is_lopsided(inner) for inner in mechanism._inner())


def _whole_steps(mechanism: Mechanism) -> list[tuple[SampledStep, int]] | None:
    """Return the Gaussian steps on all of the data that a mechanism consists of, if it does."""
    steps = gaussian_steps(mechanism)
    return steps if steps is not None and all(step.rate == 1.0 for step, _ in steps) else None


def _mu_of(steps: list[tuple[SampledStep, int]]) -> float:
    """Return the sensitivity over the deviation of the one Gaussian that steps are, rounded up."""
    least = min((step.noise for step, _ in steps), default=math.inf)
    if least == 0.0 or least == math.inf:
        return math.inf if least == 0.0 else 0.0
    if len(steps) == 1 and steps[0][1] == 1:
        return 1.0 / least
    # Relative to the smallest, so that no square over- or underflows.
    total = math.fsum(count * (least / step.noise) ** 2 for step, count in steps)
    return math.sqrt(total) / least * (1.0 + 2.0**-50)


def covers_removal(mechanism: Mechanism) -> bool:
    """Whether the pair for replacing a record also dominates its removal."""
    if isinstance(mechanism, Composed):
        return all(covers_removal(part) for part, _ in mechanism.parts)
    if isinstance(mechanism, PoissonSampled):
        return covers_removal(mechanism.mechanism)
    if isinstance(mechanism, MatrixMechanism):
        return covers_removal(mechanism.released)
    return isinstance(
        mechanism,
        Gaussian
        | Laplace
        | Gumbel
        | DiscreteGaussian
        | DiscreteLaplace
        | Skellam
        | MultivariateDiscreteGaussian
        | RandomizedResponse
        | TreeAggregation,
    )
