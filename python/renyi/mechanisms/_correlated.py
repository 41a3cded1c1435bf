"""Correlated noise: a whole run of a matrix mechanism, and one vector."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._validation import FINITE, NON_NEGATIVE, numbers_in, set_fields, set_numbers, shortest
from renyi.mechanisms._noise import L2, Gaussian
from renyi.mechanisms.algebra import Composed, Equivalent, Mechanism, curve_of, pair_of
from renyi.mechanisms.bins import bound_of_bins_below, bounds_of_bins, over, overlaps_of
from renyi.mechanisms.participation import (
    ONCE,
    BallsInBins,
    CyclicPoisson,
    Participation,
    StrategyMatrix,
    participation_of,
)
from renyi.mechanisms.sampling import PoissonSampled, TruncatedPoissonSampled
from renyi.mechanisms.steps import REPLACE

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MatrixMechanism(Equivalent):
    """A run with correlated noise: it releases C g + z, each row of g the clipped sum of a step.

    The whole run is one Gaussian mechanism. Its noise multiplier is divided by the sensitivity of C
    for the steps in which a record may take part, also if a sum depends on earlier releases
    (Denisov and others 2022, arXiv 2202.08312). A run that ends early is covered, one that goes on
    past the steps of the strategy is not. It holds for "zero_out" and "replace_one" adjacency:
    adding a record might move others to other steps. The participation must be enforced.

    Under `renyi.matrix.CyclicPoisson` with at least as many groups as bands, the rows that a record
    moves in one of its steps are not moved in the others. The run is then a `PoissonSampled`
    Gaussian for each cycle that is begun, with the noise multiplier over the largest norm of a
    column (Choquette-Choo and others 2023, arXiv 2306.08153, Theorems 4 and 5), for every
    adjacency: the group of each record is drawn independently. If batches are cut, it is a
    `TruncatedPoissonSampled` Gaussian, for replaced records. With fewer groups only Monte Carlo
    estimates are known, and the run is refused.

    Args:
        strategy: The matrix C.
        noise_multiplier: Standard deviation of z over the clipping norm, in [0, inf], not divided
            by the sensitivity.
        participation: The steps in which a record may take part; by default one step.

    Raises:
        ValueError: If no bound is known for both together.

    >>> from renyi.matrix import BandedToeplitz, CyclicPoisson, MinSeparation
    >>> strategy = BandedToeplitz(2000, [1.0, 0.5])
    >>> run = MatrixMechanism(strategy, 4.0, MinSeparation(500))
    >>> print(run.describe().splitlines()[0])
    Matrix mechanism (BandedToeplitz, 2000 steps), multiplier 4, records in steps at least 500 apart
    >>> round(run.effective_noise_multiplier, 9)
    1.788854382
    """

    adjacencies = ("replace_one", "zero_out")  # with groups or bins drawn for each record: all
    assumption = (
        "matrix mechanism: normal, correlated by the stated strategy, standard deviation of z = "
        f"noise multiplier x {L2}"
    )

    strategy: StrategyMatrix
    noise_multiplier: float
    participation: Participation = ONCE
    sensitivity: float = field(init=False, repr=False, compare=False)
    _bounds: tuple[Mechanism, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, StrategyMatrix):
            raise TypeError(f"strategy must be a renyi.matrix.Strategy, got {self.strategy!r}")
        scheme = participation_of(self.participation)
        set_numbers(self, noise_multiplier=NON_NEGATIVE)
        if isinstance(scheme, CyclicPoisson) and scheme.cycle_length < self.strategy.bands:
            raise ValueError(
                "participation must have a cycle_length of at least the bands of the strategy, "
                f"{self.strategy.bands}, got {scheme!r}: with a shorter one steps of a record "
                "share rows, and no bound is known of what sampling then hides"
            )
        set_fields(self, sensitivity=self.strategy.sensitivity(scheme))
        set_fields(self, _bounds=self._mechanisms_above())
        self.strategy.warn_of(scheme)

    @property
    def effective_noise_multiplier(self) -> float:
        """``noise_multiplier`` over the ``sensitivity``, rounded down.

        It is the multiplier of the run as one Gaussian mechanism; under `CyclicPoisson` of every
        sampled Gaussian, under `BallsInBins` of the run if the bins were known.
        """
        return over(self.noise_multiplier, self.sensitivity)

    @property
    def released(self) -> Mechanism:
        """The mechanism that accountants use for the run: the first that bounds it.

        It is one Gaussian, a sampled Gaussian for each cycle, or a Gaussian and an allocation to
        bins.
        """
        return self._bounds[0]

    @property
    def alternatives(self) -> tuple[Mechanism, ...]:
        """Other mechanisms that bound the run; accountants take the least of all."""
        return self._bounds[1:]

    def _mechanisms_above(self) -> tuple[Mechanism, ...]:
        noise, scheme = Gaussian(self.effective_noise_multiplier), self.participation
        if isinstance(scheme, CyclicPoisson):
            cycles = -(-self.strategy.steps // scheme.cycle_length)
            sampled: Mechanism = PoissonSampled(noise, scheme.sample_rate)
            if scheme.batch_limit is not None and scheme.group_size is not None:
                limits = scheme.batch_limit, scheme.group_size
                sampled = TruncatedPoissonSampled(noise, scheme.sample_rate, *limits)
            return (Composed((sampled, cycles)),)
        if isinstance(scheme, BallsInBins):
            overlaps = overlaps_of(self.strategy, scheme.batches)
            return bounds_of_bins(self.noise_multiplier, overlaps, scheme)
        return (noise,)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        curve = curve_of(self.released, adjacency)
        for other in self.alternatives:
            curve = curve.smaller(curve_of(other, adjacency))
        return curve

    def attained_pair(
        self, adjacency: Adjacency, direction: DirectionName
    ) -> tuple[Pair, float] | None:
        """Return a pair below what aligned records attain in random bins; None without bins."""
        if not isinstance(self.participation, BallsInBins):
            return None
        bins = self.participation.batches
        below = bound_of_bins_below(self.noise_multiplier, overlaps_of(self.strategy, bins), bins)
        if adjacency == REPLACE:  # by a record without effect
            adjacency, direction = "zero_out", "remove"
        return pair_of(below, adjacency, direction), 0.0

    def _headline(self) -> str:
        return (
            f"Matrix mechanism ({type(self.strategy).__name__}, {self.strategy.steps} steps), "
            f"multiplier {shortest(self.noise_multiplier)}, records {self.participation}"
        )

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless it holds for an adjacency.

        It holds for every adjacency if the group or bin of each record is drawn independently.
        """
        scheme = self.participation
        alone = isinstance(scheme, CyclicPoisson) and scheme.batch_limit is None
        if not (alone or isinstance(scheme, BallsInBins)):
            Mechanism.check_adjacency(self, adjacency)  # a class with slots has no super()


