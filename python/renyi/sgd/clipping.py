"""Norms of per-sample gradients, and sums of clipped ones, at the speed of memory.

An array has the shape (B, ...) with a row for each sample; in a list of arrays, row i of all of
them together is one row. Arrays of float16, bfloat16, float32 and float64, of NumPy, ml_dtypes,
PyTorch or JAX on the CPU and of any strides, are read in place: once where a few rows fit in a
cache, twice otherwise. No copy of their size is allocated. Each number is read exactly; all
arithmetic is in double precision, whatever the dtype of the rows, and so is the sum unless float32
is asked for.

A clipped row's norm is at most `max_grad_norm` in real arithmetic: factors are rounded down, the
rounding of products included. Sums in double precision are exact, see `clip_and_sum`. In single
precision every addition rounds, and a record can change the rounding as well (Casacuberta,
Shoemate, Vadhan, Wagaman 2022, arXiv 2207.10635), by as much as the norm itself where thousands of
rows are summed.

The sum is not divided by anything: the number of rows is private under Poisson sampling. Divide
by a public constant, after the noise.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, adjacency_of
from renyi._arrays import (
    Array,
    Arrays,
    contiguous,
    copy_back,
    float_dtype,
    rows_of,
    sum_dtype,
    sums_for,
    threads_of,
)
from renyi._training import weigh_into
from renyi._validation import array_of
from renyi.sgd.rules import (
    Clipping,
    Nonfinite,
    Norms,
    Rule,
    bound_of,
    norms_for,
    refuse_nonfinite,
    refuse_too_many,
    rule_of,
    run_rule,
    sensitivity_of,
)
from renyi.sgd.sums import ClippedSum, PrivateDiagnostics


def per_sample_norms(
    grads: Any, *, per_layer: bool = False, out: Norms | None = None, threads: int | None = None
) -> Norms:
    """Return the Euclidean norm of each row. It is private, like the rows.

    Args:
        grads (array or list of arrays): One array (B, ...), or several whose joint norm is taken.
        per_layer: A norm for each array instead: the result is (B, arrays).
        out: Array for the norms.
        threads: By default all processors, or one for less than 8 MiB. The result does not depend
            on it.

    Returns:
        Shape (B,) or (B, arrays). Squares are summed in double precision, scaled where they would
        overflow. NaN for a row with an element that is not finite.

    >>> per_sample_norms(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([5., 1.])
    """
    rows = rows_of(grads, bfloat16=True)
    groups = tuple(range(len(rows.arrays))) if per_layer else (0,) * len(rows.arrays)
    rule = Rule("flat", (1.0,) * (max(groups) + 1), groups, 0.0, 1.0)
    norms = norms_for(rows, rule, per_layer, out, [], "out")
    run_rule(rows, rule, [], False, norms, threads_of(threads, rows.nbytes))
    return norms


def clip_and_sum(
    grads: Any,
    max_grad_norm: Any,
    *,
    clipping: Clipping = "flat",
    stability: float = 0.01,
    adjacency: Adjacency = "add_remove",
    dtype: npt.DTypeLike | None = None,
    out: Arrays | None = None,
    norms_out: Norms | None = None,
    threads: int | None = None,
    nonfinite: Nonfinite = "zero",
) -> ClippedSum:
    r"""Clip every row to a norm, and return the sum.

    Args:
        grads (array or list of arrays): One array (B, ...), or several with B rows each, B at most
            2^24. B may be 0: the sum is zero then, and gets noise like any other.
        max_grad_norm (float or sequence of float): The bound C, in [2^-96, 2^96]. With "per_layer"
            one for each array, or a number that is shared evenly, C over the square root of the
            number of arrays.
        clipping ({"flat", "per_layer", "automatic"} or ClipGroups): "flat": a row with norm N is
            multiplied by min(1, C / N). "per_layer": the same for each array by itself.
            `ClipGroups`: the same for some arrays together, then for others. "automatic": every row
            is multiplied by C / (N + stability) (Bu et al. 2022, with :math:`\gamma` for
            ``stability``).
        stability: The stability constant of automatic clipping, in [0, 2^96].
        adjacency ({"add_remove", "replace_one", "zero_out"}): Neighbours that
            `ClippedSum.sensitivity` is for.
        dtype: The dtype of the sum: float64, which is exact, or float32 where no guarantee rests on
            the sum, see `ClippedSum`. By default that of ``out``, and without ``out`` float64.
        out: Array for the sum.
        norms_out: Array for the norms before clipping, (B,) or with "per_layer" (B, arrays), with
            `ClipGroups` (B, groups). The norms are private.
        threads: By default all processors, or one for less than 8 MiB. The sum is the same, bit for
            bit, for any number.
        nonfinite ({"zero", "raise"}): A row with NaN or infinity contributes zero and is counted;
            an error would reveal something about a record. "raise" is for debugging without private
            data: it reads the rows once more.

    For a sum in double precision every entry of a clipped row is rounded to a multiple of g, the
    power of two between 2^-29 and 2^-28 of the bound; the factor is small enough that the row's
    norm still stays below the bound. Sums of up to 2^24 such rows are doubles: no addition rounds,
    and batches that differ in a record have sums that differ by its row, exactly.

    >>> clipped = clip_and_sum(np.array([[3.0, 4.0], [0.5, 0.0]]), 1.0)
    >>> clipped.sum.round(6)
    array([1.1, 0.8])
    >>> clipped.sensitivity
    1.0
    """
    rows = rows_of(grads, bfloat16=True)
    refuse_too_many(rows.count)
    rule = rule_of(clipping, max_grad_norm, stability, len(rows.arrays))
    kind = sum_dtype(dtype, out)
    sensitivity = sensitivity_of(rule.total, adjacency_of(adjacency), kind)
    sums = sums_for(rows, kind, out)
    norms = norms_for(rows, rule, rule.by_group, norms_out, sums)
    count = threads_of(threads, rows.nbytes)
    refuse_nonfinite(rows, nonfinite, count)
    targets = contiguous(sums)
    factors = run_rule(rows, rule, targets, False, norms, count)
    copy_back(targets, sums)
    private = PrivateDiagnostics(norms, factors)
    return ClippedSum(rows.like_given(sums), sensitivity, rule.bounds, clipping, adjacency, private)


def weighted_sum(
    grads: Any,
    weights: npt.ArrayLike,
    *,
    dtype: npt.DTypeLike | None = None,
    out: Arrays | None = None,
    threads: int | None = None,
) -> Arrays:
    """Return the sum of rows times weights: private unless these bound what a row contributes.

    Args:
        grads (array or list of arrays): One array (B, ...), or several with B rows each.
        weights: B finite numbers. They and the products are rounded to the precision of the sum. A
            row of weight 0 is not read: it may hold anything.
        dtype, out, threads: As for `clip_and_sum`.

    >>> weighted_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), [0.5, 1.0])
    array([3.5, 5. ])
    """
    rows = rows_of(grads, bfloat16=True)
    given = array_of(weights, "weights", f"{rows.count} numbers")
    if given.dtype.kind not in "iuf" or given.shape != (rows.count,):
        raise ValueError(f"weights must be {rows.count} numbers, got an array {given.shape}")
    factors = np.ascontiguousarray(given, dtype=np.float64)
    if not np.isfinite(factors).all():
        raise ValueError("weights must be finite, got one that is not")
    sums = sums_for(rows, sum_dtype(dtype, out), out)
    targets = contiguous(sums)
    weigh_into(rows.arrays, targets, False, factors, 0.0, threads_of(threads, rows.nbytes))
    copy_back(targets, sums)
    return rows.like_given(sums)


@dataclass(frozen=True, eq=False)
class ClippedAverage:
    """A clipped average, before noise.

    Attributes:
        average: An array, or a list of arrays where the gradients were a list.
        sensitivity: The largest Euclidean distance between the averages of any two batches.
        private: Norms of the rows, not for publication. No row is clipped by itself.
    """

    average: Arrays
    sensitivity: float
    private: PrivateDiagnostics = field(repr=False)


def average_clipped_at_half(
    grads: Any, max_change: float, *, dtype: npt.DTypeLike = np.float64, threads: int | None = None
) -> ClippedAverage:
    r"""Average the rows (not finite ones as zero), and clip the average at half of ``max_change``.

    .. math:: \operatorname{clip}_{C/2}\Bigl(\frac{1}{B} \sum_i g_i\Bigr), \qquad
              \operatorname{clip}_c(y) = y / \max(1, \lVert y \rVert / c)

    Any two batches, of any sizes, give results at most :math:`C` apart: :math:`C` is the
    sensitivity for every kind of neighbours, and the noise is a multiple of it. Analyses of noisy
    gradient descent that look at a step as a whole use this convention. One record may use up all
    of the sensitivity, so the noise does not become small beside the gradient of a large batch: for
    training use `clip_and_sum`, which bounds each record.

    Args:
        grads (array or list of arrays): One array (B, ...), or several with B rows each. The
            average of no rows is zero.
        max_change: :math:`C`, in [2^-94, 2^96]. The norm of the result is at most half of it in
            real arithmetic.
        dtype, threads: As for `clip_and_sum`. The average is taken in double precision.

    >>> average_clipped_at_half(np.array([[3.0, 0.0], [3.0, 8.0]]), 2.0).average.round(6)
    array([0.6, 0.8])
    """
    rows = rows_of(grads, bfloat16=True)
    bound = bound_of(bound_of(max_change, "max_change") / 2.0, "max_change / 2")
    kind = float_dtype(dtype)
    count = threads_of(threads, rows.nbytes)
    share = Rule("constant", (1.0 / max(rows.count, 1),), (0,) * len(rows.arrays), 0.0, 0.0)
    norms = norms_for(rows, share, False, None, [])
    means: list[Array] = [np.empty(shape, np.float64) for shape in rows.shapes]
    run_rule(rows, share, means, False, norms, count)
    clipped = clip_and_sum([mean[np.newaxis] for mean in means], bound, dtype=kind, threads=count)
    private = PrivateDiagnostics(norms, np.where(np.isnan(norms), 0.0, 1.0))
    return ClippedAverage(rows.like_given(clipped.arrays), 2.0 * bound, private)
