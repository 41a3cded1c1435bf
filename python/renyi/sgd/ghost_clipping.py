r"""Clipping by layers, without a gradient for each sample and array at once.

Sample i of a linear layer has the gradient :math:`A_i^T G_i` of its weights. A_i (T, inputs) are
the activations that entered the layer, G_i (T, outputs) the gradients of the sample's own loss with
respect to the outputs of the layer; T = 1 without a time axis. The norm needs inner products of
rows only,

.. math:: \lVert A_i^T G_i \rVert^2 = \sum_{s,t} (A_i A_i^T)_{st} (G_i G_i^T)_{st}

(Goodfellow 2015; Li, Tramèr, Liang, Hashimoto 2022), and the clipped sum is one matrix product.
Where T is large it takes less time to compute the gradients of a few samples, their norms and their
sum (Bu, Mao, Xu 2022 choose by layer, too); layers without such a product do the same. Embeddings
look up the rows of their table that a sample touches.

Norms are rounded up, by a bound of the rounding of any order of summation, and factors down: every
clipped gradient has a norm of at most `max_grad_norm` in real arithmetic. Gradients that were
computed are rounded to a lattice and added exactly, as by `clip_and_sum`. The rounding of products
over many samples is bounded, and gradients are clipped at a norm smaller by this bound.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, adjacency_of, one_of
from renyi._arrays import Array, float_dtype, threads_of
from renyi._training import sum_spacing
from renyi.sgd.layer_norms import Piece, RecordNorms, joint_norms
from renyi.sgd.layers import Layer, Work, works_of
from renyi.sgd.rules import (
    MOST_ROUNDING,
    ClipGroups,
    Rule,
    refuse_too_many,
    rule_of,
    sensitivity_of,
)
from renyi.sgd.sums import ClippedSum, PrivateDiagnostics

_UNIT = 2.0**-53
_SPREAD = 1024.0


class Group:
    r"""Arrays of parameters that are clipped together.

    Let w be the factors and N, P the bounds of `RecordNorms` for a record. Gradients that are
    computed, of D entries, are multiplied and rounded to the lattice of spacing g as in
    clipping.hpp, which adds g/2 sqrt(D) to their norm at most. For products a part `2
    MOST_ROUNDING` of the bound is kept for rounding that is neither due to one record nor equal in
    neighbouring batches, see `rounding_of`; it is that small for w P <= _SPREAD C.
    """

    def __init__(self, bound: float, arrays: Sequence[tuple[tuple[int, ...], bool]]) -> None:
        """Take the shape of each array, and whether its sum is a product over many samples."""
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
    are added exactly. Neighbours, and the parts of their batches, may differ in all of this
    rounding: their sums still differ by C at most if the rounding is at most `MOST_ROUNDING` in all
    parts of each.
    """
    used = [work for work in works if any(work.by_products)]
    if not used or not used[0].count:
        return 0.0
    count, times = used[0].count, max(work.times for work in used)
    spread = 1.0 if times == 1 else _SPREAD
    product = (count * (times + 1.0) + 4.0) * _UNIT * 1.001 * count * spread
    lattice = max(g.spacing / g.bound * math.sqrt(g.product_entries) for g in groups)
    return product + 0.5 * lattice * (1.0 + 8.0 * _UNIT)


_BYTES = 1 << 22  # of gradients and copies at once, or of one record
GhostClipping = Literal["flat", "per_layer"] | ClipGroups