MOST_RELEASES = 32  # values of one vector: their cost is computed exactly from the covariance


@dataclass(frozen=True, slots=True, init=False)
class CorrelatedGaussian(Equivalent):
    """Adds noise N(0, covariance) to a vector, its entries correlated.

    It is a `Gaussian` whose sensitivity over noise is the largest Mahalanobis norm
    (v^T covariance^-1 v)^(1/2) of a vector v by which one record may move the result.

    Args:
        covariance (array_like of float, shape (n, n)): The covariance of the noise, n in [1, 32];
            symmetric and positive definite, exactly.
        moves (array_like of float, shape (k, n)): Vectors. The presence of one record must move the
            result by a vector in the convex hull of these and their negatives. The norm is largest
            at one of them.

    Two sums that a record moves by at most 1 each, in either direction:

    >>> release = CorrelatedGaussian([[4.0, 1.0], [1.0, 4.0]], moves=[[1.0, 1.0], [1.0, -1.0]])
    >>> round(release.released.noise_multiplier**-2, 12)
    0.666666666667
    """

    summary = "Correlated Gaussian noise on {size} values, accounted as"
    assumption = (
        "correlated Gaussian: normal, of the stated covariance; the presence of one record moves "
        "the result by a vector of the convex hull of the stated ones and their negatives"
    )

    covariance: tuple[tuple[float, ...], ...]
    moves: tuple[tuple[float, ...], ...]

    def __init__(
        self, covariance: Iterable[Iterable[float]], moves: Iterable[Iterable[float]]
    ) -> None:
        rows = _rows_of(covariance, "covariance")
        size = len(rows)
        if not 1 <= size <= MOST_RELEASES or any(len(row) != size for row in rows):
            raise ValueError(
                f"covariance must be a square matrix of 1 to {MOST_RELEASES} rows, got rows of "
                f"lengths {[len(row) for row in rows]}"
            )
        if any(rows[i][j] != rows[j][i] for i in range(size) for j in range(i)):
            raise ValueError(f"covariance must be a symmetric matrix, got {rows}")
        vectors = _rows_of(moves, "moves")
        if not vectors or any(len(row) != size for row in vectors):
            raise ValueError(
                f"moves must be at least one vector of length {size}, got vectors of lengths "
                f"{[len(row) for row in vectors]}"
            )
        set_fields(self, covariance=rows, moves=vectors)
        _largest_norm(rows, vectors)  # raises

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.covariance)

    @property
    def released(self) -> Gaussian:
        """The Gaussian mechanism that it is."""
        square = _largest_norm(self.covariance, self.moves)
        if square == 0:
            return Gaussian(math.inf)
        if not 1e-300 < square < 1e300:  # less noise than there is: none, or 1e150
            return Gaussian(1e150 if square < 1 else 0.0)
        noise = 1.0 / math.sqrt(square)
        while noise and Fraction(noise) ** 2 * square > 1:
            noise = math.nextafter(noise, 0.0)
        return Gaussian(noise)

    def for_group(self, size: int) -> Mechanism:
        """Return the Gaussian mechanism for a group."""
        return self.released.for_group(size)


def _rows_of(values: Iterable[Iterable[float]], name: str) -> tuple[tuple[float, ...], ...]:
    return tuple(numbers_in(row, name, FINITE) for row in values)


@lru_cache(maxsize=64)
def _largest_norm(
    covariance: tuple[tuple[float, ...], ...], moves: tuple[tuple[float, ...], ...]
) -> Fraction:
    """Return the largest v^T covariance^-1 v, exactly, by elimination of covariance x = v."""
    size = len(covariance)
    matrix = [[Fraction(x) for x in row] for row in covariance]
    vectors = [[Fraction(x) for x in move] for move in moves]
    largest = [Fraction(0)] * len(moves)
    for i in range(size):
        pivot = matrix[i][i]
        if pivot <= 0:
            raise ValueError(f"covariance must be positive definite, got {covariance}")
        for j in range(i + 1, size):
            factor = matrix[j][i] / pivot
            for k in range(i + 1, size):
                matrix[j][k] -= factor * matrix[i][k]
            for vector in vectors:
                vector[j] -= factor * vector[i]
        for n, vector in enumerate(vectors):  # v^T covariance^-1 v = sum y_i^2 / pivot_i
            largest[n] += vector[i] ** 2 / pivot
    return max(largest)
