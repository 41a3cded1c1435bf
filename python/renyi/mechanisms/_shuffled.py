"""Reports that a shuffler has mixed: the privacy curve of one round, and its pair for several."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair
from renyi._rounding import below
from renyi._search import smallest_argument
from renyi._validation import float_above, set_fields, uses_of
from renyi.mechanisms._answers import RandomizedResponse
from renyi.mechanisms._guarantees import PureDP
from renyi.mechanisms._randomizers import EPSILON, LocalRandomizer, Randomizer, laws_of
from renyi.mechanisms._shuffled_sum import LEAST, Reports, delta_of
from renyi.mechanisms.algebra import Mechanism, UnsupportedMechanismError
from renyi.mechanisms.selected_pair import (
    ATTAINED_ERROR,
    LARGEST_EPSILON,
    attained_points,
    event_masses,
    finite_pair,
)
from renyi.mechanisms.steps import NOTHING, REPLACE

Array = npt.NDArray[np.float64]

TOLERANCE = 1e-7  # the relative tolerance of a search for epsilon
FINE, COARSE = 32.0, 14.0  # points per standard deviation of the loss: upper pair, lower pair
FAR = 8.0  # deviations up to which points are so close; the widths of brackets limit the lower pair
REFERENCE = 1e-6  # delta for which the data set of the lower pair is chosen
LEAST_ATTAINED = 1e-15
FEWEST, GROWTH = 4.0, 1.05
KEPT = 4  # the most data sets that the lower end uses


@dataclass(frozen=True, slots=True)
class Shuffled(Mechanism):
    """One report of every user, in an order that does not reveal who sent which.

    Args:
        randomizer: The randomizer that every user runs, the same for all. `PureDP`, of an epsilon
            up to 30, stands for any randomizer that is so private. It may then depend on the place
            in the order in which shuffled users report, and on earlier reports, but not on the
            user.
        users: Number of reports, in [1, 10^9]; it is public.

    It holds for replaced records only: the number of reports is public. The privacy blanket gives
    the upper ends (the stronger clones for `PureDP`); data sets in which all other users hold one
    input give the lower ends. For one round the formula itself answers, to about 1e-5 of delta. For
    several rounds, or with other mechanisms, pairs through points of the formula answer.

    Source: Balle, Bell, Gascón, Nissim 2019, arXiv 1903.02837, Lemma 5.3. Feldman, McMillan, Talwar
    2022, arXiv 2208.04591, Theorem 3.1 (stronger clones).

    >>> from renyi import PLDAccountant
    >>> from renyi.mechanisms import PureDP
    >>> accountant = PLDAccountant(adjacency="replace_one").compose(Shuffled(PureDP(2.0), 100_000))
    >>> round(accountant.get_epsilon(1e-6), 5)
    0.03319
    """

    adjacencies = (REPLACE,)
    size_matters: ClassVar[bool] = True  # as in samplings
    assumption = (
        "shuffled reports: each user sends one report, drawn with coins of their own, a shuffler "
        "that is trusted hides who sent which, and the number of reports is public"
    )

    randomizer: Randomizer
    users: int

    def __post_init__(self) -> None:
        randomizer = self.randomizer
        if not isinstance(randomizer, PureDP | RandomizedResponse | LocalRandomizer):
            raise TypeError(
                "randomizer must be a PureDP, RandomizedResponse or LocalRandomizer, "
                f"got {randomizer!r}"
            )
        if isinstance(randomizer, PureDP) and not randomizer.epsilon <= EPSILON.high:
            raise ValueError(f"randomizer must have an epsilon of at most 30, got {randomizer!r}")
        set_fields(self, users=uses_of(self.users, "users", 1))

    @property
    def population(self) -> int:
        """The number of records that it needs, one of each user."""
        return self.users

    def _headline(self) -> str:
        return f"Shuffled reports of {self.users} users, each by {self.randomizer!r}"

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless records are replaced."""
        if adjacency != REPLACE:
            raise UnsupportedMechanismError(
                self,
                "the number of reports is public, so that it holds for adjacency 'replace_one' "
                f"only, this accountant has {adjacency!r}",
            )

    def check_pair(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless records are replaced."""
        self.check_adjacency(adjacency)

    def single_use(self, adjacency: Adjacency, direction: DirectionName) -> ShuffledCurve:
        """Return the curve of one round."""
        return curve_of_round(self)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the loss of one report: all other reports may be equal to it."""
        if isinstance(self.randomizer, LocalRandomizer):
            return self.randomizer.largest_loss()
        return self.randomizer.largest_loss(adjacency, direction)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return curve_of_round(self).pair()

    def attained_pair(
        self, adjacency: Adjacency, direction: DirectionName
    ) -> tuple[Pair, float] | None:
        """Return the pair of one of the data sets."""
        return curve_of_round(self).attained_pair()


class ShuffledCurve:
    """The privacy curve of one round: the worse order of both inputs, by certified brackets."""

    def __init__(self, shuffled: Shuffled) -> None:
        upper, lower = laws_of(shuffled.randomizer)
        self._users = shuffled.users
        self._upper = _distinct([*upper, *(law.reversed() for law in upper)])
        self._lower = _distinct(lower)[:KEPT]
        loss = shuffled.largest_loss(REPLACE, "remove")
        self._largest = math.inf if loss is None else float_above(loss)
        variance = self._upper[0].variance if self._upper else 0.0
        self._deviation = math.sqrt(variance / self._users)

    def delta_bounds(self, epsilon: float, enough: float = 0.0) -> tuple[float, float]:
        """Return delta at an epsilon >= 0."""
        return self._least(epsilon), self._most(epsilon)

    def epsilon_bounds(self, delta: float, enough: float = 0.0) -> tuple[float, float]:
        """Return epsilon at a delta in [0, 1]."""
        if delta == 0.0:
            return 0.0, self._largest
        high = self._place(self._most, delta, 4.0 * self._deviation)
        if self._most(high) > delta:  # a report that others never send may lose more
            high = self._largest
        law = self._worst(high)
        if law is None:
            return 0.0, high

        def attained(epsilon: float) -> float:
            return delta_of(law, self._users, epsilon)[0] if epsilon < self._largest else 0.0

        return below(self._place(attained, delta, 0.95 * high) / (1.0 + TOLERANCE)), high

    def _worst(self, epsilon: float) -> Reports | None:
        """Return the law of the data set with nearly the largest delta."""
        found, worst = -1.0, None
        for law in self._lower:
            value = delta_of(law, self._users, epsilon, found)[0]
            if value > found:
                found, worst = value, law
        return worst

    def _place(self, curve: Callable[[float], float], delta: float, start: float) -> float:
        """Return an epsilon where a curve is at most delta, next to one where it is not, or 0.

        If the curve is above delta up to the largest loss, or `LARGEST_EPSILON`: that.
        """
        if curve(0.0) <= delta:
            return 0.0
        end = min(self._largest, LARGEST_EPSILON)
        if curve(end) > delta:
            return end
        start = min(start or self._deviation or 1.0, 0.5 * end)
        return min(smallest_argument(curve, delta, start, 0.0, end, tolerance=TOLERANCE), end)

    def _least(self, epsilon: float) -> float:
        found = 0.0
        for law in self._lower if epsilon < self._largest else ():
            found = max(found, delta_of(law, self._users, epsilon, found)[0])
        return found

    def _most(self, epsilon: float) -> float:
        found = 0.0
        for law in self._upper if epsilon < self._largest else ():
            found = max(found, delta_of(law, self._users, epsilon, found)[1])
        return found

    def pair(self) -> Pair:
        """Return a pair whose curve joins points of the upper curve, linearly in e^epsilon."""
        epsilons, deltas = self._grid(FINE), []
        for epsilon in epsilons:
            deltas.append(self._most(epsilon))
            if deltas[-1] < LEAST:
                break
        if self._largest < LARGEST_EPSILON:
            epsilons, deltas = [*epsilons[: len(deltas)], self._largest], [*deltas, 0.0]
        profile = np.array(epsilons[: len(deltas)]), np.array(deltas)
        return Pair.bracketed(Pair.discrete(*finite_pair(profile, profile)), NOTHING)

    def attained_pair(self) -> tuple[Pair, float] | None:
        """Return a pair that one data set, the worst at `REFERENCE`, dominates."""
        law = self._worst(self._place(self._most, REFERENCE, 4.0 * self._deviation))
        if law is None:
            return None
        points = []
        for side in (law, law.reversed()):
            found = []
            for epsilon in self._grid(COARSE):
                found.append((math.exp(epsilon), *delta_of(side, self._users, epsilon)))
                if found[-1][1] < LEAST_ATTAINED:
                    break
            points.append(attained_points(*np.array(found).T))
        return Pair.discrete(*event_masses(*points)), ATTAINED_ERROR

    def _grid(self, fine: float) -> list[float]:
        """Return epsilons from 0, evenly spaced up to `FAR` deviations and wider beyond."""
        end = min(self._largest, LARGEST_EPSILON)
        step = min((self._deviation or math.inf) / fine, end / (FEWEST * fine))
        found = [0.0]
        while found[-1] + step < end:
            found.append(found[-1] + step)
            step *= GROWTH if found[-1] > FAR * self._deviation else 1.0
        return found


@lru_cache(maxsize=64)
def curve_of_round(shuffled: Shuffled) -> ShuffledCurve:
    """Return the curve of one round, cached."""
    return ShuffledCurve(shuffled)


def _distinct(laws: list[Reports]) -> list[Reports]:
    """Return laws that differ by more than the order of types, largest variance first."""
    found = {}
    for law in laws:
        types = np.stack(law)
        found[types[:, np.lexsort(types)].tobytes()] = law
    return sorted(found.values(), key=lambda law: law.variance, reverse=True)
