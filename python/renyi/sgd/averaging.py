"""The average of gradients, clipped as one vector: not the clipping of each record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi.sgd._arrays import float_dtype
from renyi.sgd._clipped_sum import PrivateDiagnostics
from renyi.sgd._kernel import norms_for, run_rule
from renyi.sgd._rows import Array, Arrays, rows_of
from renyi.sgd._rule import Rule, bound_of
from renyi.sgd._threads import threads_of
from renyi.sgd.clipping import clip_and_sum

__all__ = ["ClippedAverage", "average_clipped_at_half"]


@dataclass(frozen=True, eq=False)
class ClippedAverage:
    """A clipped average, before noise.

    Attributes
    ----------
    average : ndarray or list of ndarray
        As the gradients were given.
    sensitivity : float
        How far the averages of any two batches are apart, in the Euclidean norm.
    private : PrivateDiagnostics
        Norms of the rows: not for publication. No row is clipped by itself.
    """

    average: Arrays
    sensitivity: float
    private: PrivateDiagnostics = field(repr=False)


def average_clipped_at_half(
    grads: Any,
    max_change: float,
    *,
    dtype: npt.DTypeLike = np.float64,
    threads: int | None = None,
) -> ClippedAverage:
    r"""Average the rows, then clip the average at half of ``max_change``.

    .. math:: \operatorname{clip}_{C/2}\Bigl(\frac{1}{B} \sum_i g_i\Bigr), \qquad
              \operatorname{clip}_c(y) = y / \max(1, \lVert y \rVert / c)

    Any two batches whatever, of any sizes, give results at most :math:`C` apart: that is the
    sensitivity for every kind of neighbours, and the noise is a multiple of it. It is the
    convention of analyses of noisy gradient descent that look at a step as a whole. One record may
    use up all of it, so the noise does not become small beside the gradient of a large batch: for
    training use `clip_and_sum`, which bounds each record.

    Parameters
    ----------
    grads : array or list of arrays
        One array (B, ...), or several with B rows each. The average of no rows is zero.
    max_change : float
        :math:`C`, in [2^-94, 2^96]. The norm of the result is at most half of it in real
        arithmetic.
    dtype, threads
        As for `clip_and_sum`. The average is taken in double precision.

    Returns
    -------
    ClippedAverage
        Rows that are not finite count as zero.

    Raises
    ------
    TypeError, ValueError
        If arguments are not as above.

    Examples
    --------
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
