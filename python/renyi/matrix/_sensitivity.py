"""How far one record moves C g: the largest norm of a sum of columns of C, rounded up.

Vectors weigh the columns, clipped to norm 1. Where the entries of C^T C are not negative, all equal
ones are the worst (Choquette-Choo and others 2022, arXiv 2211.06530); otherwise the entries are
replaced by their absolute values, which bounds every sign.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi._matrix import best_selection
from renyi.mechanisms.participation import (
    FixedEpochs,
    MinSeparation,
    Participation,
    SinglePass,
    most_participations,
    separation_of,
)

__all__ = ["Sensitivity", "of_matrix", "of_toeplitz", "of_tree"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

_UNIT = 2.0**-53


class Sensitivity(float):
    """A number that is never below the sensitivity, and whether a theorem says it is reached.

    Attributes
    ----------
    exact : bool
        If so, all that it is above by is rounding. If not, it is a bound.
    """

    exact: bool

    def __new__(cls, value: float, exact: bool) -> Sensitivity:
        """Return the number with what is known of it."""
        made = super().__new__(cls, value)
        made.exact = exact
        return made

    def __getnewargs__(self) -> tuple[float, bool]:  # type: ignore[override]
        return float(self), self.exact


def rounded_up(
    square: float, roundings: float, exact: bool, relative: float = 0.0, scale: float = 1.0
) -> Sensitivity:
    """Return ``scale`` times the root of a sum of products of numbers that are not negative.

    ``roundings`` on the way to the square make it low by a factor (1 - 2^-53)^roundings at most,
    ``relative`` is the error of the numbers themselves. 1/(1 - x) <= 1 + 2 x for x <= 1/2.
    """
    error = (roundings + 8.0) * _UNIT + relative
    root = math.nextafter(math.sqrt(square) * (1.0 + 2.0 * error), math.inf)
    return Sensitivity(math.nextafter(root * scale, math.inf) if scale != 1.0 else root, exact)


def _scaled(c: Matrix) -> tuple[Matrix, float]:
    """Return numbers of which the largest is about 1, and the power of 2 that they are to be times.

    Squares of others may underflow, which the margin of `rounded_up` covers; none overflows.
    """
    largest = float(np.abs(c).max())
    if 2.0**-300 < largest < 2.0**300 or not math.isfinite(largest):
        return c, 1.0
    exponent = max(math.frexp(largest)[1] - 1, -1022)
    return np.ldexp(c, -exponent), math.ldexp(1.0, exponent)


def of_toeplitz(
    c: Vector, steps: int, participation: Participation, relative: float = 0.0
) -> Sensitivity:
    """Return that of a Toeplitz matrix with this first column, each entry within ``relative``."""
    if isinstance(participation, SinglePass) or len(c) <= separation_of(participation, steps):
        return _apart(c, steps, participation, relative)
    c, scale = _scaled(c)
    size = np.abs(c)
    exact = bool((c >= 0.0).all())
    if isinstance(participation, MinSeparation):
        # Kalinin, Lampert 2024, arXiv 2405.13763, Theorem 2: for entries that do not increase, the
        # first steps and the smallest distance are the worst. Others stay below those that do not.
        exact = exact and bool((np.diff(c) <= 0.0).all())
        size = np.maximum.accumulate(size[::-1])[::-1]
    count = most_participations(participation, steps)
    total = _sum_of_shifts(size, steps, separation_of(participation, steps), count)
    return rounded_up(float(total @ total), steps + 4.0 * count, exact, relative, scale)


def _apart(c: Vector, steps: int, participation: Participation, relative: float) -> Sensitivity:
    """Return that of columns that share no row: the longest ones, as early as may be."""
    c, scale = _scaled(c)
    separation, square = separation_of(participation, steps), np.cumsum(c * c)
    lengths = steps - separation * np.arange(most_participations(participation, steps))
    total = float(square[np.minimum(lengths, len(c)) - 1].sum())
    return rounded_up(total, len(c) + len(lengths), True, relative, scale)


def _sum_of_shifts(c: Vector, steps: int, separation: int, count: int) -> Vector:
    """Return c + shift(c, separation) + .. , ``count`` terms cut to ``steps`` rows.

    Row q separation + r is the sum over a window of ``count`` blocks. Windows are the end of one
    run of ``count`` blocks and the beginning of the next, so that nothing is subtracted.
    """
    runs = -(-steps // (separation * count))
    padded = np.zeros(runs * count * separation)
    padded[: min(steps, len(c))] = c[:steps]
    blocks = padded.reshape(runs, count, separation)
    total = np.cumsum(blocks, axis=1)
    total[1:, :-1] += np.cumsum(blocks[:-1, :0:-1], axis=1)[:, ::-1]
    return np.ravel(total)[:steps]


def _of_columns(square: Vector, participation: Participation, scale: float) -> Sensitivity:
    """Return that of columns of these squared norms, which share no row if of one record."""
    steps = len(square)
    separation = separation_of(participation, steps)
    if isinstance(participation, FixedEpochs):
        epochs = -(-steps // separation)
        padded = np.zeros(epochs * separation)
        padded[:steps] = square
        best = float(padded.reshape(epochs, separation).sum(axis=0).max())
    else:
        most = most_participations(participation, steps)
        best = float(best_selection(square[None, :], separation, most)[0])
    return rounded_up(best, 2.0 * steps, True, 0.0, scale)


def of_matrix(c: Matrix, participation: Participation) -> Sensitivity:
    """Return that of any matrix, a column for each step."""
    steps = c.shape[1]
    separation = separation_of(participation, steps)
    apart = isinstance(participation, SinglePass) or _reach(c) <= separation
    c, scale = _scaled(c)
    if apart:
        return _of_columns(np.einsum("ij,ij->j", c, c), participation, scale)
    size = np.abs(c)
    exact = bool((c >= 0.0).all())
    # Entries of C^T C are sums of len(c) products: off by so many 2^-53 of the sum of their sizes.
    gram = size.T @ size if exact else np.abs(c.T @ c)
    if not exact:
        gram += 2.0 * len(c) * _UNIT * (size.T @ size)
    if isinstance(participation, FixedEpochs):
        classes = (np.arange(i, steps, separation) for i in range(separation))
        best = max(float(gram[np.ix_(own, own)].sum()) for own in classes)
    else:
        exact = False  # the selection of each row need not be that of the columns
        most = most_participations(participation, steps)
        rows = best_selection(np.ascontiguousarray(gram), separation, most)
        best = float(best_selection(rows[None, :], separation, most)[0])
    return rounded_up(best, 4.0 * steps + 2.0 * len(c), exact, 0.0, scale)


def _reach(c: Matrix) -> int:
    """Return from which distance on two columns share no row."""
    rows, columns = np.nonzero(c)
    first = np.full(c.shape[1], len(c))
    last = np.full(c.shape[1], -1)
    np.minimum.at(first, columns, rows)
    np.maximum.at(last, columns, rows)
    begins = np.minimum.accumulate(first[::-1])[::-1]  # the first row of this column or later ones
    # Column j meets column i > j unless all columns from i on begin after the end of column j.
    apart = np.searchsorted(begins, last, side="right") - np.arange(c.shape[1])
    return max(int(apart.max(initial=1)), 1)


def of_tree(heights: int, steps: int, participation: Participation) -> Sensitivity:
    """Return that of a binary tree with nodes of so many heights.

    A record is in one node of each height for each time it takes part. A node of height h has 2^h
    steps, hence room for m = min(k, ceil(2^h / separation)) of its k times, and the squares of
    numbers of sum k that are at most m sum to k m at most.
    """
    most = most_participations(participation, steps)
    separation = separation_of(participation, steps)
    square = sum(most * min(most, -(-(2**h) // separation)) for h in range(heights))
    return rounded_up(float(square), 2.0, most == 1)
