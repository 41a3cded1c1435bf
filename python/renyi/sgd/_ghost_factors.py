"""Factors that keep clipped gradients, and sums of them as computers add, within the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from renyi._sgd import sum_spacing
from renyi.sgd._ghost_norms import RecordNorms
from renyi.sgd._layer_work import Work
from renyi.sgd._rule import MOST_ROUNDING

__all__ = ["Group", "rounding_of"]

_UNIT = 2.0**-53
_SPREAD = 1024.0


class Group:
    r"""Arrays of parameters that are clipped together.

    With w the factors and N, P what `RecordNorms` says of a record: gradients that are made, D
    entries, are multiplied and rounded to the lattice of spacing g as in clip_factor.hpp, which
    adds g/2 sqrt(D) to their norm at most. Products are left a part `2 MOST_ROUNDING` of the bound
    for what neither belongs to one record nor is the same in neighbouring batches, see
    `rounding_of`; it is that small for w P <= _SPREAD C.
    """

    def __init__(self, bound: float, arrays: Sequence[tuple[tuple[int, ...], bool]]) -> None:
        """Take the shape of each array, and whether it is by products."""
        self.bound = bound
        self.spacing = sum_spacing(bound)
        made = sum(math.prod(shape) for shape, product in arrays if not product)
        self.product_entries = sum(math.prod(shape) for shape, product in arrays if product)
        lost = 0.5 * self.spacing * math.sqrt(made) * (1.0 + 8.0 * _UNIT)
        share = 1.0 - 2.0 * MOST_ROUNDING if any(product for _, product in arrays) else 1.0
        self._budget = (bound * share - lost) * (1.0 - 16.0 * _UNIT)

    def factors(self, norms: RecordNorms) -> npt.NDArray[np.float64]:
        """Return factors w <= 1 with w N (1 + 5 u) + 2 h reach <= the budget, and w P as above.

        h is the smallest subnormal: w G is rounded, and the product of w with a gradient, each at
        most by u relatively or h. A record that is not finite has the factor 0.
        """
        with np.errstate(all="ignore"):
            budget = np.maximum(self._budget - 2.0**-1073 * norms.reach, 0.0)
            needed = np.maximum(norms.above, norms.spread * (self._budget / _SPREAD / self.bound))
            needed = needed * (1.0 + 8.0 * _UNIT)
            factors = np.where(needed <= budget, 1.0, budget / needed * (1.0 - 8.0 * _UNIT))
        factors[~np.isfinite(norms.nearest) | ~np.isfinite(needed)] = 0.0
        return np.where(factors < np.finfo(np.float64).tiny, 0.0, factors)


def rounding_of(works: Sequence[Work], groups: Sequence[Group]) -> float:
    r"""Return how far the sum is from that of clipped gradients, over the bound, at most.

    The products over n = B T rows, in any order of summation, fused or not, with B more additions
    at most for the parts, are within (n + B + 4) u / (1 - ...) \sum_i w_i P_i of the exact sum, and
    w_i P_i <= _SPREAD C; with T = 1 it is w_i N_i <= C. Over several layers by Minkowski's
    inequality. Rounding D entries to the lattice moves the sum by g/2 sqrt(D) at most. Other arrays
    are added exactly. Neighbours, and the parts that their batches are cut in, may differ in all of
    that: so their sums do by C if it comes to `MOST_ROUNDING` in all parts of each.
    """
    used = [work for work in works if any(work.by_products)]
    if not used or not used[0].count:
        return 0.0
    count, times = used[0].count, max(work.times for work in used)
    spread = 1.0 if times == 1 else _SPREAD
    product = (count * (times + 1.0) + 4.0) * _UNIT * 1.001 * count * spread
    lattice = max(g.spacing / g.bound * math.sqrt(g.product_entries) for g in groups)
    return product + 0.5 * lattice * (1.0 + 8.0 * _UNIT)
