"""Grids of powers of two, on which sums and noise are integers: no rounding is unaccounted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, adjacency_of, one_of
from renyi._arrays import Array, Rows, in_single, noisy_array, threads_of
from renyi._training import LARGEST_SCALE, SMALLEST_SCALE, sum_on_grid
from renyi._validation import FINITE_POSITIVE, check_array, integer_of, number_in, set_fields
from renyi.mechanisms import MultivariateDiscreteGaussian
from renyi.noise.draws import add_discrete_gaussian_noise
from renyi.sgd.clipping import per_sample_norms
from renyi.sgd.rules import NONFINITE, Nonfinite, Norms, Rule, run_rule, sensitivity_of


@dataclass(frozen=True)
class Grid:
    """Multiples of a spacing that is a power of two, for noise whose every bit is accounted for.

    Each record's clipped gradient is rounded to the grid before it is added, so the sum is a vector
    of integers; the discrete Gaussian is added in integers. Only the rounding of the record's own
    row remains, which `sensitivity` includes.

    Args:
        spacing: A power of two in [2^-500, 2^500].

    Raises:
        TypeError, ValueError: If it is not.

    Source: Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Theorem 14; Kairouz, Liu, Steinke 2021,
    arXiv 2102.06387.

    >>> from renyi.noise import add_discrete_gaussian_noise
    >>> grid = Grid(2.0**-20)
    >>> total = grid.sum(np.array([[0.6, 0.8], [1.0, 0.0]]))
    >>> noisy = grid.values(add_discrete_gaussian_noise(total, grid.units(1.1)))
    >>> grid.mechanism(1.1, max_norm=1.0, dimension=2)
    MultivariateDiscreteGaussian(noise_multiplier=1.099999258215966)
    """

    spacing: float

    def __post_init__(self) -> None:
        set_fields(self, spacing=spacing_of(self.spacing))

    def units(self, value: float) -> float:
        """Return a length in spacings; exact, for the spacing is a power of two."""
        return number_in(value, "value", FINITE_POSITIVE) / self.spacing

    def values(self, integers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return integers as multiples of the spacing; exact below 2^53."""
        return np.asarray(np.multiply(integers, self.spacing, dtype=np.float64))

    def sum(
        self,
        rows: Any,
        factors: Any = None,
        *,
        out: npt.NDArray[np.int64] | None = None,
        threads: int | None = None,
        nonfinite: Nonfinite = "zero",
    ) -> npt.NDArray[np.int64]:
        """Round every row, times its factor, to the grid and sum, in spacings.

        Args:
            rows (array of shape (B, D)): float32 or float64.
            factors (array of shape (B,)): The factor of each row, as from clipping; 1 by default.
                Rows of factor 0 add nothing, whatever they hold.
            out (array of shape (D,), int64): The array that the sum is added to.
            threads: By default one for each processor. The result does not depend on it.
            nonfinite ({"zero", "raise"}): A row with NaN or infinity, or with such a factor, adds
                nothing: as for `clip_and_sum`, an error would reveal something about a record.
                "raise" is for debugging without private data.

        Raises:
            ValueError: If an entry is 2^50 spacings or more.
        """
        check_array(rows, "rows")
        matrix = np.asarray(rows)
        if matrix.ndim != 2 or matrix.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(
                "rows must be an array of shape (B, D) of float32 or float64, "
                f"got one of shape {matrix.shape} of {matrix.dtype}"
            )
        count, dimension = matrix.shape
        weights = np.ones(count) if factors is None else np.ascontiguousarray(factors, np.float64)
        if weights.shape != (count,):
            raise ValueError(f"factors must have the shape ({count},), got {weights.shape}")
        total = np.zeros(dimension, np.int64) if out is None else out
        noisy_array(total, "out", (np.int64,))
        if total.shape != (dimension,) or not total.flags.c_contiguous:
            raise ValueError(f"out must be contiguous, of shape ({dimension},), got {total.shape}")
        lines, parallel = np.ascontiguousarray(matrix), threads_of(threads)
        if one_of(nonfinite, "nonfinite", NONFINITE) == "zero":
            unfit = np.isnan(per_sample_norms(lines, threads=parallel)) | ~np.isfinite(weights)
            weights = np.where(unfit, 0.0, weights)
        if not sum_on_grid(lines, weights, 1.0 / self.spacing, total, parallel):
            raise ValueError(
                "rows must be finite and below 2^50 spacings after the factor; out is undefined"
            )
        return total

    def sensitivity(
        self, max_norm: float, dimension: int, adjacency: Adjacency = "add_remove"
    ) -> float:
        """Bound how far one record moves `sum`, in the L2 norm, as a length; rounded up.

        A row of norm at most ``max_norm`` is moved by half a spacing in each of ``dimension``
        entries, hence by at most ``sqrt(dimension) * spacing / 2``, and its product with the factor
        is rounded once, by a part in 2^53. Replacing a record counts twice.
        """
        norm = number_in(max_norm, "max_norm", FINITE_POSITIVE)
        root = _up(math.sqrt(integer_of(dimension, "dimension", 1)))
        return sensitivity_of(_up(_up(norm) + root * self.spacing / 2), adjacency_of(adjacency))

    def mechanism(
        self, scale: float, *, max_norm: float, dimension: int
    ) -> MultivariateDiscreteGaussian:
        """Return the mechanism of `sum` with discrete Gaussian noise of ``scale``.

        ``scale`` is a length: sigma in spacings is ``units(scale)``. The noise multiplier is
        ``scale / sensitivity`` for adding or removing a record, rounded down.
        """
        sigma = number_in(scale, "scale", FINITE_POSITIVE)
        multiplier = sigma / self.sensitivity(max_norm, dimension)
        return MultivariateDiscreteGaussian(math.nextafter(multiplier, 0.0))


