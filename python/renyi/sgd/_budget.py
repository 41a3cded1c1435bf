"""How many more releases fit in a budget, asked of the accountant itself."""

from __future__ import annotations

import math
from typing import Any

from renyi._validation import probability_of, real_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.filters import BudgetExceededError
from renyi.mechanisms import Mechanism

__all__ = ["Budget"]


class Budget:
    """An (epsilon, delta) that releases of one mechanism, fixed beforehand, must not exceed.

    When to stop follows from the mechanism alone and not from what was released, so accounting as
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
        self._ledger: Any = None

    def check(self, mechanism: Mechanism, needed: int, planned: int) -> None:
        """Raise `BudgetExceededError` if releases do not fit.

        Parameters
        ----------
        mechanism : Mechanism
            What is about to be released.
        needed : int
            How many releases are about to be recorded.
        planned : int
            How many more of it are expected: a single query settles all, if they fit.
        """
        if self._left < needed or self._ledger != self._accountant.mechanisms:
            self._left = self._affordable(mechanism, max(planned, needed))
            self._ledger = self._accountant.mechanisms
        if self._left < needed:
            raise BudgetExceededError(
                f"the step must fit in the budget, epsilon {self.epsilon!r} at delta "
                f"{self.delta!r}, got {self._spent(mechanism, needed):.6g} with it"
            )

    def charge(self, mechanism: Mechanism, count: int) -> None:
        """Record releases that were checked."""
        self._accountant.compose(mechanism, count)
        self._left -= count
        self._ledger = self._accountant.mechanisms

    def _affordable(self, mechanism: Mechanism, most: int) -> int:
        if self._spent(mechanism, most) <= self.epsilon:
            return most
        fits, fails = 0, most
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._spent(mechanism, middle) <= self.epsilon:
                fits = middle
            else:
                fails = middle
        return fits

    def _spent(self, mechanism: Mechanism, count: int) -> float:
        return self._accountant._copy().compose(mechanism, count).get_epsilon(self.delta)
