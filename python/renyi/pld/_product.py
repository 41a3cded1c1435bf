"""Several releases as one pair, so that they can be sampled together.

The loss of a composition is the sum of the losses. On a lattice its law is a convolution, here
direct: all terms are non-negative, so that every mass keeps a small relative error however rare.

Above: each part's cells are shared between their ends by the moments ("connect the dots", see
``_lattice``), a pair that dominates the part; products of dominating pairs dominate the product.
Below: outcomes are merged by the cell of their loss, and after a convolution by the sum of the
cells' numbers; P- and Q-masses are convolved apart and the loss is the log of their ratio. Merging
is post-processing, so that the result is dominated. Both differ from the truth by the variance
inside the cells, of second order in the step.

Steps are powers of two; where a convolution has become long its step is doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from renyi._validation import count_of
from renyi.pld._cells import ROUNDING, Atoms
from renyi.pld._convolution import Law, composed, connected, merged
from renyi.pld._discrete import OnlyAtoms
from renyi.pld._distribution import PrivacyLossDistribution, require_pair

__all__ = ["Product"]

Part = tuple[PrivacyLossDistribution, int]


@dataclass(frozen=True)
class Product(OnlyAtoms):
    """The pair of independent releases on the same data, as one.

    Parameters
    ----------
    parts : sequence of (PrivacyLossDistribution, int)
        Pairs and how often each is used, at least one use and at most 10,000 together.
    points : int
        At least about half as many losses per part, and at most twice as many of the product; in
        [64, 16384].

    Notes
    -----
    Upper bounds are those of a pair that dominates, lower bounds those of one that is dominated.
    Compositions that are not sampled together are composed directly by `Composition`, exactly.

    Examples
    --------
    >>> from renyi.pld import Laplace, PoissonSampled, delta_bounds
    >>> both = PoissonSampled(Product(((Laplace(2.0), 2), (Laplace(1.0), 1))), 0.01)
    >>> lower, upper = delta_bounds([(both, 1)], 0.01)
    >>> bool(lower < upper < lower * 1.0001)
    True
    """

    parts: Sequence[Part]
    points: int = 4096

    def __post_init__(self) -> None:
        allowed = "a sequence of (PrivacyLossDistribution, count) pairs"
        try:
            parts = tuple((pair, count_of(count)) for pair, count in self.parts)
        except (TypeError, ValueError):
            raise TypeError(f"parts must be {allowed}, got {self.parts!r}") from None
        for pair, _ in parts:
            require_pair(pair, "parts")
        parts = tuple((pair, count) for pair, count in parts if count)
        uses = sum(count for _, count in parts)
        if not 1 <= uses <= 10_000:
            raise ValueError(f"parts must be of 1 to 10000 uses together, got {uses}")
        points = count_of(self.points, "points")
        if not 64 <= points <= 16384:
            raise ValueError(f"points must be an integer in [64, 16384], got {self.points!r}")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "points", points)

    @property
    def infinite_mass(self) -> float:
        return self._above.infinite

    @property
    def null_mass(self) -> float:
        return self._above.null

    @property
    def symmetric(self) -> bool:
        return all(pair.symmetric for pair, _ in self.parts)

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        return _Merged(self)

    def atoms(self) -> Atoms:
        law = self._above
        loss = law.step * (law.first + np.arange(law.p.size, dtype=np.float64))
        moved = law.drift + 2.0 * ROUNDING * np.abs(loss)
        return Atoms(loss, law.p, law.q, moved, np.full(loss.size, law.error))

    @cached_property
    def _above(self) -> Law:
        laws = [(connected(pair, self.points), count) for pair, count in self.parts]
        return composed(laws, self.points)


@dataclass(frozen=True)
class _Merged(OnlyAtoms):
    """What a `Product` stands for, outcomes of about equal losses merged: dominated by it."""

    product: Product

    @property
    def infinite_mass(self) -> float:
        return self._law.infinite * (1.0 - 1e-11)

    @property
    def null_mass(self) -> float:
        return self._law.null

    def atoms(self) -> Atoms:
        law = self._law
        loss = np.log(law.p) - np.log(law.q)
        moved = 2.0 * law.error + 4.0 * ROUNDING * (1400.0 + np.abs(loss))
        return Atoms(loss, law.p, law.q, moved, np.full(loss.size, law.error))

    @cached_property
    def _law(self) -> Law:
        points = self.product.points
        laws = [(merged(pair.optimistic, points), count) for pair, count in self.product.parts]
        return composed(laws, points).where_both_are_seen()
