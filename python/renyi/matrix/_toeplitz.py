"""Toeplitz strategies: the square root of the prefix sums, and banded ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._search import minimise
from renyi._training import solve_toeplitz, toeplitz_error
from renyi._validation import integer_of, real_of, set_fields, uses_of
from renyi.matrix._strategy import (
    PREFIX_SUMS,
    Loss,
    Sensitivity,
    Strategy,
    Workload,
    loss_of,
    mean_form,
    of_toeplitz,
    overlaps_of_matrix,
    overlaps_of_toeplitz,
    rounded_up,
    workload_of,
)
from renyi.mechanisms.participation import (
    Overlaps,
    Participation,
    most_participations,
    separation_of,
)

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@lru_cache(maxsize=8)
def root_coefficients(count: int) -> Vector:
    """Return binom(2k, k) / 4^k, each within 3 k 2^-53."""
    factors = 1.0 - 0.5 / np.arange(1, count)
    found: Vector = np.concatenate([[1.0], np.cumprod(factors)])
    found.flags.writeable = False
    return found


class ToeplitzStrategy(Strategy):
    """A strategy whose columns are shifts of the first column."""

    __slots__ = ()

    def first_column(self) -> Vector:
        """Return the first column of C up to its last nonzero entry."""
        raise NotImplementedError

    def _relative(self) -> float:
        """Return the relative error of a coefficient."""
        return 0.0

    @property
    def bands(self) -> int:
        """Diagonals that are not zero."""
        return self.steps

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        return of_toeplitz(self.first_column(), self.steps, participation, self._relative())

    def _overlaps(self, batches: int) -> Overlaps:
        column = self.first_column()
        return overlaps_of_toeplitz(column, self.steps, batches, self._relative())

    def _solve(self, vector: Vector) -> Vector:
        """Return C^-1 times a vector."""
        solved = np.array(vector)
        solve_toeplitz(np.ascontiguousarray(self.first_column()), solved)
        return solved

    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1."""
        if workload.rates is not None:
            return row_squares(workload.matrix(self.steps), self.matrix())
        errors: Vector = np.cumsum(self._solve(workload.kernel(self.steps)) ** 2)
        return errors

    def matrix(self) -> Matrix:
        """Return C."""
        self._written_out()
        column = np.zeros(self.steps)
        given = self.first_column()[: self.steps]
        column[: len(given)] = given
        lag = np.subtract.outer(np.arange(self.steps), np.arange(self.steps))
        c: Matrix = np.where(lag >= 0, column[np.maximum(lag, 0)], 0.0)
        return c


def row_squares(workload: Matrix, c: Matrix) -> Vector:
    """Return the squared norms of the rows of B = A C^-1."""
    b = np.linalg.solve(c.T, workload.T)
    squares: Vector = np.einsum("ij,ij->j", b, b)
    return squares


@dataclass(frozen=True, slots=True)
class SquareRoot(ToeplitzStrategy):
    """The lower triangular square root of the prefix sums.

    It has the least "max" loss of all Toeplitz matrices for prefix sums and a single pass. Its
    noise takes as many buffers as there are steps: for long runs see `BLT`.

    Args:
        steps: In [1, 10^9].

    Source: Fichtenberger, Henzinger, Upadhyay 2022, arXiv 2202.11205; Henzinger, Upadhyay, Upadhyay
    2022, arXiv 2211.05006.

    >>> round(SquareRoot(1000).loss("max"), 6)
    3.265003
    """

    steps: int
    streams = "bands"

    def __post_init__(self) -> None:
        set_fields(self, steps=uses_of(self.steps, "steps", 1))

    def first_column(self) -> Vector:
        """Return the first column of C."""
        return root_coefficients(self.steps)

    def _relative(self) -> float:
        return 3.0 * self.steps * 2.0**-53

    def _solve(self, vector: Vector) -> Vector:
        if (vector == 1.0).all():
            return self.first_column()  # C C is the matrix of prefix sums
        return ToeplitzStrategy._solve(self, vector)