def ghost_clip_and_sum(
    layers: Sequence[Layer],
    max_grad_norm: Any,
    *,
    clipping: GhostClipping = "flat",
    adjacency: Adjacency = "add_remove",
    dtype: npt.DTypeLike = np.float64,
    threads: int | None = None,
) -> ClippedSum:
    """Clip each sample's gradients of all layers, and return the sum.

    Args:
        layers: `LinearLayer`, `ConvLayer`, `EmbeddingLayer`, `NormLayer`, `BiasLayer` or
            `LoRALayer`, with the same number of samples; a plain (activations, output_gradients) is
            a linear one. Each array of parameters belongs to one layer only. Where products over
            all samples are made (linear layers and convolutions over few times) at most a million
            samples, or with a time axis so few that their square times its length is at most 2^31.
        max_grad_norm (float or sequence of float): The bound, in [2^-96, 2^96]; with "per_layer" as
            for `clip_and_sum`. Where there are such products, 1/1024 of the bound is kept for
            rounding.
        clipping ({"flat", "per_layer"} or ClipGroups): The joint norm of all arrays of parameters,
            each by itself, or by groups.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Neighbours that
            `ClippedSum.sensitivity` is for.
        dtype: The dtype of the sum: float64, or float32 where no guarantee rests on it, see
            `ClippedSum`.
        threads: Threads of all but the matrix products, by default all processors, or one for less
            than 8 MiB. Matrix products are NumPy's, with the threads of its library.

    Returns:
        A `ClippedSum` that lists the arrays of parameters of each layer in their order: weights or
        table or gain, then the bias; A and B of an adapter. A sample with a number that is not
        finite contributes zero.

    Records are processed a few at a time: beyond arguments and sum the memory is some MiB, or that
    of the gradients of one record. Gradients are computed in the precision of the arrays, at least
    single. The gradient of a record is the same in any batch if its matrices have the same layout
    in memory (they are copied for that), and the products of the library depend on nothing else.

    >>> from renyi.sgd import LinearLayer
    >>> layer = LinearLayer(np.array([[3.0, 4.0]]), np.array([[2.0]]), bias=False)
    >>> ghost_clip_and_sum([layer], 1.0).sum[0].round(2)
    array([[0.6],
           [0.8]])
    """
    works = works_of(layers)
    if not isinstance(clipping, ClipGroups):
        one_of(clipping, "clipping", ("flat", "per_layer"))
    arrays = [pair for work in works for pair in zip(work.shapes, work.by_products, strict=True)]
    rule = rule_of(clipping, max_grad_norm, 0.0, len(arrays))
    kind = float_dtype(dtype)
    count = _threads_of(threads, works)
    refuse_too_many(works[0].count, "layers")
    groups = [
        Group(bound, [pair for pair, of in zip(arrays, rule.groups, strict=True) if of == k])
        for k, bound in enumerate(rule.bounds)
    ]
    rounding = rounding_of(works, groups)
    sensitivity = sensitivity_of(rule.total, adjacency_of(adjacency), kind)
    sums = [np.zeros(shape) for shape, _ in arrays]
    with np.errstate(all="ignore"):
        private = _add_clipped(works, groups, rule, sums, count)
    for array, (_, product), of in zip(sums, arrays, rule.groups, strict=True):
        if product:
            _round_to(groups[of].spacing, array)
    sums = [array.astype(kind, copy=False) for array in sums]
    return ClippedSum(sums, sensitivity, rule.bounds, clipping, adjacency, private, None, rounding)


def _add_clipped(
    works: list[Work], groups: list[Group], rule: Rule, sums: list[Array], threads: int
) -> PrivateDiagnostics:
    """Add the clipped gradients of all records to the sums."""
    shape = (works[0].count, len(groups))
    norms, factors = np.empty(shape), np.empty(shape)
    for part, pieces in _pieces(works):
        found = _norms(pieces, rule.groups, threads)
        norms[part] = _nearest(found)
        for k, (group, own) in enumerate(zip(groups, found, strict=True)):
            factors[part, k] = group.factors(own)
        factors[part][np.isnan(norms[part]).any(axis=1)] = 0.0
        for piece, total, k in zip(pieces, sums, rule.groups, strict=True):
            weights = np.ascontiguousarray(factors[part, k])
            piece.add(weights, groups[k].spacing, total, threads)
    if not rule.by_group:
        norms, factors = norms[:, 0], factors[:, 0]
    return PrivateDiagnostics(norms, factors)


def _threads_of(threads: int | None, works: list[Work]) -> int:
    return threads_of(threads, works[0].count * sum(work.record_bytes for work in works))


def _pieces(works: list[Work]) -> Iterator[tuple[slice, list[Piece]]]:
    """Yield a few records at a time, with what all layers know of them."""
    needed = sum(work.record_bytes for work in works)
    step = max(1, _BYTES // max(1, needed))
    for first in range(0, works[0].count, step):
        part = slice(first, min(first + step, works[0].count))
        yield part, [piece for work in works for piece in work.pieces(part)]


def _norms(pieces: list[Piece], groups: Sequence[int], threads: int) -> list[RecordNorms]:
    """Return the norms of each group."""
    found = [piece.norms(threads) for piece in pieces]
    return [
        joint_norms([norms for norms, of in zip(found, groups, strict=True) if of == k])
        for k in range(max(groups) + 1)
    ]


def _nearest(found: list[RecordNorms]) -> npt.NDArray[np.float64]:
    """Return (m, norms); a record that is not finite in one has NaN in all."""
    nearest = np.stack([norms.nearest for norms in found], axis=1)
    nearest[np.isnan(nearest).any(axis=1)] = np.nan
    return nearest


def _round_to(spacing: float, array: Array) -> None:
    """Round a sum in place to multiples of the spacing of clipped sums."""
    array /= spacing
    np.rint(array, out=array)
    array *= spacing
