"""Local randomizers, and the laws of their reports for the shuffle model.

Each randomizer is eps0-private by itself, with the exact e^epsilon of the double that is given. The
types of a report are as few as distinguish both inputs of one user, and the input of all others.
Types with the same likelihood ratio are merged, which loses nothing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._rounding import exact_log_above
from renyi._validation import (
    PROBABILITY,
    Range,
    numbers_in,
    set_fields,
    set_integers,
    set_numbers,
    uses_of,
)
from renyi.mechanisms._answers import RandomizedResponse
from renyi.mechanisms._guarantees import PureDP
from renyi.mechanisms._shuffled_sum import ETA, Reports

Array = npt.NDArray[np.float64]

EPSILON = Range(0.0, 30.0, "(]")  # of a randomizer
CELLS = 16  # the cells of the density of Laplace noise, on either side
MOST_INPUTS = 64  # of a table
DOWN = 1.0 - 4.0 * ETA


class Laws(NamedTuple):
    """Reports whose profiles bound the shuffled profile: above, and below by data sets."""

    upper: list[Reports]
    lower: list[Reports]


class LocalRandomizer(ABC):
    """Base of the randomizers that are not mechanisms: immutable values."""

    __slots__ = ()

    @abstractmethod
    def laws(self) -> Laws:
        """Return the laws of a report for the shuffle model, to a relative 2^-44."""

    @abstractmethod
    def largest_loss(self) -> Fraction | None:
        """Return the largest privacy loss of a report; None: infinite."""


class _Private(LocalRandomizer):
    """A randomizer with an ``epsilon``."""

    __slots__ = ()
    epsilon: float

    def largest_loss(self) -> Fraction:
        """Return ``epsilon``."""
        return Fraction(self.epsilon)

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=EPSILON)
        least = {"choices": 2, "size": 1}
        set_integers(self, **{name: least[name] for name in least if hasattr(self, name)})


@dataclass(frozen=True, slots=True)
class HadamardResponse(_Private):
    """Sends one of K columns; those with +1 in the input's row of a Hadamard matrix are likelier.

    K is the least power of 2 above ``choices``; input x has row x + 1 of Sylvester's matrix.

    Args:
        epsilon: In (0, 30]: a column of +1 is e^epsilon times as likely as one of -1.
        choices: Number of inputs, at least 2.

    Source: Acharya, Sun, Zhang 2019, arXiv 1802.04705, with blocks of one.

    >>> HadamardResponse(1.0, 5).columns
    8
    """

    epsilon: float
    choices: int

    @property
    def columns(self) -> int:
        """K."""
        return int(2 ** self.choices.bit_length())

    def laws(self) -> Laws:
        """Return the laws of a report."""
        rows = range(1, min(self.choices, 4) + 1)  # with and without a dependent one
        columns = np.arange(min(self.columns, 8))
        sets = [np.bitwise_count(columns & row) % 2 == 0 for row in rows]
        return _two_levels(self.epsilon, 0.5, sets, np.full(columns.size, 1.0 / columns.size))


@dataclass(frozen=True, slots=True)
class SubsetSelection(_Private):
    """Sends a set of ``size`` of the ``choices`` inputs; sets with the true input are likelier.

    Args:
        epsilon: In (0, 30]: a set with the input is e^epsilon times as likely as one without.
        choices: Number of inputs, at least 2.
        size: From 1 to choices - 1; 1 is randomized response.

    Source: Ye, Barg 2018, arXiv 1702.00610.

    >>> SubsetSelection(1.0, 10, 3)
    SubsetSelection(epsilon=1.0, choices=10, size=3)
    """

    epsilon: float
    choices: int
    size: int

    def __post_init__(self) -> None:
        _Private.__post_init__(self)
        if self.size >= self.choices:
            raise ValueError(f"size must be below choices, {self.choices}, got {self.size}")

    def laws(self) -> Laws:
        """Return the laws of a report."""
        d, k, told = self.choices, self.size, min(self.choices, 3)
        sets = np.array(list(product((True, False), repeat=told))).T
        inside = sets.sum(axis=0)
        measure = [
            math.prod((k - i) / (d - i) for i in range(m))
            * math.prod((d - k - i) / (d - m - i) for i in range(told - m))
            for m in inside.tolist()
        ]
        return _two_levels(self.epsilon, k / d, list(sets), np.array(measure))


class _Bits(_Private):
    """A bit for every input: the true bit is set with one probability, each other with another."""

    __slots__ = ()
    choices: int

    @property
    @abstractmethod
    def log_odds(self) -> tuple[float, float]:
        """The logarithms of the odds p/(1-p) of the true bit and of each other bit."""

    def laws(self) -> Laws:
        """Return the laws of a report.

        The common part of all inputs is at least (1-p)/(1-q) times the law of bits that are all set
        with probability q.
        """
        (p, unlike), (q, unset) = ((_odds(x), _odds(-x)) for x in self.log_odds)
        bits = np.array(list(product((True, False), repeat=min(self.choices, 3)))).T
        others, own = np.where(bits, q, unset), np.where(bits, p, unlike)
        base = np.prod(others, axis=0)
        rows = [base / others[i] * own[i] for i in range(len(bits))]
        one, other, common = (
            law.reshape(4, -1).sum(axis=1) for law in (rows[0], rows[1], base * (unlike / unset))
        )
        return Laws([Reports(one, other, common * DOWN)], list(_data_sets(rows)))


@dataclass(frozen=True, slots=True)
class UnaryEncoding(_Bits):
    """Sends a bit for every input, each flipped by its own coin (RAPPOR's first step, OUE).

    Args:
        epsilon: In (0, 30].
        choices: Number of inputs, at least 2.
        optimized: False: every bit is kept with probability 1/(1 + e^(-epsilon/2)). True: the true
            bit is sent as it is with probability 1/2, the others are set with probability
            1/(e^epsilon + 1).

    Source: Erlingsson, Pihur, Korolova 2014, arXiv 1407.6981; Wang, Blocki, Li, Jha 2017, USENIX
    Security (optimized).

    >>> UnaryEncoding(1.0, 16)
    UnaryEncoding(epsilon=1.0, choices=16, optimized=False)
    """

    epsilon: float
    choices: int
    optimized: bool = False

    @property
    def log_odds(self) -> tuple[float, float]:
        """The logarithms of the odds of the true bit and of each other bit."""
        half = 0.5 * self.epsilon
        return (0.0, -self.epsilon) if self.optimized else (half, -half)


@dataclass(frozen=True, slots=True)
class LocalHashing(_Bits):
    """Sends a random hash function and randomized response on the bucket of the input (OLH).

    The hash function is uniform over all functions, drawn for every report; the report is the set
    of inputs in the bucket, as a bit for every input.

    Args:
        epsilon: In (0, 30].
        choices: Number of inputs, at least 2.
        buckets: In [2, 10^9]; e^epsilon + 1, rounded, is best for histograms.

    Source: Wang, Blocki, Li, Jha 2017, USENIX Security.

    >>> LocalHashing(1.0, 100, 4)
    LocalHashing(epsilon=1.0, choices=100, buckets=4)
    """

    epsilon: float
    choices: int
    buckets: int

    def __post_init__(self) -> None:
        _Bits.__post_init__(self)
        object.__setattr__(self, "buckets", uses_of(self.buckets, "buckets", 2))

    @property
    def log_odds(self) -> tuple[float, float]:
        """The logarithms of the odds of the true bit and of each other bit."""
        others = math.log(self.buckets - 1.0)
        return self.epsilon - others, -others


@dataclass(frozen=True, slots=True)
class LaplaceResponse(_Private):
    """Sends a number of [0, 1] with Laplace noise of scale 1/epsilon.

    Args:
        epsilon: In (0, 30].

    >>> LaplaceResponse(2.0)
    LaplaceResponse(epsilon=2.0)
    """

    epsilon: float

    def laws(self) -> Laws:
        """Return the laws of a report, for inputs 0 and 1.

        All inputs have e^(-epsilon max(|y|, |1-y|)) epsilon/2 in common. Relative to it, the
        likelihoods of 0 and 1 are (e^(epsilon (1-2y)), 1) for y in [0, 1/2], a line. The mass of a
        cell may therefore move to the ends of the cell, its mean kept, the geometric mean of the
        ends: this raises every convex function. To merge cells is post-processing, for the lower
        end, in which all other users hold 1/2.
        """
        e = self.epsilon
        y = np.linspace(0.0, 0.5, CELLS + 1)
        width = -np.expm1(-e * (y[1] - y[0]))  # masses of cells; the tails come first
        near = np.append(0.5, 0.5 * np.exp(-e * y[:-1]) * width)  # of 0, then from 0 to 1/2
        far = np.append(0.5 * math.exp(-e), 0.5 * np.exp(-e * (1.0 - y[1:])) * width)
        middle = np.append(0.5 * math.exp(-0.5 * e), 0.5 * np.exp(-e * (0.5 - y[1:])) * width)
        ends = np.exp(e * (1.0 - 2.0 * y))
        share = 1.0 / (1.0 + math.exp(0.5 * e / CELLS))
        common = np.append(far[:1], np.zeros(CELLS))
        common[:-1] += share * far[1:]
        common[1:] += (1.0 - share) * far[1:]
        one = _there_and_back(common * ends, common)
        upper = Reports(*one, np.tile(common * DOWN, 2))
        return Laws([upper], [Reports(*_there_and_back(near, far), np.tile(middle, 2))])


@dataclass(frozen=True, slots=True, init=False)
class ResponseTable(LocalRandomizer):
    """A randomizer given by the probabilities of its reports, a row for every input.

    Args:
        rows: 2 to 64 rows of equally many numbers in [0, 1], each of sum 1 within 1e-9; they are
            divided by their sums. A report of probability 0 for some, not all, has infinite loss.

    >>> ResponseTable([[0.75, 0.25], [0.25, 0.75]]).rows
    ((0.75, 0.25), (0.25, 0.75))
    """

    rows: tuple[tuple[float, ...], ...]

    def __init__(self, rows: Iterable[Iterable[float]]) -> None:
        if not isinstance(rows, Iterable):
            raise TypeError(f"rows must be sequences of probabilities, got {rows!r}")
        table = tuple(numbers_in(row, "rows", PROBABILITY) for row in rows)
        if not 2 <= len(table) <= MOST_INPUTS or len({len(row) for row in table}) != 1:
            raise ValueError(
                f"rows must be 2 to {MOST_INPUTS} of one length, got {[len(r) for r in table]}"
            )
        for row in table:
            if abs(math.fsum(row) - 1.0) > 1e-9:
                raise ValueError(f"rows must be of sum 1, got {row!r}")
        set_fields(self, rows=table)

    def laws(self) -> Laws:
        """Return the laws of a report, of all pairs of inputs."""
        rows = [np.array(row) / math.fsum(row) for row in self.rows]
        common = np.min(rows, axis=0) * DOWN
        return Laws(
            [Reports(a, b, common) for a, b in permutations(rows, 2)], list(_data_sets(rows))
        )

    def largest_loss(self) -> Fraction | None:
        """Return the largest logarithm of the ratio of two probabilities of a report."""
        sums = [sum(map(Fraction, row)) for row in self.rows]
        most = Fraction(1)
        for column in zip(*self.rows, strict=True):
            chances = [Fraction(p) / total for p, total in zip(column, sums, strict=True)]
            if max(chances) > 0:
                if min(chances) == 0:
                    return None
                most = max(most, max(chances) / min(chances))
        return exact_log_above(most)


Randomizer = PureDP | RandomizedResponse | LocalRandomizer


def laws_of(randomizer: Randomizer) -> Laws:
    """Return the laws of a report for the shuffle model."""
    if isinstance(randomizer, PureDP):
        # Every such randomizer is a mixture of 1/(e^epsilon + 1) of either answer and the rest
        # (Feldman, McMillan, Talwar 2022, arXiv 2208.04591, Lemma 3.1).
        rows = _answers(randomizer.epsilon, 2)
        lower = [*_data_sets(rows), *_data_sets(_answers(randomizer.epsilon, 3))]
        return Laws([Reports(rows[0], rows[1], np.min(rows, axis=0) * DOWN)], lower)
    if isinstance(randomizer, RandomizedResponse):
        p, choices = randomizer.p, randomizer.choices
        rest = (1.0 - p) / max(choices - 1.0, 1.0)
        told = min(choices, 3)
        counts = np.array([1.0] * told + [choices - told])[: told + (choices > told)]
        rows = [np.where(np.arange(counts.size) == i, p, rest * counts) for i in range(told)]
        common = min(p, rest) * counts * DOWN
        upper = [Reports(rows[0], rows[1], common)] if told > 1 else []
        return Laws(upper, list(_data_sets(rows)))
    return randomizer.laws()


def _answers(epsilon: float, choices: int) -> list[Array]:
    likely, least = 1.0 / (1.0 + (choices - 1) * math.exp(-epsilon)), math.exp(-epsilon)
    return [np.where(np.arange(choices) == i, likely, likely * least) for i in range(choices)]


def _two_levels(epsilon: float, share: float, sets: list[Array], measure: Array) -> Laws:
    """Return the laws of reports that are e^epsilon times as likely within a set of every input.

    ``sets`` holds a mask over the types of reports for two inputs, or for more if there are more;
    each set has the measure ``share``.
    """
    least = math.exp(-epsilon) / (share + (1.0 - share) * math.exp(-epsilon))
    rows = [measure * least * np.where(inside, math.exp(epsilon), 1.0) for inside in sets]
    common = measure * least if len(sets) > 2 else np.min(rows, axis=0)
    return Laws([Reports(rows[0], rows[1], common * DOWN)], list(_data_sets(rows)))


def _data_sets(rows: list[Array]) -> Iterator[Reports]:
    """Yield the laws where one user has either of two inputs and all others another one."""
    for one, other in permutations(rows, 2):
        for others in rows:
            yield Reports(one, other, others)


def _there_and_back(one: Array, other: Array) -> tuple[Array, Array]:
    return np.append(one, other), np.append(other, one)


def _odds(x: float) -> float:
    """Return the probability of log odds x."""
    return 1.0 / (1.0 + math.exp(-x))
