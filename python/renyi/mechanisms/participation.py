"""Runs with correlated noise: in which steps a record may take part, and how far it moves the sum.

`renyi.matrix` has the strategies and all that is computed with them.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

from renyi._validation import integer_of, probability_of, shortest


@dataclass(frozen=True, slots=True)
class SinglePass:
    """Every record takes part in one step at most."""

    def __str__(self) -> str:
        return "once"


@dataclass(frozen=True, slots=True)
class FixedEpochs:
    """Epochs of ``period`` steps, and a record in the same step of each: i, i + period, and so on.

    Parameters
    ----------
    period : int
        Steps of an epoch, at least 1.
    """

    period: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", integer_of(self.period, "period", 1))

    def __str__(self) -> str:
        return f"in the same step of every {self.period}"


@dataclass(frozen=True, slots=True)
class MinSeparation:
    """Steps i < j of one record have ``j - i >= separation``, and are at most ``count``.

    Other libraries count the steps between them, j - i - 1: their number is smaller by one.

    Parameters
    ----------
    separation : int
        At least 1: any steps, at most ``count`` of them.
    count : int, optional
        At least 1; by default as many as fit into the steps.
    """

    separation: int
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "separation", integer_of(self.separation, "separation", 1))
        if self.count is not None:
            object.__setattr__(self, "count", integer_of(self.count, "count", 1))

    def __str__(self) -> str:
        most = "" if self.count is None else f", at most {self.count} times"
        return f"in steps at least {self.separation} apart{most}"


@dataclass(frozen=True, slots=True)
class CyclicPoisson:
    """Every record belongs to one of ``cycle_length`` groups, which have their turn in a cycle.

    When it is the group's turn, the record takes part with probability ``sample_rate``, as in
    `renyi.samplers.CyclicPoissonSampler`.

    Parameters
    ----------
    sample_rate : float
        In [0, 1].
    cycle_length : int
        Number of groups, at least 1 and at least the bands of the strategy.
    """

    sample_rate: float
    cycle_length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))
        object.__setattr__(self, "cycle_length", integer_of(self.cycle_length, "cycle_length", 1))

    def __str__(self) -> str:
        length = self.cycle_length
        where = "every step" if length == 1 else f"one step of every {length}"
        return f"by chance {shortest(self.sample_rate)} in {where}"


ONCE = SinglePass()
Participation = SinglePass | FixedEpochs | MinSeparation | CyclicPoisson


def participation_of(value: object) -> Participation:
    """Return a participation."""
    if not isinstance(value, SinglePass | FixedEpochs | MinSeparation | CyclicPoisson):
        raise TypeError(
            "participation must be SinglePass(), FixedEpochs, MinSeparation or CyclicPoisson, "
            f"got {value!r}"
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
    return min(participation.separation, steps)


def most_participations(participation: Participation, steps: int) -> int:
    """Return in how many of so many steps a record can be."""
    most = -(-steps // separation_of(participation, steps))
    count = participation.count if isinstance(participation, MinSeparation) else None
    return most if count is None else min(count, most)


class StrategyMatrix(ABC):
    """A lower triangular matrix C by its size and sensitivity: base of `renyi.matrix.Strategy`."""

    __slots__ = ()
    steps: int
    _optimal_for: Participation | None = None  # the participation that `optimal` was given

    @property
    @abstractmethod
    def bands(self) -> int:
        """Diagonals that are not zero: columns so far apart share no row."""

    @abstractmethod
    def sensitivity(self, participation: Participation = ONCE) -> float:
        """Return the sensitivity of C g in units of a record's clipped contribution, rounded up."""

    def warn_of(self, participation: Participation) -> None:
        """Warn where this is the optimum for records that take part otherwise, and less often."""
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
