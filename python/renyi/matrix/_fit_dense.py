"""The matrix of least mean loss, over the Gram matrices X = C^T C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of
from renyi.matrix._minimise import minimise
from renyi.matrix._workloads import workload_of
from renyi.mechanisms.participation import (
    FixedEpochs,
    SinglePass,
    most_participations,
    participation_of,
    separation_of,
)

__all__ = ["fit_dense"]

Matrix = npt.NDArray[np.float64]


def fit_dense(steps: int, participation: Any, bands: int | None, workload: Any) -> Matrix:
    """Return C of the least tr(A X^-1 A^T), diag X = 1 and X zero where a record's steps meet.

    Convex. The gradient -X^-1 A^T A X^-1 is projected on the entries that are free. In fixed epochs
    only the sum of the diagonal over the steps of each record is fixed.
    """
    scheme = participation_of(participation)
    a = workload_of(workload).matrix(steps)
    free = _free_entries(steps, scheme, bands)
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

    The plain factor has C C^T = X, and its columns no common norm.
    """
    c = np.ascontiguousarray(np.linalg.cholesky(x[::-1, ::-1]).T[::-1, ::-1])
    rows, columns = np.nonzero(free)
    reach = int((rows - columns).max(initial=0)) + 1
    return np.tril(np.triu(c, 1 - reach))
