"""What shuffled batches cost at least: pairs that actual neighbouring data sets have.

All other records contribute -1 to their batch, the one that differs 1. Up to the mean that both
share, the outputs are then the mean over the batches i of

* N(2 e_i) against N(0), where the record is replaced by one that contributes -1 like the others:
  random allocation with half the noise;
* N(2 e_i) against N(e_i), where it is replaced by one that contributes nothing. Post-processed to
  the largest output, in cells (Chua et al. 2024, arXiv 2403.17673 and 2411.04205).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from renyi._pair import LossComposition, Pair
from renyi.accountants._brackets import Array
from renyi.accountants._compiled_pairs import compiled_pair
from renyi.accountants._pairs import NOTHING, REPLACE
from renyi.accountants._steps import SMALLEST_ALLOCATED
from renyi.mechanisms import Gaussian, RandomAllocation, ShuffledBatches

__all__ = ["AttainedCurve", "attained_pair"]

CELLS = 800
REACH = 9.0  # deviations
CELL_ERROR = 1e-11  # relative, of the masses of cells
MOST_BATCHES = 10**6


class AttainedCurve:
    """Lower ends of the worse direction of compositions; the upper ones tell nothing.

    Parameters
    ----------
    lattices : iterable of LossComposition
        One for each direction.
    uses : int
        How many uses there are of pairs whose masses are right to `CELL_ERROR`.
    """

    def __init__(self, lattices: Iterable[LossComposition], uses: int) -> None:
        self._lattices = list(lattices)
        # With all masses right to e: delta moves by e (P + e^epsilon Q) <= 2 e P of an event where
        # it is positive, P <= 1, for every use.
        self._error = 4.0 * uses * CELL_ERROR

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower ends and infinity, of shape (2, n)."""
        low = [
            max(
                lattice.epsilon_bounds(min(delta + self._error, 1.0))[0]
                for lattice in self._lattices
            )
            for delta in deltas.tolist()
        ]
        return np.array([np.maximum(low, 0.0), np.full(deltas.size, math.inf)])

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower ends and 1, of shape (2, n)."""
        low = [
            max(lattice.delta_bounds(epsilon)[0] for lattice in self._lattices) - self._error
            for epsilon in epsilons.tolist()
        ]
        return np.array([np.maximum(low, 0.0), np.ones(epsilons.size)])


@lru_cache(maxsize=64)
def attained_pair(mechanism: ShuffledBatches, adjacency: str, remove: bool) -> Pair:
    """Return a pair below that of one epoch, or nothing where none is known."""
    base, batches = mechanism.mechanism, mechanism.batches
    if not isinstance(base, Gaussian) or batches > MOST_BATCHES:
        return NOTHING
    noise = base.noise_multiplier
    if not 2.0 * SMALLEST_ALLOCATED <= noise < math.inf:
        return NOTHING
    if batches == 1:
        return compiled_pair(base, adjacency, remove)
    if adjacency == REPLACE:
        return compiled_pair(RandomAllocation(Gaussian(0.5 * noise), batches), "add_remove", remove)
    pair = _largest_output(noise, batches)
    return pair if remove else pair.reversed()


def _largest_output(noise: float, batches: int) -> Pair:
    """Return the pair of the cell of the largest output."""
    cuts = np.linspace(-REACH * noise, 2.0 + REACH * noise, CELLS)
    masses = [_cells(cuts, noise, batches, moved) for moved in (2.0, 1.0)]
    kept = (masses[0] > 0.0) & (masses[1] > 0.0)
    return Pair.discrete(masses[0][kept], masses[1][kept])


def _cells(cuts: Array, noise: float, batches: int, moved: float) -> Array:
    """Return the masses between the cuts, and beyond; cells known badly hold nothing."""
    logs = np.array(
        [
            _log_normal_cdf((c - moved) / noise) + (batches - 1) * _log_normal_cdf(c / noise)
            for c in cuts.tolist()
        ]
    )
    below, above = np.exp(logs), -np.expm1(logs)
    inner = np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    size = np.where(above[:-1] < 0.5, above[:-1], below[1:])
    # Each cdf to 16u of its logarithm and itself.
    error = 2.0**-49 * (1.0 + np.abs(logs[1:])) * size
    inner = np.where(inner * CELL_ERROR > error, inner, 0.0)
    return np.concatenate([[below[0]], inner, [above[-1]]])


def _log_normal_cdf(z: float) -> float:
    if z > 0.0:
        return math.log1p(-0.5 * math.erfc(z * math.sqrt(0.5)))
    tail = 0.5 * math.erfc(-z * math.sqrt(0.5))
    return math.log(tail) if tail > 0.0 else -math.inf
