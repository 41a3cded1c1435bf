"""The pair of a mechanism, of any kind; each is made once."""

from __future__ import annotations

from functools import lru_cache

from renyi._pair import Pair
from renyi.accountants._allocated import fixed_allocation_pair, random_allocation_pair
from renyi.accountants._pairs import REPLACE
from renyi.accountants._samples import holds_in_both_orders, is_lopsided, pair_of
from renyi.accountants._steps import epochs_of
from renyi.mechanisms import FixedAllocation, Gumbel, Mechanism, RandomAllocation

__all__ = ["compiled_pair", "is_mirrored"]

# They are made of the pairs of other mechanisms, samples among them, that may hold allocations.
pair_of.register(RandomAllocation, random_allocation_pair)
pair_of.register(FixedAllocation, fixed_allocation_pair)


@lru_cache(maxsize=256)
def compiled_pair(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
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
    if adjacency == REPLACE:
        return holds_in_both_orders(mechanism)
    if epochs_of(mechanism):
        return False  # perhaps, but telling takes long
    if isinstance(mechanism, Gumbel):
        return True  # one pair above both signs of the shift
    one, other = (compiled_pair(mechanism, adjacency, side) for side in (True, False))
    return one is other or (one.symmetric and other.symmetric and not is_lopsided(mechanism))