def spacing_of(value: Any, name: str = "spacing") -> float:
    """Return the spacing of a grid."""
    spacing = number_in(value, name, FINITE_POSITIVE)
    if math.frexp(spacing)[0] != 0.5 or not 2.0**-500 <= spacing <= 2.0**500:
        raise ValueError(f"{name} must be a power of two in [2^-500, 2^500], got {value!r}")
    return spacing


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)


_DOUBLE = np.finfo(np.float64)


def check_spacing(spacing: float, bound: float, name: str) -> None:
    """Refuse a grid so fine that the sum of 2^31 rows clipped at a bound might not fit 64 bits."""
    least = bound * 2.0**-32
    if spacing < least:
        raise ValueError(
            f"{name} must be at least 2^-32 of the clipping norm, {least!r}, got {spacing!r}"
        )


def sum_rule_on_grid(
    rows: Rows, rule: Rule, grid: Grid, sums: list[Array], norms: Norms, threads: int
) -> Norms:
    """Add the clipped rows to sums in spacings; fill the norms and return the factors.

    The factor of a row depends on that row only, so the sums do not depend on the batch around it.
    """
    factors = run_rule(rows, rule, [], False, norms, threads)
    # They are rounded down, without sums to single precision; but to the nearest number where that
    # is not a normal one, and those of the tiniest rows are beyond every number.
    factors = np.where(factors <= _DOUBLE.smallest_normal, np.nextafter(factors, 0.0), factors)
    factors = np.minimum(factors, _DOUBLE.max)
    columns = factors.reshape(rows.count, len(rule.bounds))
    for array, total, column in zip(rows.arrays, sums, rule.groups, strict=True):
        exact = in_single(array) if array.dtype.itemsize == 2 else array
        grid.sum(
            exact.reshape(rows.count, math.prod(array.shape[1:])),
            columns[:, column],
            out=total.reshape(-1),
            threads=threads,
            nonfinite="raise",  # such rows have the factor 0
        )
    return factors


def sigma_of(grid: Grid, scale: float) -> float:
    """Return the scale of the noise in spacings, exactly."""
    sigma = grid.units(scale)
    if not SMALLEST_SCALE <= sigma <= LARGEST_SCALE:
        raise ValueError(
            "noise_multiplier must be such that sigma is in [2^-20, 2^40] spacings of the grid, "
            f"got one with {sigma!r}"
        )
    return sigma


def add_noise_on_grid(
    sums: Array, grid: Grid, scale: float, *, generator: Any, threads: int | None
) -> Array:
    """Add noise to sums in spacings, in place, and return them as lengths."""
    sigma = sigma_of(grid, scale)
    add_discrete_gaussian_noise(sums, sigma, generator=generator, threads=threads)
    return grid.values(sums)
