"""How many more releases fit in a budget, asked of the accountant itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from renyi._validation import probability_of, real_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.filters import BudgetExceededError
from renyi.mechanisms import Mechanism

__all__ = ["Budget"]

Ahead = Callable[[int], list[tuple[Mechanism, int]]]


class Budget:
    """An (epsilon, delta) that releases, of mechanisms fixed beforehand, must not exceed.

    When to stop follows from the mechanisms alone and not from what was released, so accounting as
    for a run of fixed length is right. The accountant may hold other mechanisms, and get more.
    """

    def __init__(self, budget: Any, accountant: PLDAccountant | RDPAccountant) -> None:
        if not isinstance(budget, tuple | list) or len(budget) != 2:
            raise TypeError(f"budget must be a pair (epsilon, delta), got {budget!r}")
        self.epsilon = real_of(budget[0], "budget epsilon", "a number in (0, inf)")
        if not 0.0 < self.epsilon < math.inf:
            raise ValueError(f"budget epsilon must be a number in (0, inf), got {budget[0]!r}")
        self.delta = probability_of(budget[1], "budget delta")
        self._accountant = accountant
        self._left = 0
        self._known: Any = None

    def check(self, ahead: Ahead, position: int, needed: int, planned: int) -> None:
        """Raise `BudgetExceededError` if releases do not fit.

        Parameters
        ----------
        ahead : callable
            What the next so many releases are, each with how often.
        position : int
            Where the run is, as far as what is ahead depends on it.
        needed : int
            How many releases are about to be recorded.
        planned : int
            How many more are expected: a single query settles all, if they fit.
        """
        known = (self._accountant.mechanisms, position)
        if self._left < needed or self._known != known:
            self._left = self._affordable(ahead, max(planned, needed))
            self._known = known
        if self._left < needed:
            raise BudgetExceededError(
                f"the step must fit in the budget, epsilon {self.epsilon!r} at delta "
                f"{self.delta!r}, got {self._spent(ahead(needed)):.6g} with it"
            )

    def charge(self, mechanism: Mechanism, count: int, position: int) -> None:
        """Record releases that were checked; the next ones are known from a position."""
        self._accountant.compose(mechanism, count)
        self._left -= count
        self._known = (self._accountant.mechanisms, position)

    def _affordable(self, ahead: Ahead, most: int) -> int:
        if self._spent(ahead(most)) <= self.epsilon:
            return most
        fits, fails = 0, most
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._spent(ahead(middle)) <= self.epsilon:
                fits = middle
            else:
                fails = middle
        return fits

    def _spent(self, releases: list[tuple[Mechanism, int]]) -> float:
        accountant = self._accountant._copy()
        for mechanism, count in releases:
            accountant.compose(mechanism, count)
        return accountant.get_epsilon(self.delta)
