"""Norms of gradients of layers from inner products, with bounds of their rounding."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from renyi._arrays import Aligned, Array
from renyi._training import add_lookups, lookup_squares, weigh_into
from renyi.sgd.clipping import per_sample_norms

_UNIT = 2.0**-53
_ELEMENTS = 1 << 20  # size of temporary arrays, about
Norms = npt.NDArray[np.float64]


class RecordNorms(NamedTuple):
    """Norms and bounds of each record's gradient, NaN where a number is not finite."""

    nearest: Norms
    above: Norms  # at least the norm, exactly
    spread: Norms  # at least the sum of |a_t| |g_t| where the product itself is to be rounded
    reach: Norms  # what underflow can add, in units of the smallest number


def joint_norms(parts: Sequence[RecordNorms]) -> RecordNorms:
    """Norms of all parts together."""
    nearest, above, spread = (joint_norm(values) for values in list(zip(*parts, strict=True))[:3])
    slack = 1.0 + len(parts) * 2.0**-50
    reach = np.sum([part.reach for part in parts], axis=0)
    return RecordNorms(nearest, above * slack, spread * slack, reach)


def joint_norm(parts: Sequence[Norms]) -> Norms:
    """Norm of all parts together, to len(parts) units in the last place; NaN where one is NaN."""
    joint = parts[0]
    with np.errstate(over="ignore"):
        for part in parts[1:]:
            lost = np.isnan(joint) | np.isnan(part)  # hypot(inf, nan) is inf
            joint = np.where(lost, np.nan, np.hypot(joint, part))
    return joint


def product_norms(left: Array, right: Array) -> RecordNorms:
    """Norms of A^T G for (m, T, rows) and (m, T, columns), each computed from its record alone."""
    result = RecordNorms(*(np.zeros(len(left)) for _ in range(4)))
    left_out = np.arange(len(left))
    if left.shape[1] == 1:
        accurate = _put_norms_of_outer(left, right, result)
        left_out = left_out[~accurate]
    longest = left.shape[1] * max(left.shape[1:] + right.shape[2:])
    step = max(1, _ELEMENTS // max(1, longest))
    for first in range(0, len(left_out), step):
        part = left_out[first : first + step]
        for whole, values in zip(result, _norms_of(left[part], right[part]), strict=True):
            whole[part] = values
    return result


def _put_norms_of_outer(left: Array, right: Array, result: RecordNorms) -> npt.NDArray[np.bool_]:
    """Set the norms of a g^T from those of a and g; return where their product is accurate.

    The kernel adds squares of n numbers with far fewer than 200 + n / 64 roundings on any path.
    """
    a, g = per_sample_norms([left, right], per_layer=True).T
    rows, columns = left.shape[2], right.shape[2]
    result.nearest[...] = g * a
    result.above[...] = result.nearest * (1.0 + (256.0 + (rows + columns) / 64.0) * _UNIT)
    result.spread[...] = result.above
    result.reach[...] = np.sqrt(rows * columns) * 1.01 * (a + g + 2.0)
    extreme = [(x > 0.0) & (x < 2.0**-500) | (x > 2.0**500) for x in (a, g)]
    return np.asarray(~(extreme[0] | extreme[1]))


def _scaled(values: Array) -> tuple[Norms, npt.NDArray[Any], Norms]:
    """Return records times the power of two that brings their largest into [1/2, 1).

    Squares of squares of single precision neither overflow nor vanish: they stay as they are.
    """
    wide = Aligned().copy("values", values, np.float64)
    flat = wide.reshape(len(wide), -1)
    most = np.maximum(flat.max(axis=1, initial=0.0), -flat.min(axis=1, initial=0.0))
    finite = np.isfinite(most)
    if not finite.all():
        wide[~finite] = 0.0
    if values.dtype != np.float64:
        return wide, np.zeros(len(wide), np.intc), most
    _, exponent = np.frexp(np.where(finite & (most > 0.0), most, 1.0))
    np.ldexp(wide, -exponent[:, np.newaxis, np.newaxis], out=wide)
    return wide, exponent, most


def _norms_of(left: Array, right: Array) -> RecordNorms:
    r"""Norms, and bounds of them.

    An inner product of n numbers, in any order of summation, fused or not, is within n u / (1 - n
    u) <= 2 n u of the sum of magnitudes, which is at most the product of the two norms. With P =
    \sum_t |a_t| |g_t| the squared norm is so within 2 (rows + columns + T^2) u P^2, a few roundings
    of P and of the factors aside. Terms that underflow are below 2^-900 of the largest products.
    """
    with np.errstate(all="ignore"):
        a, a_exponent, a_most = _scaled(left)
        g, g_exponent, g_most = _scaled(right)
        times, rows, columns = a.shape[1], a.shape[2], g.shape[2]
        a_lengths, g_lengths = (np.sqrt(np.einsum("btk,btk->bt", x, x)) for x in (a, g))
        roundings = 2.0 * (rows + columns + times * times + 16)
        together = (a_lengths * g_lengths).sum(axis=1)
        wide = together * (1.0 + roundings * _UNIT)
        parts = (*_bounded(_gram(a, g), together, roundings), wide)
        nearest, above, spread = (np.ldexp(part, a_exponent + g_exponent) for part in parts)
        reach = times * np.sqrt(rows * columns) * (a_most + g_most + 2.0)
        finite = np.isfinite(a_most) & np.isfinite(g_most)
        nearest, above, spread = (np.where(finite, x, np.nan) for x in (nearest, above, spread))
        return RecordNorms(nearest, above, spread, np.where(finite, reach, 0.0))


def _bounded(squares: Norms, reach: Norms, roundings: float) -> tuple[Norms, Norms]:
    """Square roots, and upper bounds of the true ones."""
    above = np.maximum(squares, 0.0) + roundings * _UNIT * (reach * reach) * 1.0001
    above = np.where(reach > 0.0, above + 2.0**-900, 0.0)
    return np.sqrt(np.maximum(squares, 0.0)), np.sqrt(above) * (1.0 + 4.0 * _UNIT)


def _gram(a: Norms, g: Norms) -> Norms:
    """Sum of the products of inner products; strips of rows where T is large."""
    times = a.shape[1]
    strip = max(1, min(times, _ELEMENTS // max(1, times)))
    total = np.zeros(len(a))
    a_columns, g_columns = a.transpose(0, 2, 1), g.transpose(0, 2, 1)
    for first in range(0, times, strip):
        rows = slice(first, first + strip)
        total += np.sum((a[:, rows] @ a_columns) * (g[:, rows] @ g_columns), axis=(1, 2))
    return total


_WORTH_A_THREAD = 1 << 20  # bytes
_STRIP = 1 << 17  # numbers of a product at once, which are in a cache when they are added
Weights = npt.NDArray[np.float64]


class Piece(Protocol):
    """The gradients of some records with respect to one array of parameters."""

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

    One matrix product adds the products of all records. Its rounding is bounded in
    `ghost_clipping`, and the complete sum is rounded to the lattice.
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
        that underflow add less than the square of 2^-400.
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
