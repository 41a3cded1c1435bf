"""The base of all strategies: the queries, and the sensitivity of C g to one record.

A lower triangular matrix A of queries is applied to the noisy steps. The sensitivity is the largest
norm of a sum of columns of C, rounded up. The weights of the columns are vectors, clipped to norm
1. Where the entries of C^T C are not negative, all equal ones are the worst (Choquette-Choo and
others 2022, arXiv 2211.06530); otherwise the entries are replaced by their absolute values, which
bounds every sign.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._training import best_selection
from renyi._validation import BELOW_ONE, integer_of, number_in, real_of, set_fields
from renyi.mechanisms.json_form import decode_value, encode_value
from renyi.mechanisms.participation import (
    ONCE,
    BallsInBins,
    CyclicPoisson,
    FixedEpochs,
    MinSeparation,
    Overlaps,
    Participation,
    SinglePass,
    StrategyMatrix,
    most_participations,
    participation_of,
    separation_of,
)

if TYPE_CHECKING:
    from renyi.matrix._stream import NoiseStream

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """The queries of the sums of steps: the iterates of SGD, by default the sums of the first t.

    Args:
        rates: A finite learning rate for each step; by default all are 1.
        beta: Coefficient of the momentum, in [0, 1).

    >>> Workload(beta=0.5).matrix(3).tolist()
    [[1.0, 0.0, 0.0], [1.5, 1.0, 0.0], [1.75, 1.5, 1.0]]
    """

    rates: tuple[float, ...] | None
    beta: float

    def __init__(self, rates: Iterable[float] | None = None, beta: float = 0.0) -> None:
        numbers = rates
        if rates is not None:
            numbers = tuple(real_of(rate, "rates", "finite numbers") for rate in rates)
            if not numbers or not np.all(np.isfinite(numbers)):
                raise ValueError(f"rates must be finite numbers, at least one, got {rates!r}")
        set_fields(self, rates=numbers, beta=number_in(beta, "beta", BELOW_ONE))

    def kernel(self, steps: int) -> Vector:
        """Return the first column at rate 1, 1 + beta + .. + beta^t; the others are its shifts."""
        return np.cumsum(self.beta ** np.arange(integer_of(steps, "steps", 1), dtype=float))

    def matrix(self, steps: int) -> Matrix:
        """Return A, a row for each query."""
        if self.rates is None:
            return _toeplitz(self.kernel(steps))
        if len(self.rates) != integer_of(steps, "steps", 1):
            raise ValueError(f"rates must be {steps}, one for each step, got {len(self.rates)}")
        by_momentum = _toeplitz(self.beta ** np.arange(steps, dtype=float))
        return np.cumsum(np.array(self.rates)[:, None] * by_momentum, axis=0)


PREFIX_SUMS = Workload()


def workload_of(value: Any) -> Workload:
    """Return a workload."""
    if not isinstance(value, Workload):
        raise TypeError(f"workload must be a Workload, got {value!r}")
    return value


def mean_form(workload: Workload, steps: int, loss: Any) -> Matrix:
    """Return W, with e W e the mean variance of the queries if C^-1 is Toeplitz of first column e.

    A is not Toeplitz, and W the sums of A^T A / n along its diagonals, from each entry to the end.
    """
    if loss_of(loss) == "max":
        raise ValueError(f"loss must be 'mean' where learning rates change, got {loss!r}")
    if steps > MOST_DENSE:
        raise ValueError(
            f"steps must be at most {MOST_DENSE} where learning rates change, got {steps}"
        )
    a = workload.matrix(steps)
    form: Matrix = a.T @ a / steps
    for k in range(steps - 2, -1, -1):
        form[k, :-1] += form[k + 1, 1:]
    return form


def _toeplitz(column: Vector) -> Matrix:
    steps = np.arange(len(column))
    lag = steps[:, None] - steps
    return np.where(lag >= 0, column[np.maximum(lag, 0)], 0.0)


_UNIT = 2.0**-53


class Sensitivity(float):
    """A number that is never below the sensitivity, and whether a theorem proves it is attained.

    Attributes:
        exact: If true, the number exceeds the sensitivity by rounding only. If false, it is a
            bound.
    """

    exact: bool

    def __new__(cls, value: float, exact: bool) -> Sensitivity:
        """Return the number with its ``exact``."""
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
    """Return C over a power of 2, so that its largest entry is about 1, and that power.

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
    """Return the sensitivity of a Toeplitz matrix whose column is known within ``relative``."""
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
    """Return the sensitivity for columns that share no row, of which the longest count."""
    c, scale = _scaled(c)
    separation, square = separation_of(participation, steps), np.cumsum(c * c)
    lengths = steps - separation * np.arange(most_participations(participation, steps))
    total = float(square[np.minimum(lengths, len(c)) - 1].sum())
    return rounded_up(total, len(c) + len(lengths), True, relative, scale)


