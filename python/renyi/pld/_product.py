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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from renyi._validation import count_of
from renyi.pld._cells import ROUNDING, Array, Atoms, Cells, Indices, empty_cells, summed
from renyi.pld._convolution import Law, composed, connected, merged
from renyi.pld._discrete import OnlyAtoms
from renyi.pld._distribution import Part, PrivacyLossDistribution, require_pair
from renyi.pld._gaussian import STEEPEST

__all__ = ["Product"]

Flags = npt.NDArray[np.bool_]

NEIGHBOURS = 3.0  # cells that two outcomes to be blended may lie apart


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
        return _Blended(self)

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
class _Blended(PrivacyLossDistribution):
    """What a `Product` stands for, outcomes of about equal losses merged: dominated by it.

    Of any two outcomes of neighbouring cells one half each is handed on as a blend, 1 - u of the
    one and u of the other, u uniform: merging again. So the losses fill the gaps, and a further
    lattice loses no more than by a smooth density. p, q and p - e^a q are linear in u, so that the
    trapezoidal rule integrates them exactly. Outcomes by themselves stay atoms.
    """

    product: Product

    @property
    def infinite_mass(self) -> float:
        return self._law.infinite * (1.0 - 1e-11)

    @property
    def null_mass(self) -> float:
        return self._law.null

    @property
    def support(self) -> tuple[float, float]:
        return float(self._losses[0]), float(self._losses[-1])

    def atoms(self) -> Atoms:
        law, loss, blended = self._law, self._losses, self._blended
        kept = 1.0 - 0.5 * np.append(blended, False) - 0.5 * np.append(False, blended)
        error = np.full(loss.size, law.error + ROUNDING)
        return Atoms(loss, kept * law.p, kept * law.q, self._moved, error).where(kept > 0.0)

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self.support if self._blended.any() else (math.inf, -math.inf)

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.loss_range(tail)

    def cells(self, edges: Array) -> Cells:
        law, nodes = self._law, self._losses
        if not self._blended.any():
            return empty_cells(edges.size - 1)
        inside = np.flatnonzero((edges > nodes[0]) & (edges < nodes[-1]))
        place = np.searchsorted(nodes, edges[inside], "right") - 1
        shares = _shares(law, nodes, place, edges[inside])
        # Points in order of their losses: the nodes, and the edges between them.
        index = np.concatenate((np.arange(nodes.size), place))
        u = np.concatenate((np.zeros(nodes.size), shares))
        order = np.lexsort((u, index))
        index, u = index[order], u[order]
        loss = np.concatenate((nodes, edges[inside]))[order]
        following = np.minimum(index + 1, nodes.size - 1)
        p, q = (((1.0 - u) * m[index] + u * m[following]) for m in (law.p, law.q))
        # No piece straddles an edge; what lies outside the edges counts for nothing.
        kept = (loss[:-1] >= edges[0]) & (loss[:-1] < edges[-1]) & self._blended[index[:-1]]
        width = np.where(kept, np.diff(index + u), 0.0)
        cell = np.clip(np.searchsorted(edges, loss[:-1], "right") - 1, 0, edges.size - 2)
        start, end = edges[cell], edges[cell + 1]
        with np.errstate(over="ignore", invalid="ignore"):
            rise = [p_ * -np.expm1(np.minimum(start - l_, 0.0)) for p_, l_ in _pairs(p, loss)]
            fall = [p_ * np.expm1(np.clip(end - l_, 0.0, STEEPEST)) for p_, l_ in _pairs(p, loss)]
        sums = [
            summed(cell, 0.5 * width * (left + right), edges.size - 1)
            for left, right in ((p[:-1], p[1:]), (q[:-1], q[1:]), rise, fall)
        ]
        error = np.full(edges.size - 1, law.error + ROUNDING * (16.0 + nodes.size))
        slip = np.full(edges.size, float(self._moved.max()))
        return Cells(sums[0], sums[1], sums[2], sums[3], error, error, slip)

    @cached_property
    def _law(self) -> Law:
        points = self.product.points
        laws = [(merged(pair.optimistic, points), count) for pair, count in self.product.parts]
        law = composed(laws, points).where_both_are_seen()
        order = np.argsort(np.log(law.p) - np.log(law.q), kind="stable")
        return replace(law, p=law.p[order], q=law.q[order])

    @cached_property
    def _losses(self) -> Array:
        return np.log(self._law.p) - np.log(self._law.q)

    @cached_property
    def _blended(self) -> Flags:
        """Whether an outcome and the following one are blended."""
        return np.asarray(np.diff(self._losses) <= NEIGHBOURS * self._law.step)

    @property
    def _moved(self) -> Array:
        return 2.0 * self._law.error + 4.0 * ROUNDING * (1400.0 + np.abs(self._losses))


def _pairs(p: Array, loss: Array) -> list[tuple[Array, Array]]:
    return [(p[:-1], loss[:-1]), (p[1:], loss[1:])]


def _shares(law: Law, nodes: Array, place: Indices, edges: Array) -> Array:
    """Return u where the blend of outcomes i and i + 1 has the loss e: (p - e^e q)(u) = 0."""
    below = law.p[place] * np.expm1(edges - nodes[place])
    above = law.p[place + 1] * -np.expm1(edges - nodes[place + 1])
    total = below + above
    return np.divide(below, total, out=np.zeros_like(total), where=total > 0.0)
