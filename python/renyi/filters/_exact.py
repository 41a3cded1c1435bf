"""Basic composition of what is spent, each time by its exact privacy curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from renyi._rounding import above
from renyi._strict_json import check_names
from renyi._validation import probability_of, real_of
from renyi.accountants import Adjacency, PLDAccountant, UnsupportedMechanismError
from renyi.filters._spent import ROUNDED_UP
from renyi.mechanisms import Mechanism
from renyi.mechanisms.json_form import decode_counted, encode_counted

__all__ = ["BasicFilter"]

Uses = tuple[Mechanism, int]

MOST = 16  # spendings; later ones would have next to no delta


class BasicFilter:
    """Goes on while the epsilons add up to no more than its own; the n-th has delta times 3/4^n.

    Sharp where little is spent and its losses are seldom large: there Rényi divergences of every
    order are loose. Basic composition holds for parameters that are chosen along the way (Rogers,
    Roth, Ullman, Vadhan 2016, arXiv 1605.08294).
    """

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency) -> None:
        self._epsilon, self._delta, self._adjacency = epsilon, delta, adjacency
        self._spent: tuple[Uses, ...] = ()

    def exceeds(self, other: BasicFilter, factor: float) -> bool:
        """Return whether the budget is larger than so many times another."""
        return self._epsilon > factor * other._epsilon or self._delta > factor * other._delta

    def holds(self, mechanism: Mechanism, count: int) -> bool:
        """Return whether one more spending would keep within the budget."""
        return self.epsilon_with((mechanism, count), self._epsilon) <= self._epsilon

    def epsilon_with(self, uses: Uses, most: float = math.inf) -> float:
        """Return what is spent, perhaps with one more spending; inf above ``most``."""
        total, every = 0.0, self._with(uses)
        if len(every) > MOST:
            return math.inf
        for n, (spent, times) in enumerate(every, 1):
            delta = math.ldexp(3.0 * self._delta, -2 * n)
            total = (total + _epsilon(spent, times, self._adjacency, delta)) * ROUNDED_UP
            if total > most:
                return math.inf
        return total

    def share_with(self, uses: Uses) -> float:
        """Return an upper bound on the delta that is spent over its own; above 1 it exceeds that.

        One spending has a delta at epsilon; of several only the sum of their epsilons is known.
        """
        every = self._with(uses)
        if len(every) != 1:
            within = self.epsilon_with(uses, self._epsilon) <= self._epsilon
            return (1.0 if within else math.inf) if every else 0.0
        (spent, times), delta = every[0], 0.75 * self._delta
        try:
            together = PLDAccountant(adjacency=self._adjacency).compose(spent, times)
        except UnsupportedMechanismError:
            return math.inf
        return above(together.get_delta(self._epsilon) / delta)

    def _with(self, uses: Uses) -> tuple[Uses, ...]:
        return (*self._spent, uses) if uses[1] else self._spent

    def record(self, mechanism: Mechanism, count: int) -> None:
        """Take note of a spending."""
        if count and len(self._spent) <= MOST:  # one more than can be held tells that
            self._spent = (*self._spent, (mechanism, count))

    def to_dict(self) -> dict[str, Any]:
        """Return the budget and what was spent as JSON can hold it."""
        spent = encode_counted(self._spent)
        return {"epsilon": self._epsilon, "delta": self._delta, "spent": spent}

    @classmethod
    def from_dict(cls, data: Any, adjacency: Adjacency) -> BasicFilter:
        """Return what `to_dict` described."""
        if not isinstance(data, Mapping):
            raise TypeError(f"basic must be a mapping, got {data!r}")
        check_names("basic", data, ("epsilon", "delta", "spent"))
        epsilon = real_of(data["epsilon"], "epsilon", "a number in (0, inf)")
        made = cls(epsilon, probability_of(data["delta"], "delta"), adjacency)
        made._spent = tuple(decode_counted(data["spent"]))
        return made


@lru_cache(maxsize=256)
def _epsilon(mechanism: Mechanism, count: int, adjacency: Adjacency, delta: float) -> float:
    try:
        return PLDAccountant(adjacency=adjacency).compose(mechanism, count).get_epsilon(delta)
    except UnsupportedMechanismError:
        return math.inf
