"""The Rényi curves of what is done with mechanisms: composition, selection and samples."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from renyi._accounting import RenyiCurve
from renyi._adjacency import Adjacency
from renyi.accountants._allocated_moments import allocation_curve
from renyi.accountants._compiled_pairs import compiled_pair
from renyi.accountants._profile import profile_of
from renyi.accountants._renyi_curves import (
    LARGEST_LOSS,
    SMALLEST_SHIFT,
    curve_of_pairs,
    distance,
    single_curve,
)
from renyi.accountants._samples import NOT_REMOVAL, covers_removal
from renyi.accountants._steps import (
    SMALLEST,
    SampledStep,
    allocated_noise,
    as_one_epoch,
    collapsed,
    settled,
)
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    MatrixMechanism,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RepeatAndSelect,
    ShuffledBatches,
    Skellam,
    TreeAggregation,
)

__all__ = ["curve_of", "fixed_size_curve", "has_swapped_pairs", "is_symmetric"]

# Each has a dominating pair of distributions that an involution swaps. Then the two directions of
# a Poisson sample compare as in Mironov, Talwar, Zhang 2019, Theorem 5, and the expansion of Zhu
# and Wang is the divergence itself. Compositions keep the property.
SYMMETRIC = (
    Gaussian,
    Laplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Skellam,
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
    return single_curve(mechanism, adjacency)


@curve_of.register(MatrixMechanism)
@curve_of.register(TreeAggregation)
def _correlated_curve(
    mechanism: MatrixMechanism | TreeAggregation, adjacency: Adjacency
) -> RenyiCurve:
    return curve_of(mechanism.released, adjacency)


@curve_of.register
def _composed_curve(mechanism: Composed, adjacency: Adjacency) -> RenyiCurve:
    return RenyiCurve.composed(
        [(curve_of(part, adjacency), float(count)) for part, count in mechanism.parts]
    )


@curve_of.register
def _shuffled_batches_curve(mechanism: ShuffledBatches, adjacency: Adjacency) -> RenyiCurve:
    return curve_of(mechanism.mechanism, adjacency)


@curve_of.register
def _random_allocation_curve(mechanism: RandomAllocation, adjacency: Adjacency) -> RenyiCurve:
    base, steps, picks = mechanism.mechanism, mechanism.steps, mechanism.picks
    if picks == steps or adjacency == "replace_one":  # the steps of a record published
        return curve_of(base * picks, adjacency)
    if picks > 1:  # a split into blocks published, with one pick in each
        length, longer = divmod(steps, picks)
        blocks = Composed(
            (RandomAllocation(base, length), picks - longer),
            (RandomAllocation(base, length + 1), longer),
        )
        return curve_of(blocks, adjacency)
    noise = allocated_noise(base)
    if noise is not None:
        return allocation_curve(compiled_pair(mechanism, adjacency, True), noise, steps)
    if isinstance(base, Gaussian):
        return RenyiCurve.random_allocation(base.noise_multiplier, steps)
    whole, known = curve_of(base, adjacency), _of_pairs(mechanism, adjacency)
    return whole if known is None else known.smaller(whole)


@curve_of.register
def _fixed_allocation_curve(mechanism: FixedAllocation, adjacency: Adjacency) -> RenyiCurve:
    return curve_of(as_one_epoch(mechanism), adjacency)


@curve_of.register
def _repeat_and_select_curve(mechanism: RepeatAndSelect, adjacency: Adjacency) -> RenyiCurve:
    run, mean = mechanism.mechanism, mechanism.mean
    base = curve_of(run, adjacency)
    known = _profile(run, base, mean, adjacency) if mechanism.shape == math.inf else ()
    return base.repeat_and_select(mean, mechanism.shape, known)


def _profile(
    run: Mechanism, curve: RenyiCurve, mean: float, adjacency: Adjacency
) -> tuple[tuple[float, float], ...]:
    """Return points of the profile of one run, down to a delta that does not show in the bound."""
    divergence = np.empty(1)
    curve.rdp_into(np.ones(1), divergence)
    if not divergence[0] > 0.0:
        return ()
    return profile_of(run, adjacency, 1e-7 * min(float(divergence[0]), 1.0) / max(mean, 1.0))


@curve_of.register
def _poisson_sampled_curve(mechanism: PoissonSampled, adjacency: Adjacency) -> RenyiCurve:
    base, rate = collapsed(mechanism)
    if adjacency != "replace_one" or rate in (0.0, 1.0):
        return _sampled(base, rate, adjacency)
    if not covers_removal(base):
        raise UnsupportedMechanismError(mechanism, NOT_REMOVAL)
    return _of_pairs(mechanism, adjacency) or _both_orders(base, rate)


def _of_pairs(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve | None:
    """Return the curve of the pairs of a sample, never above the bounds by the curve inside."""
    try:
        curve = curve_of_pairs(mechanism, adjacency)
    except UnsupportedMechanismError:
        return None
    return None if curve.is_unbounded else curve


def _sampled(base: Mechanism, rate: float, adjacency: Adjacency) -> RenyiCurve:
    """Return the curve of ((1-q) Q + q P, Q) and its reverse, (P, Q) the pairs of a mechanism."""
    if rate == 0.0:
        return RenyiCurve.linear(0.0)
    rate = max(rate, SMALLEST)
    curve = _pair_of(base) or curve_of(base, adjacency)
    if rate == 1.0:
        return curve_of(base, adjacency)
    if isinstance(base, Gaussian) and base.noise_multiplier < math.inf:
        step = settled(SampledStep(rate, base.noise_multiplier / distance(adjacency)))
        if step is None or step.noise == 0.0:
            return RenyiCurve.unbounded()
        return RenyiCurve.sampled_gaussian(step.rate, step.noise)
    if has_swapped_pairs(base):
        return curve.sampled(rate) or curve.poisson_bound(rate, "tight")
    known = None
    if adjacency != "replace_one":
        known = _of_pairs(PoissonSampled(base, rate), adjacency)
    return known or curve.poisson_bound(rate, "tight").smaller(curve.mixture_bound(rate))


def _pair_of(mechanism: Mechanism) -> RenyiCurve | None:
    """Return the dominating pair where the curve of a single use is sharper than that."""
    if isinstance(mechanism, Exponential) and mechanism.epsilon <= LARGEST_LOSS:
        return RenyiCurve.exponential(max(mechanism.epsilon, SMALLEST_SHIFT))
    return None


def is_symmetric(mechanism: Mechanism) -> bool:
    """Return whether a dominating pair is known that an involution swaps."""
    if isinstance(mechanism, Composed):
        return all(is_symmetric(part) for part, _ in mechanism.parts)
    if isinstance(mechanism, MatrixMechanism):
        return is_symmetric(mechanism.released)
    return isinstance(mechanism, SYMMETRIC)


def has_swapped_pairs(mechanism: Mechanism) -> bool:
    """Return whether every pair of neighbours has an involution that swaps its distributions.

    Discrete Gaussian vectors have a pair for every integer vector D that a record may add, and
    x -> D - x swaps it. At whole orders its moments are those of continuous noise: the sum of
    exp(-|x - k D|^2/(2 sigma^2)) over the integer vectors x is the same for every whole k. They
    rise with |D|, between whole orders their logarithm is convex, so that the largest |D| bounds
    all. Of two releases on one sample the second D may depend on the first output: no involution.
    """
    if isinstance(mechanism, Composed) and [count for _, count in mechanism.parts] == [1]:
        return has_swapped_pairs(mechanism.parts[0][0])
    return isinstance(mechanism, MultivariateDiscreteGaussian) or is_symmetric(mechanism)


@curve_of.register
def _fixed_size_sampled_curve(mechanism: FixedSizeSampled, adjacency: Adjacency) -> RenyiCurve:
    innermost = mechanism
    while isinstance(innermost.mechanism, FixedSizeSampled) and not innermost.replacement:
        innermost = innermost.mechanism  # a sample of a sample
    if innermost.replacement:
        return curve_of_pairs(mechanism, adjacency)
    rate = innermost.sample_size / mechanism.population
    known = None if has_swapped_pairs(innermost.mechanism) else _of_pairs(mechanism, adjacency)
    rate = math.nextafter(rate, 1.0) if rate < 1.0 else 1.0
    return known or fixed_size_curve(innermost.mechanism, rate)


def fixed_size_curve(base: Mechanism, rate: float) -> RenyiCurve:
    """Return the curve of a sample without replacement, see `renyi.theory.subsampling`."""
    if rate in (0.0, 1.0):
        return _sampled(base, rate, "replace_one")
    alone = curve_of(base, "replace_one")
    if not has_swapped_pairs(base):
        return alone.fixed_size_bound(rate, False).smaller(alone.mixture_bound(rate))
    several = _both_orders(base, rate)
    return several if is_symmetric(base) else several.smaller(alone.fixed_size_bound(rate, False))


def _both_orders(base: Mechanism, rate: float) -> RenyiCurve:
    """Return the curve where a record is replaced in a sample that holds any at a rate.

    Both directions of a Poisson sample together: twice the excess of the larger one. Without one
    pair for all, the profile is at most the sum of two, that of the two records and that of one
    and what a sample has in their place.
    """
    poisson = _sampled(base, rate, "replace_one")
    twice = poisson.mixture_bound(2.0 if is_symmetric(base) else 4.0)
    return twice.smaller(curve_of(base, "replace_one").mixture_bound(rate))
