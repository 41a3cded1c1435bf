"""Gradients of some records by one array of parameters: their norms, and their weighted sum."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from renyi._sgd import add_lookups, lookup_squares, weigh_into
from renyi.sgd._ghost_norms import RecordNorms, product_norms
from renyi.sgd._rows import Array
from renyi.sgd.clipping import per_sample_norms

__all__ = ["LookupPiece", "Piece", "ProductPiece", "RowsPiece"]

_UNIT = 2.0**-53
_WORTH_A_THREAD = 1 << 20  # bytes
_STRIP = 1 << 17  # numbers of a product at once, which are in a cache when they are added

Weights = npt.NDArray[np.float64]


class Piece(Protocol):
    """What a layer knows of the gradients of some records."""

    def norms(self, threads: int) -> RecordNorms:
        """Return the norms of the gradients that `add` adds."""

    def add(self, weights: Weights, spacing: float, total: Array, threads: int) -> None:
        """Add each gradient times its weight; those of weight 0 may hold anything."""


class RowsPiece(NamedTuple):
    """The gradients themselves, (m, ...). Each is rounded to the lattice before it is added."""

    rows: Array

    def norms(self, threads: int) -> RecordNorms:
        """Return the norms.

        The kernel adds squares of n numbers with fewer than 40 + n / 500 roundings on any path.
        """
        nearest = per_sample_norms(self.rows, threads=threads)
        above = nearest * (1.0 + (64.0 + self.rows[:1].size / 500.0) * _UNIT)
        none = np.zeros(len(nearest))
        return RecordNorms(nearest, above, none, none)

    def add(self, weights: Weights, spacing: float, total: Array, threads: int) -> None:
        """Add the rows."""
        if len(weights):
            weigh_into([self.rows], [total], True, weights, spacing, threads)


class ProductPiece(NamedTuple):
    """A^T G of (m, T, rows) and (m, T, columns), never made for one record.

    One matrix product adds those of all records: it rounds, which `ghost` bounds, and is rounded to
    the lattice when it is complete.
    """

    left: Array
    right: Array

    def norms(self, threads: int) -> RecordNorms:
        """Return the norms, from inner products."""
        return product_norms(self.left, self.right)

    def add(self, weights: Weights, spacing: float, total: Array, threads: int) -> None:
        """Add the product with the weights."""
        left, right = self.left, self.right
        used = weights > 0.0
        if not used.all():
            left, right, weights = left[used], right[used], weights[used]
        weighted = (weights[:, np.newaxis, np.newaxis] * right).reshape(-1, right.shape[2])
        wide = left.astype(np.float64, copy=False).reshape(-1, left.shape[2]).T
        matrix = total.reshape(len(wide), weighted.shape[1])  # the same memory
        strip = max(1, _STRIP // max(1, weighted.shape[1]))
        for first in range(0, len(wide), strip):
            matrix[first : first + strip] += wide[first : first + strip] @ weighted


class LookupPiece(NamedTuple):
    """Gradients of the table of an embedding, by tokens (m, T)."""

    tokens: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    gradients: Array

    def norms(self, threads: int) -> RecordNorms:
        """Return the norms.

        Squares are added with fewer than T ceil(columns / 16) + 10 roundings on any path; those
        that underflow come to less than the square of 2^-400.
        """
        squares = np.zeros(len(self.tokens))
        if self.gradients.size:
            count = self._worth(threads)
            lookup_squares(self.tokens, self.order, self.gradients, squares, count)
        nearest = np.sqrt(np.where(np.isfinite(squares), squares, np.nan))
        _, times, columns = self.gradients.shape
        roundings = times * (columns / 16.0 + 1.0) + 16.0
        above = nearest * (1.0 + roundings * _UNIT) + 2.0**-400
        none = np.zeros(len(nearest))
        return RecordNorms(nearest, above, none, none)

    def add(self, weights: Weights, spacing: float, total: Array, threads: int) -> None:
        """Add the rows that were looked up."""
        if self.gradients.size:
            count = self._worth(threads)
            weights = np.ascontiguousarray(weights)
            add_lookups(self.tokens, self.order, self.gradients, weights, spacing, total, count)

    def _worth(self, threads: int) -> int:
        return min(threads, 1 + self.gradients.nbytes // _WORTH_A_THREAD)
