"""The pairs of random allocation: every record in one step of an epoch, or in a few."""

from __future__ import annotations

import math
from functools import lru_cache

from renyi._pair import Pair
from renyi.accountants._pairs import NOTHING, REPLACE, gaussian_pair
from renyi.accountants._samples import MOST_PRODUCTS, covers_removal, pair_of
from renyi.accountants._several_picks import pairs_below
from renyi.accountants._steps import allocated_noise, as_one_epoch
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import FixedAllocation, Mechanism, RandomAllocation, RandomizedResponse

__all__ = ["MOST_STEPS", "epoch_by_law", "fixed_allocation_pair", "random_allocation_pair"]

MOST_STEPS = 10**6  # of an allocation of what is not Gaussian


def random_allocation_pair(mechanism: RandomAllocation, adjacency: str, remove: bool) -> Pair:
    """Return the pair of the mean of all choices of steps against no record.

    It dominates every way to use earlier steps, in both directions (Feldman, Shenfeld 2025, arXiv
    2502.08202; Chua et al. 2024, arXiv 2412.16802). Of replaced records no largest pair is known:
    publishing the steps leaves the mechanism itself, and a record replaced by one that contributes
    nothing is removed.

    Raises
    ------
    UnsupportedMechanismError
        If there are too many steps, or no pair of one step is known.
    """
    base, steps, picks = mechanism.mechanism, mechanism.steps, mechanism.picks
    if picks == steps:
        return pair_of(base * steps, adjacency, remove)
    if adjacency == REPLACE:
        whole = pair_of(base * picks, adjacency, remove)
        may_be_nothing = _may_contribute_nothing(base)
        return Pair.bracketed(
            whole, _epoch(mechanism, "zero_out")[0] if may_be_nothing else NOTHING
        )
    return _epoch(mechanism, adjacency)[0 if remove else 1]


def fixed_allocation_pair(mechanism: FixedAllocation, adjacency: str, remove: bool) -> Pair:
    """Return the pair of the one epoch that all are."""
    return pair_of(as_one_epoch(mechanism), adjacency, remove)


@lru_cache(maxsize=64)
def _epoch(mechanism: RandomAllocation, adjacency: str) -> tuple[Pair, Pair]:
    """Return the pairs with the record against without it, and the other way.

    Several picks: whoever knows a random split of the steps into as many blocks, with one pick in
    each, sees a composition of allocations.
    """
    base, steps, picks = mechanism.mechanism, mechanism.steps, mechanism.picks
    if picks == 1:
        pair = _one_pick(mechanism, adjacency)
        return pair, pair.reversed()
    if picks > MOST_PRODUCTS:
        raise UnsupportedMechanismError(
            mechanism, f"a record takes part in at most {MOST_PRODUCTS} steps"
        )
    length, longer = divmod(steps, picks)
    blocks = [(length, picks - longer), (length + 1, longer)]
    parts = [
        (pair_of(RandomAllocation(base, block), adjacency, True), count)
        for block, count in blocks
        if count
    ]
    above = Pair.product(parts)
    removal, addition = pairs_below(pair_of(base, adjacency, True), steps, picks)
    return Pair.bracketed(above, removal), Pair.bracketed(above.reversed(), addition)


def _one_pick(mechanism: RandomAllocation, adjacency: str) -> Pair:
    noise, steps = allocated_noise(mechanism.mechanism), mechanism.steps
    # Where points of the curve leave next to nothing beyond them; else its law is narrower.
    if noise is not None and noise >= (0.25 + 0.03 * math.log10(steps) if steps >= 100 else 0.45):
        return Pair.allocation(noise, steps)
    if steps > MOST_STEPS:
        raise UnsupportedMechanismError(
            mechanism,
            f"allocations of other than Gaussian noise of 0.5 have at most {MOST_STEPS} steps",
        )
    return pair_of(mechanism.mechanism, adjacency, True).allocated(steps)


def epoch_by_law(noise: float, steps: float, rate: float, remove: bool) -> Pair:
    """Return the pair of an epoch of Gaussian noise where the sums for its curve see too little."""
    pair = gaussian_pair(1.0 / noise).allocated(steps)
    pair = pair if rate == 1.0 else pair.sampled(rate)
    return pair if remove else pair.reversed()


def _may_contribute_nothing(mechanism: Mechanism) -> bool:
    """Whether a record may be replaced by one that has the effect of none."""
    if isinstance(mechanism, RandomizedResponse):
        return False
    inner = mechanism._inner()
    return all(map(_may_contribute_nothing, inner)) if inner else covers_removal(mechanism)
