"""Runs with correlated noise: the steps of a record, and how far the record moves the sum.

`renyi.matrix` has the strategies and the computations with them.
"""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from renyi._validation import (
    PROBABILITY,
    integer_of,
    set_fields,
    set_integers,
    set_numbers,
    shortest,
)


@dataclass(frozen=True, slots=True)
class SinglePass:
    """Every record takes part in one step at most."""

    def __str__(self) -> str:
        return "once"


@dataclass(frozen=True, slots=True)
class FixedEpochs:
    """Epochs of ``period`` steps; a record is in the same step of each: i, i + period, and so on.

    Args:
        period: The number of steps of an epoch, at least 1.
    """

    period: int

    def __post_init__(self) -> None:
        set_integers(self, period=1)

    def __str__(self) -> str:
        return f"in the same step of every {self.period}"


@dataclass(frozen=True, slots=True)
class MinSeparation:
    """Steps i < j of one record have ``j - i >= separation``, and are at most ``count``.

    Other libraries count the steps between them, j - i - 1: their number is smaller by one.

    Args:
        separation: The least distance, at least 1; 1 allows any ``count`` steps.
        count: The most steps of one record, at least 1; by default as many as fit.
    """

    separation: int
    count: int | None = None

    def __post_init__(self) -> None:
        set_integers(self, separation=1)
        if self.count is not None:
            set_integers(self, count=1)

    def __str__(self) -> str:
        most = "" if self.count is None else f", at most {self.count} times"
        return f"in steps at least {self.separation} apart{most}"


@dataclass(frozen=True, slots=True)
class CyclicPoisson:
    """Every record belongs to one of ``cycle_length`` groups, which have their turn in a cycle.

    When it is the group's turn, the record takes part with probability ``sample_rate``, as in
    `renyi.samplers.PoissonSampler`.

    Args:
        sample_rate: In [0, 1].
        cycle_length: Number of groups, at least 1 and at least the bands of the strategy.
        batch_limit, group_size: The largest batch, to which samples are cut, and the number of
            records of every group, at least 1; both or none are given. The size of a group is then
            public: not with "add_remove" adjacency.
    """

    sample_rate: float
    cycle_length: int
    batch_limit: int | None = None
    group_size: int | None = None

    def __post_init__(self) -> None:
        set_numbers(self, sample_rate=PROBABILITY)
        set_integers(self, cycle_length=1)
        if (self.batch_limit is None) != (self.group_size is None):
            raise ValueError(
                "batch_limit and group_size must be given together, "
                f"got {self.batch_limit!r} and {self.group_size!r}"
            )
        if self.batch_limit is not None:
            set_integers(self, batch_limit=1, group_size=1)

    def __str__(self) -> str:
        length = self.cycle_length
        where = "every step" if length == 1 else f"one step of every {length}"
        cut = "" if self.batch_limit is None else f", at most {self.batch_limit} at a time"
        return f"by chance {shortest(self.sample_rate)} in {where}{cut}"


@dataclass(frozen=True, slots=True)
class BallsInBins:
    """Every record is in one of the bins for the whole run, drawn uniformly and kept secret.

    Records choose independently of each other; bin j has its turn in the steps j, j + batches, and
    so on, as in `renyi.samplers.BallsInBinsSampler` with bins that are kept.

    Args:
        batches: The number of bins, which is the number of batches of an epoch: at least 1, at most
            the steps of the strategy.
        stride: In [1, batches / block]. The guarantee is proved as if the number of the bin modulo
            the stride were published, which leaves bins that share less. By default the best of
            several strides is taken.
        block: A divisor of ``batches``, given with a stride: the number modulo the stride is then
            that of the block of so many adjacent bins. By default blocks have one bin.
    """

    batches: int
    stride: int | None = None
    block: int = 1

    def __post_init__(self) -> None:
        set_integers(self, batches=1, block=1)
        if self.batches % self.block or (self.stride is None and self.block > 1):
            raise ValueError(
                f"block must be a divisor of the batches, {self.batches}, given with a stride, "
                f"got {self.block}"
            )
        if self.stride is not None:
            stride, most = integer_of(self.stride, "stride", 1), self.batches // self.block
            if stride > most:
                raise ValueError(
                    f"stride must be an integer in [1, {most}], the number of blocks, got {stride}"
                )
            set_fields(self, stride=stride)

    def __str__(self) -> str:
        return f"in the same step of every {self.batches}, drawn at random"