def _sum_of_shifts(c: Vector, steps: int, separation: int, count: int) -> Vector:
    """Return c + shift(c, separation) + .. , ``count`` terms cut to ``steps`` rows.

    Row q separation + r is the sum over a window of ``count`` blocks. A window is the end of one
    run of ``count`` blocks and the beginning of the next, so that no sum needs a subtraction.
    """
    runs = -(-steps // (separation * count))
    padded = np.zeros(runs * count * separation)
    padded[: min(steps, len(c))] = c[:steps]
    blocks = padded.reshape(runs, count, separation)
    total = np.cumsum(blocks, axis=1)
    total[1:, :-1] += np.cumsum(blocks[:-1, :0:-1], axis=1)[:, ::-1]
    return np.ravel(total)[:steps]


def _of_columns(square: Vector, participation: Participation, scale: float) -> Sensitivity:
    """Return the sensitivity from squared norms of columns; those of one record share no row."""
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
    """Return the sensitivity of any matrix with a column for each step."""
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
        exact = False  # the worst selections of different rows may differ
        most = most_participations(participation, steps)
        rows = best_selection(np.ascontiguousarray(gram), separation, most)
        best = float(best_selection(rows[None, :], separation, most)[0])
    return rounded_up(best, 4.0 * steps + 2.0 * len(c), exact, 0.0, scale)


def overlaps_of_toeplitz(c: Vector, steps: int, batches: int, relative: float) -> Overlaps:
    """Return the overlaps for a Toeplitz matrix without negative entries.

    Bin 0 moves s, bin j as much j steps later, cut at the end: the first bins have the largest
    inner products for their distance, the last ones the smallest.
    """
    _check_not_negative(c)
    c, scale = _scaled(c)
    s = _sum_of_shifts(c, steps, batches, -(-steps // batches))
    # Raised so that no product underflows, nor did a coefficient that was computed; those below
    # may, which lowers them.
    raised = np.where((s > 0.0) | (relative > 0.0), np.maximum(s, 2.0**-500), 0.0)
    most = [float(raised[lag:] @ raised[: steps - lag]) for lag in range(batches)]
    length = steps - batches + 1
    least = [float(s[lag : lag + length] @ s[:length]) for lag in range(batches)]
    return _rounded_overlaps(most, least, 2.0 * steps, relative, scale)


def overlaps_of_matrix(c: Matrix, batches: int) -> Overlaps:
    """Return the overlaps for any matrix without negative entries, with a column for each step."""
    _check_not_negative(c)
    steps = c.shape[1]
    c, scale = _scaled(c)
    padded = np.pad(c, ((0, 0), (0, -steps % batches)))
    s = padded.reshape(len(c), -1, batches).sum(axis=1)  # a column for each bin
    raised = np.where(s > 0.0, np.maximum(s, 2.0**-500), 0.0)
    above, below = raised.T @ raised, s.T @ s
    most = [float(np.diagonal(above, lag).max()) for lag in range(batches)]
    least = [float(np.diagonal(below, lag).min()) for lag in range(batches)]
    return _rounded_overlaps(most, least, 4.0 * steps + len(c), 0.0, scale)


def _check_not_negative(c: Vector) -> None:
    if (c < 0.0).any():
        raise ValueError(
            "strategy must have no negative entry where records are in random bins, for no bound "
            f"is known of others, got {float(c.min())!r} among them"
        )


def _rounded_overlaps(
    most: list[float], least: list[float], roundings: float, relative: float, unit: float
) -> Overlaps:
    """Return overlaps by sums of products of numbers that are not negative, rounded outward."""
    error = 2.0 * ((roundings + 8.0) * _UNIT + 2.0 * relative)
    own, *shared = (number * (1.0 + error) for number in most)
    own_least, *shared_least = (number * (1.0 - error) for number in least)
    return Overlaps(unit, own, own_least, tuple(shared), tuple(shared_least))


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


Loss = Literal["mean", "max"]

MOST_DENSE = 8192  # the most steps of a matrix that is stored


def loss_of(value: Any) -> Loss:
    """Return a known loss."""
    return one_of(value, "loss", get_args(Loss))


class Strategy(StrategyMatrix):
    """A lower triangular matrix C; the mechanism releases C g + z with independent noise z.

    Then every step has its own sum g_t and the noise (C^-1 z)_t, and a linear query of the sums,
    a row of A = B C, has the error B z. Strategies are immutable values that compare equal.
    """

    __slots__ = ()
    streams: ClassVar[str]  # the method of a `NoiseStream`

    @abstractmethod
    def _sensitivity(self, participation: Participation) -> Sensitivity: ...

    @abstractmethod
    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1: squared norms of rows of B."""

    @abstractmethod
    def matrix(self) -> Matrix:
        """Return C, with a column for each step."""

    def sensitivity(self, participation: Participation = ONCE) -> Sensitivity:
        """Return the sensitivity of C g in units of a record's clipped contribution, rounded up.

        It is the sensitivity under "zero_out" adjacency; replacing a record moves C g twice as far.
        The result is a float that says whether it is ``exact`` or a bound. For `CyclicPoisson` it
        is that of one of the steps of a record, which then share no row, for `BallsInBins` that of
        known bins.

        Raises:
            ValueError: If steps of a record may share a row and no bound for this is known.
        """
        known = participation_of(participation)
        if isinstance(known, CyclicPoisson):
            known = SinglePass()
        elif isinstance(known, BallsInBins):
            known = FixedEpochs(known.batches)
        return self._sensitivity(known)

    def overlaps(self, batches: int) -> Overlaps:
        """Return bounds of the inner products of a record's moves in the bins it may be in.

        Raises:
            ValueError: If there are more batches than steps, or an entry of C is negative.
        """
        number = integer_of(batches, "batches", 1)
        if number > self.steps:
            raise ValueError(f"batches must be at most the steps, {self.steps}, got {batches!r}")
        return self._overlaps(number)

    def _overlaps(self, batches: int) -> Overlaps:
        return overlaps_of_matrix(self.matrix(), batches)

    @property
    def column_norm(self) -> Sensitivity:
        """The largest norm of a column, rounded up: the sensitivity of a single pass."""
        return self.sensitivity()

    def loss(
        self,
        loss: Loss = "mean",
        participation: Participation = ONCE,
        workload: Workload = PREFIX_SUMS,
    ) -> float:
        """Return the deviation of the noise of queries at noise multiplier 1.

        Args:
            loss ({"mean", "max"}): The root of the mean or of the largest variance, times
                `sensitivity`.
            participation: The participation that the noise is scaled for.
            workload: The queries, a `Workload`.
        """
        kind = loss_of(loss)
        errors = self.errors(workload_of(workload))
        variance = float(errors.mean() if kind == "mean" else errors.max())
        return math.sqrt(variance) * self.sensitivity(participation)

    def noise(
        self,
        shape: int | tuple[int, ...],
        generator: Any = None,
        *,
        scale: float = 1.0,
        dtype: npt.DTypeLike = np.float64,
        threads: int | None = None,
    ) -> NoiseStream:
        """Return the stream of C^-1 z for arrays of a shape; ``scale`` is the deviation of z.

        See `NoiseStream`.
        """
        from renyi.matrix._stream import NoiseStream

        return NoiseStream(self, shape, generator, scale=scale, dtype=dtype, threads=threads)

    def to_dict(self) -> dict[str, Any]:
        """Return the strategy in the form of strict JSON."""
        encoded: dict[str, Any] = encode_value(self)
        return encoded

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the strategy that `to_dict` described."""
        value = decode_value(data)
        if not isinstance(value, cls):
            raise ValueError(f"data must be of a {cls.__name__}, got {value!r}")
        return value

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` and the version of the format as strict JSON."""
        from renyi import _strict_json

        return _strict_json.dumps(self.to_dict(), indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the strategy that `to_json` wrote, equal in every digit."""
        from renyi import _strict_json

        return cls.from_dict(_strict_json.check_version(_strict_json.loads(text)))

    def _written_out(self) -> None:
        if self.steps > MOST_DENSE:
            raise ValueError(
                f"steps must be at most {MOST_DENSE} for a matrix to be written out, "
                f"got {self.steps}"
            )
