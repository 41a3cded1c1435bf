"""Basic composition of what is spent, each time by its exact privacy curve."""

from __future__ import annotations

import math
from functools import lru_cache

from renyi.accountants import Adjacency, PLDAccountant, UnsupportedMechanismError
from renyi.filters._spent import ROUNDED_UP
from renyi.mechanisms import Mechanism

__all__ = ["BasicFilter"]

MOST = 16  # spendings; later ones would have next to no delta


class BasicFilter:
    """Goes on while the epsilons add up to no more than its own; the n-th has delta times 3/4^n.

    Sharp where little is spent and its losses are seldom large: there Rényi divergences of every
    order are loose. Basic composition holds for parameters that are chosen along the way (Rogers,
    Roth, Ullman, Vadhan 2016, arXiv 1605.08294).
    """

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency) -> None:
        self._epsilon, self._delta, self._adjacency = epsilon, delta, adjacency
        self._spent: tuple[tuple[Mechanism, int], ...] = ()

    def holds(self, mechanism: Mechanism, count: int) -> bool:
        """Return whether one more spending would keep within the budget."""
        uses = (*self._spent, (mechanism, count)) if count else self._spent
        if len(uses) > MOST:
            return False
        total = 0.0
        for n, (spent, times) in enumerate(uses, 1):
            delta = math.ldexp(3.0 * self._delta, -2 * n)
            total = (total + _epsilon(spent, times, self._adjacency, delta)) * ROUNDED_UP
            if total > self._epsilon:
                return False
        return True

    def record(self, mechanism: Mechanism, count: int) -> None:
        """Take note of a spending."""
        if count and len(self._spent) < MOST:
            self._spent = (*self._spent, (mechanism, count))


@lru_cache(maxsize=256)
def _epsilon(mechanism: Mechanism, count: int, adjacency: Adjacency, delta: float) -> float:
    try:
        return PLDAccountant(adjacency=adjacency).compose(mechanism, count).get_epsilon(delta)
    except UnsupportedMechanismError:
        return math.inf