ONCE = SinglePass()
Participation = SinglePass | FixedEpochs | MinSeparation | CyclicPoisson | BallsInBins


def participation_of(value: object) -> Participation:
    """Return a participation."""
    if not isinstance(value, Participation):
        raise TypeError(
            "participation must be SinglePass(), FixedEpochs, MinSeparation, CyclicPoisson or "
            f"BallsInBins, got {value!r}"
        )
    return value


def separation_of(participation: Participation, steps: int) -> int:
    """Return the least distance of the steps of one record, at most ``steps``."""
    if isinstance(participation, SinglePass):
        return steps
    if isinstance(participation, FixedEpochs):
        return min(participation.period, steps)
    if isinstance(participation, CyclicPoisson):
        return min(participation.cycle_length, steps)
    if isinstance(participation, BallsInBins):
        return min(participation.batches, steps)
    return min(participation.separation, steps)


def most_participations(participation: Participation, steps: int) -> int:
    """Return the largest number of steps, of ``steps``, that a record can be in."""
    most = -(-steps // separation_of(participation, steps))
    count = participation.count if isinstance(participation, MinSeparation) else None
    return most if count is None else min(count, most)


class Overlaps(NamedTuple):
    """Overlaps of the moves of a record in its possible bins: entries of their Gram matrix.

    Attributes that end in "most" are rounded up, those that end in "least" down.

    Attributes:
        unit: A power of 2, in units of the clipped contribution. The other attributes are in units
            of its square.
        own_most, own_least: The squared norm of the move in one bin, for the worst bin and for the
            best.
        shared_most, shared_least: The largest and the smallest inner product of two bins that are
            1, 2, ... apart.
    """

    unit: float
    own_most: float
    own_least: float
    shared_most: tuple[float, ...]
    shared_least: tuple[float, ...]


def numbers_to_try(most: int) -> list[int]:
    """Return the powers of 2 below a number, and the number: strides, or numbers of bands."""
    return [*(1 << k for k in range((most - 1).bit_length())), most]


class StrategyMatrix(ABC):
    """A lower triangular matrix C with its sensitivity: the base of `renyi.matrix.Strategy`."""

    __slots__ = ()
    steps: int
    _optimal_for: Participation | None = None  # the participation that `optimal` was given

    @property
    @abstractmethod
    def bands(self) -> int:
        """The number of nonzero diagonals: columns so far apart share no row."""

    @abstractmethod
    def sensitivity(self, participation: Participation = ONCE) -> float:
        """Return the sensitivity of C g in units of a record's clipped contribution, rounded up."""

    @abstractmethod
    def overlaps(self, batches: int) -> Overlaps:
        """Return bounds of the inner products of the moves of a record in its possible bins."""

    def warn_of(self, participation: Participation) -> None:
        """Warn if this is the optimum for records that take part otherwise, and less often."""
        fitted = self._optimal_for
        if fitted is None or isinstance(participation, CyclicPoisson):
            return
        used, meant = (
            (most_participations(scheme, self.steps), separation_of(scheme, self.steps))
            for scheme in (participation, fitted)
        )
        if used[0] > 1 and used != meant:
            warnings.warn(
                f"{type(self).__name__}.optimal was told that records take part {fitted}, but they "
                f"take part {participation}: other coefficients need less noise; pass "
                f"participation={participation!r} to it",
                stacklevel=4,
            )
