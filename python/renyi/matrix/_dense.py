"""Any lower triangular matrix, and the best one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of
from renyi.matrix._sensitivity import Sensitivity, of_matrix
from renyi.matrix._strategy import MOST_DENSE, Strategy
from renyi.matrix._toeplitz import row_squares
from renyi.matrix._workloads import PREFIX_SUMS, Workload
from renyi.mechanisms.participation import ONCE, Participation

__all__ = ["Dense"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class Dense(Strategy):
    """Any lower triangular matrix, a row and a column for each step.

    Its noise takes as many buffers as it has bands.

    Parameters
    ----------
    rows : array_like
        A square matrix, zero above the diagonal, or its rows up to the diagonal. Finite, positive
        on the diagonal, of at most 8192 steps.

    Examples
    --------
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
        object.__setattr__(self, "rows", lines)
        object.__setattr__(self, "_matrix", matrix)
        object.__setattr__(self, "_optimal_for", None)

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

        Of a single pass it is the best of all, of `FixedEpochs` the best where a record's columns
        share no row. Of `MinSeparation` and `CyclicPoisson` it is the best with bands up to the
        separation and columns of one norm.

        Parameters
        ----------
        steps : int
            In [1, 8192]; some thousand take minutes.
        participation : Participation
            What the sensitivity is of; by default a single pass. A run of several epochs with the
            matrix for a single pass needs more noise, and warns.
        bands : int, optional
            Diagonals that may be other than zero.
        workload : Workload
            The queries.

        References
        ----------
        Li, Miklau, Hay, McGregor, Rastogi 2015 (the matrix mechanism); Denisov and others 2022,
        arXiv 2202.08312; Choquette-Choo and others 2022, arXiv 2211.06530.
        """
        from renyi.matrix._fit_dense import fit_dense

        length = integer_of(steps, "steps", 1)
        if length > MOST_DENSE:
            raise ValueError(f"steps must be an integer in [1, {MOST_DENSE}], got {steps!r}")
        fitted = cls(fit_dense(length, participation, bands, workload))
        object.__setattr__(fitted, "_optimal_for", participation)
        return fitted

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Of the training."""
        return len(self.rows)

    @property
    def bands(self) -> int:
        """Diagonals that are not zero."""
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
    try:
        lines = [np.asarray(row, dtype=float) for row in rows]
    except (TypeError, ValueError) as error:
        raise TypeError(f"rows must be {allowed}, got {type(rows).__name__}") from error
    steps = len(lines)
    if not 1 <= steps <= MOST_DENSE:
        raise ValueError(f"rows must be from 1 to {MOST_DENSE}, got {steps}")
    matrix = np.zeros((steps, steps))
    for t, line in enumerate(lines):
        if line.ndim != 1 or len(line) not in (t + 1, steps) or line[t + 1 :].any():
            raise ValueError(f"rows must be {allowed}, got row {t} of shape {line.shape}")
        matrix[t, : t + 1] = line[: t + 1]
    if not np.isfinite(matrix).all() or not (np.diag(matrix) > 0.0).all():
        raise ValueError(f"rows must be {allowed}, got others")
    return matrix
