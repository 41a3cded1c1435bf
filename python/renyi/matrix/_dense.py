"""Any lower triangular matrix, and the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._progress import progress
from renyi._search import minimise
from renyi._validation import check_array, integer_of, numbers_of, set_fields
from renyi.matrix._strategy import (
    MOST_DENSE,
    PREFIX_SUMS,
    Sensitivity,
    Strategy,
    Workload,
    of_matrix,
    workload_of,
)
from renyi.matrix._toeplitz import row_squares
from renyi.mechanisms.participation import (
    ONCE,
    FixedEpochs,
    Participation,
    SinglePass,
    most_participations,
    participation_of,
    separation_of,
)

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class Dense(Strategy):
    """Any lower triangular matrix, a row and a column for each step.

    Its noise takes as many buffers as it has bands.

    Args:
        rows (array_like): A square matrix, zero above the diagonal, or its rows up to the diagonal.
            Finite, positive on the diagonal, of at most 8192 steps.

    >>> round(Dense.optimal(16).loss(), 6)
    1.689404
    >>> round(Dense([[1.0], [0.5, 1.0]]).column_norm, 6)
    1.118034
    """

    rows: tuple[tuple[float, ...], ...]
    _matrix: Matrix = field(init=False, repr=False, compare=False, hash=False)
    _optimal_for: Participation | None = field(init=False, repr=False, compare=False, hash=False)
    streams = "bands"

    def __init__(self, rows: Any) -> None:
        matrix = _triangle_of(rows)
        matrix.flags.writeable = False
        lines = tuple(tuple(row[: t + 1].tolist()) for t, row in enumerate(matrix))
        set_fields(self, rows=lines, _matrix=matrix, _optimal_for=None)

    @classmethod
    def optimal(
        cls,
        steps: int,
        *,
        participation: Participation = ONCE,
        bands: int | None = None,
        workload: Workload = PREFIX_SUMS,
    ) -> Dense:
        """Return the matrix of least mean loss, in O(steps^3) a step of the search.

        For a single pass it is the best of all matrices, for `FixedEpochs` the best of those where
        a record's columns share no row. For `MinSeparation` and `CyclicPoisson` it is the best with
        bands up to the separation and columns of equal norm.

        Args:
            steps: In [1, 8192]; some thousand take minutes.
            participation: The participation that the sensitivity is for; by default a single pass.
                A run of several epochs with the matrix for a single pass needs more noise, and
                warns.
            bands: Number of diagonals that may be nonzero.

        Source: Li, Miklau, Hay, McGregor, Rastogi 2015 (the matrix mechanism); Denisov and others
        2022, arXiv 2202.08312; Choquette-Choo and others 2022, arXiv 2211.06530.
        """
        length = integer_of(steps, "steps", 1)
        if length > MOST_DENSE:
            raise ValueError(f"steps must be an integer in [1, {MOST_DENSE}], got {steps!r}")
        fitted = cls(fit_dense(length, participation, bands, workload))
        set_fields(fitted, _optimal_for=participation)
        return fitted

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Number of steps of the training."""
        return len(self.rows)

    @property
    def bands(self) -> int:
        """Number of diagonals that are not zero."""
        rows, columns = np.nonzero(self._matrix)
        return int((rows - columns).max()) + 1

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        return of_matrix(self._matrix, participation)

    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1."""
        return row_squares(workload.matrix(self.steps), self._matrix)

    def matrix(self) -> Matrix:
        """Return C."""
        return self._matrix


def _triangle_of(rows: Any) -> Matrix:
    allowed = "a square lower triangular matrix of finite numbers, positive on its diagonal"
    if not np.iterable(rows):
        raise TypeError(f"rows must be {allowed}, got {type(rows).__name__}")
    check_array(rows, "rows")
    lines = [numbers_of(row, "rows", -math.inf, math.inf, allowed) for row in rows]
    steps = len(lines)
    if not 1 <= steps <= MOST_DENSE:
        raise ValueError(f"rows must be from 1 to {MOST_DENSE}, got {steps}")
    matrix = np.zeros((steps, steps))
    for t, (line, shape) in enumerate(lines):
        if len(shape) != 1 or len(line) not in (t + 1, steps) or line[t + 1 :].any():
            raise ValueError(f"rows must be {allowed}, got row {t} of shape {shape}")
        matrix[t, : t + 1] = line[: t + 1]
    if not np.isfinite(matrix).all() or not (np.diag(matrix) > 0.0).all():
        raise ValueError(f"rows must be {allowed}, got others")
    return matrix


def fit_dense(steps: int, participation: Any, bands: int | None, workload: Any) -> Matrix:
    """Return C of the least tr(A X^-1 A^T), diag X = 1 and X zero where a record's steps meet.

    The problem is convex. The gradient -X^-1 A^T A X^-1 is projected on the entries that are free.
    In fixed epochs only the sum of the diagonal over the steps of each record is fixed.
    """
    scheme = participation_of(participation)
    a = workload_of(workload).matrix(steps)
    free = _free_entries(steps, scheme, bands)
    if free.sum() == steps * (steps - 1):
        return _factor(_best_of_all(a), free)
    epochs = 1
    if isinstance(scheme, FixedEpochs) and steps % scheme.period == 0:
        epochs = most_participations(scheme, steps)

    def error(flat: Matrix) -> tuple[float, Matrix]:
        x = flat.reshape(steps, steps)
        try:
            np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return math.inf, flat
        h = np.linalg.solve(x, a.T)
        full = -(h @ h.T) / steps
        own = np.diag(full).reshape(epochs, -1)
        slope = np.where(free, full, 0.0) + np.diag((own - own.mean(axis=0)).ravel())
        return float(np.sum(h * a.T)) / steps, slope.ravel()

    best, _ = minimise(error, np.eye(steps).ravel(), title="dense", steps=2000, tolerance=1e-13)
    return _factor(best.reshape(steps, steps), free)


DUALITY_GAP = 1e-9  # relative to the mean variance
EXTRAPOLATION = 1.8  # factor of steps in log v: the map contracts slowly, 1 takes more rounds


def _best_of_all(a: Matrix) -> Matrix:
    """Return the X of least tr(M X^-1), M = A^T A, with diag X = 1.

    With V = diag(v) and S = (V^1/2 M V^1/2)^1/2 the best is V^-1/2 S V^-1/2 where v = diag S. Any v
    proves that the least is at least tr(S)^2 / sum(v) (its dual at the best multiple of v), and
    gives an X, scaled to diag X = 1, that attains some value: the search ends where both are close.
    """
    m = a.T @ a
    v = np.sqrt(np.diag(m))
    x = np.eye(len(m))
    for _ in progress(range(1000), "step", 2.0, title="dense"):
        root = np.sqrt(v)
        squares, vectors = np.linalg.eigh(m * np.outer(root, root))
        values = np.sqrt(np.maximum(squares, squares[-1] * 1e-30))
        s, inverse = ((vectors * weight) @ vectors.T for weight in (values, 1.0 / values))
        own = np.diag(s)
        scale = np.sqrt(own)
        x = s / np.outer(scale, scale)
        attained = float(np.sum(m * inverse * np.outer(scale, scale)))
        least = float(values.sum()) ** 2 / float(v.sum())
        if attained <= least * (1.0 + DUALITY_GAP):
            break
        v = v * (own / v) ** EXTRAPOLATION
    return x


def _free_entries(steps: int, scheme: Any, bands: int | None) -> npt.NDArray[np.bool_]:
    lag = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    if isinstance(scheme, SinglePass):
        free = lag > 0
    elif isinstance(scheme, FixedEpochs):
        free = lag % scheme.period != 0
    else:
        free = (lag > 0) & (lag < separation_of(scheme, steps))
    if bands is not None:
        free &= lag < integer_of(bands, "bands", 1)
    return free


def _factor(x: Matrix, free: npt.NDArray[np.bool_]) -> Matrix:
    """Return the lower triangular C with C^T C = X: Cholesky's factor of X turned about.

    The plain factor has C C^T = X, and its columns have different norms.
    """
    c = np.ascontiguousarray(np.linalg.cholesky(x[::-1, ::-1]).T[::-1, ::-1])
    rows, columns = np.nonzero(free)
    reach = int((rows - columns).max(initial=0)) + 1
    return np.tril(np.triu(c, 1 - reach))
