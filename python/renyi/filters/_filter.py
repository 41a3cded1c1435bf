"""Budgets of Rényi divergence that refuse the mechanism which would exceed them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import probability_of, real_of
from renyi.accountants import Adjacency
from renyi.filters._spent import ROUNDED_UP, Spent
from renyi.mechanisms import Mechanism

__all__ = ["BudgetExceededError", "Filter", "RenyiFilter"]

Array = npt.NDArray[np.float64]


class BudgetExceededError(RuntimeError):
    """A mechanism would exceed the budget of a filter; it was not recorded."""


class Total(NamedTuple):
    """Divergences of all orders, and the sum of the probabilities of failure."""

    divergences: Array
    failing: float


class Filter(Spent):
    """A budget of divergence at each of some orders: goes on while one of them is kept."""

    def __init__(
        self,
        orders: Sequence[float],
        budgets: Sequence[float],
        adjacency: Adjacency,
        failing: float,
    ) -> None:
        super().__init__(orders, adjacency)
        self._budgets = np.asarray(budgets)
        self._failure_delta = failing
        self._failing = 0.0

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, in [0, 1], at the order where it is most."""
        return max(0.0, 1.0 - self._share(self._total))

    def fits(self, mechanism: Mechanism, count: int = 1) -> bool:
        """Return whether `spend` would take ``count`` uses of a mechanism now.

        Raises
        ------
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        return self._holds(self._sum(*self._cost(mechanism, count)), mechanism, count)

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run, or refuse all of them.

        Raises
        ------
        BudgetExceededError
            If they would exceed the budget; nothing is recorded then, nor after other errors.
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        cost, failing = self._cost(mechanism, count)
        with self._lock:
            total = self._sum(cost, failing)
            if not self._holds(total, mechanism, count):
                raise BudgetExceededError(
                    f"mechanism must fit in what remains, {self.remaining:.3g} of the budget and "
                    f"{self._failure_delta - self._failing:.3g} of failure_delta, got "
                    f"{mechanism!r} used {count} times, which takes "
                    f"{self._share(cost):.3g} and {failing:.3g}"
                )
            self._total, self._failing = total
            self._recorded(mechanism, count)

    def _share(self, divergences: Array) -> float:
        return float(np.min(divergences / self._budgets))

    def _sum(self, cost: Array, failing: float) -> Total:
        return Total(_raised(self._total, cost), float(_raised(self._failing, failing)))

    def _holds(self, total: Total, mechanism: Mechanism, count: int) -> bool:
        within = bool((total.divergences <= self._budgets).any())
        return within and total.failing <= self._failure_delta

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        """Take note of what was spent."""


class RenyiFilter(Filter):
    """A budget of Rényi divergence that refuses the mechanism which would exceed it.

    The whole interaction has a Rényi divergence of the order of at most the budget, except with
    probability ``failure_delta``, however the mechanisms, their parameters and their number are
    chosen along the way.

    Parameters
    ----------
    order : float
        The Rényi order, in (1, 1e6].
    budget : float
        The largest divergence, in (0, inf).
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.
    failure_delta : float
        In [0, 1): what mechanisms that may fail, `ApproxDP`, can spend together.

    Raises
    ------
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    Methods may be called from many threads, which together never overspend.

    References
    ----------
    Feldman, Zrnic 2021, arXiv 2008.11193, Theorem 4.3; Lécuyer 2021, arXiv 2103.01379.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> budget = RenyiFilter(order=8.0, budget=0.5)
    >>> budget.spend(Gaussian(10.0), 12)  # 12 times 8/200
    >>> budget.fits(Gaussian(10.0)), round(budget.remaining, 6)
    (False, 0.04)
    """

    def __init__(
        self,
        order: float,
        budget: float,
        adjacency: Adjacency = "add_remove",
        failure_delta: float = 0.0,
    ) -> None:
        self._budget = real_of(budget, "budget", "a number in (0, inf)")
        if not 0.0 < self._budget < math.inf:
            raise ValueError(f"budget must be a number in (0, inf), got {budget!r}")
        failing = probability_of(failure_delta, "failure_delta")
        super().__init__((order,), (self._budget,), adjacency, failing)

    @property
    def order(self) -> float:
        """The Rényi order by which is counted."""
        return float(self._orders[0])

    @property
    def budget(self) -> float:
        """The largest Rényi divergence of the order."""
        return self._budget

    def __repr__(self) -> str:
        return f"<RenyiFilter: order {self.order!r}, {self.remaining:.3g} remaining>"


def _raised(total: Array | float, cost: Array | float) -> Array:
    return np.where(cost, (total + cost) * ROUNDED_UP, total)