@dataclass(frozen=True, slots=True, init=False)
class BandedToeplitz(ToeplitzStrategy):
    """A banded Toeplitz matrix: its noise cancels a part of the noise of a few earlier steps.

    Args:
        steps: In [1, 10^9].
        coefficients: The first column: 1, then finite numbers, one number for each band, at most
            ``steps``. One band is independent noise.
        normalised: Whether every column is divided by its norm, so that the last ones, which are
            cut, have the same norm as the others: this is better for few steps. Then steps of a
            record must be at least as far apart as there are bands.

    Source: Choquette-Choo and others 2023, arXiv 2306.08153; McKenna 2024, arXiv 2405.15913.

    >>> best = BandedToeplitz.optimal(16, 4)
    >>> round(best.loss(), 6), [round(c, 3) for c in best.coefficients]
    (1.93753, [1.0, 0.552, 0.414, 0.327])
    """

    steps: int
    coefficients: tuple[float, ...]
    normalised: bool
    streams = "bands"

    def __init__(self, steps: int, coefficients: Iterable[float], normalised: bool = False) -> None:
        length = uses_of(steps, "steps", 1)
        allowed = "1 and then finite numbers"
        c = tuple(real_of(number, "coefficients", allowed) for number in coefficients)
        if not 1 <= len(c) <= length or c[0] != 1.0 or not np.isfinite(c).all():
            raise ValueError(
                f"coefficients must be 1 and then finite numbers, at most {length} in all, "
                f"got {coefficients!r}"
            )
        if not isinstance(normalised, bool):
            raise TypeError(f"normalised must be True or False, got {normalised!r}")
        set_fields(self, steps=length, coefficients=c, normalised=normalised)

    @classmethod
    def optimal(
        cls,
        steps: int,
        bands: int,
        *,
        loss: Loss = "mean",
        workload: Workload = PREFIX_SUMS,
        normalised: bool = False,
    ) -> BandedToeplitz:
        """Return the matrix of least loss.

        The loss is least for a single pass and for any participation with steps at least ``bands``
        apart, except for the last columns, which are cut.

        Args:
            steps, bands: Sizes of the matrix; bands in [1, steps].
            loss ({"mean", "max"}): The loss, as for `Strategy.loss`.
            workload: The queries. With learning rates only the mean loss, of at most 8192 steps.
            normalised: Whether the columns are normalised afterwards.
        """
        length, count = uses_of(steps, "steps", 1), integer_of(bands, "bands", 1)
        if count > length:
            raise ValueError(f"bands must be an integer in [1, {length}], got {bands!r}")
        return cls(length, fit_toeplitz(length, count, loss, workload), normalised)

    @property
    def bands(self) -> int:
        """Diagonals that are not zero."""
        return len(self.coefficients)

    def first_column(self) -> Vector:
        """Return the first column of C, before columns are normalised."""
        return np.array(self.coefficients)

    def column_norms(self) -> Vector:
        """Return the norms of the last columns, as many as there are bands, before they are cut."""
        norms: Vector = np.hypot.accumulate(np.abs(self.coefficients))[::-1]
        return norms

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        if not self.normalised:
            return ToeplitzStrategy._sensitivity(self, participation)
        if separation_of(participation, self.steps) < self.bands:
            raise ValueError(
                f"participation must be in steps at least {self.bands} apart, the bands, where "
                f"columns are normalised, got {participation!r}"
            )
        return rounded_up(
            float(most_participations(participation, self.steps)), 4.0 * self.bands, True
        )

    def _overlaps(self, batches: int) -> Overlaps:
        if self.normalised:
            return overlaps_of_matrix(self.matrix(), batches)
        return ToeplitzStrategy._overlaps(self, batches)

    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1."""
        if not self.normalised:
            return ToeplitzStrategy.errors(self, workload)
        if workload != PREFIX_SUMS:
            return row_squares(workload.matrix(self.steps), self.matrix())
        return self._normalised_errors()

    def _normalised_errors(self) -> Vector:
        """Return the errors of B = A D C^-1; the column norms D differ in the last columns only."""
        inverse = np.zeros(self.steps)
        inverse[0] = 1.0
        solve_toeplitz(np.array(self.coefficients), inverse)
        norms, cut = self.column_norms(), self.steps - self.bands + 1
        errors: Vector = norms[0] ** 2 * np.cumsum(np.cumsum(inverse) ** 2)
        row = np.zeros(self.steps)  # the last complete row, then the rows after it
        row[:cut] = norms[0] * np.cumsum(inverse)[cut - 1 :: -1]
        for t in range(cut, self.steps):
            row[: t + 1] += norms[t - cut + 1] * inverse[t::-1]
            errors[t] = row @ row
        return errors

    def matrix(self) -> Matrix:
        """Return C."""
        if not self.normalised:
            return ToeplitzStrategy.matrix(self)
        plain = BandedToeplitz(self.steps, self.coefficients).matrix()
        norms = self.column_norms()
        c: Matrix = plain / np.pad(norms, (self.steps - len(norms), 0), mode="edge")
        return c


def query_weights(steps: int, loss: Loss) -> Vector:
    """Return the weight of b_t^2 in the error: every query from t on, or the last one only."""
    return np.ones(steps) if loss == "max" else (steps - np.arange(steps)) / steps


_COARSER = 8  # the search starts from the best matrix of a run shorter by this factor


def fit_toeplitz(steps: int, bands: int, loss: Any, workload: Any) -> Vector:
    """Return c with c_0 = 1 that has the least ||c||^2 times error, O(steps bands) a step."""
    tail = root_coefficients(bands)[1:]
    lengths = [steps]
    if workload_of(workload).rates is not None:
        return np.concatenate([[1.0], _fit_rated(tail, mean_form(workload, steps, loss))])
    while lengths[-1] > 1000 and lengths[-1] // _COARSER > 2 * bands:
        lengths.append(lengths[-1] // _COARSER)
    for length in reversed(lengths if bands > 1 else []):
        tail = _fit_from(tail, length, loss, workload)
    return np.concatenate([[1.0], tail])


def _fit_rated(start: Vector, form: Matrix) -> Vector:
    """Return all coefficients but the first, of least ||c||^2 times e W e."""
    impulse = np.zeros(len(form))
    impulse[0] = 1.0

    def logarithm(tail: Vector) -> tuple[float, Vector]:
        c = np.concatenate([[1.0], tail])
        e = impulse.copy()
        solve_toeplitz(c, e)
        half = form @ e
        error, square = float(e @ half), float(c @ c)
        if not math.isfinite(error):
            return math.inf, tail
        y = np.ascontiguousarray(half[::-1])
        solve_toeplitz(c, y)  # C^-T of the slope, from its end
        slopes = np.array([y[: len(y) - j] @ e[: len(y) - j][::-1] for j in range(1, len(c))])
        return math.log(error * square), 2.0 * (tail / square - slopes / error)

    with np.errstate(over="ignore", invalid="ignore"):
        return minimise(logarithm, start, title="banded Toeplitz")[0]


def _fit_from(start: Vector, steps: int, loss: Any, workload: Any) -> Vector:
    """Return all coefficients but the first, from a start."""
    kernel = workload.kernel(steps)
    weights = query_weights(steps, loss_of(loss))
    work, slopes = np.empty(2 * steps), np.empty(len(start) + 1)

    def logarithm(tail: Vector) -> tuple[float, Vector]:
        c = np.concatenate([[1.0], tail])
        error = toeplitz_error(c, kernel, weights, work, slopes)
        square = float(c @ c)
        if not math.isfinite(error):
            return math.inf, tail
        return math.log(error) + math.log(square), slopes[1:] / error + 2.0 * tail / square

    with np.errstate(over="ignore", invalid="ignore"):
        # Sums over all steps are accurate to about steps times 2^-53, relatively.
        tolerance = max(1e-14, 1e-18 * steps)
        return minimise(logarithm, start, title="banded Toeplitz", tolerance=tolerance)[0]
