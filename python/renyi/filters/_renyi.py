"""A budget of one Rényi divergence."""

from __future__ import annotations

import math
from typing import Any

from renyi._rounding import round_down
from renyi._strict_json import read_number
from renyi._validation import decimal_of, probability_of, real_of
from renyi.accountants import Adjacency
from renyi.filters._filter import Filter
from renyi.filters._spent import Cost, Total, divergences, orders_of
from renyi.mechanisms import Mechanism

__all__ = ["RenyiFilter"]


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

    _ARGUMENTS = ("order", "budget", "adjacency", "failure_delta")

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
        self._orders = orders_of((order,))
        failing = probability_of(failure_delta, "failure_delta")
        super().__init__((self._budget,), adjacency, failing)

    @property
    def order(self) -> float:
        """The Rényi order by which is counted."""
        return self._orders[0]

    @property
    def budget(self) -> float:
        """The largest Rényi divergence of the order."""
        return self._budget

    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        return Cost(*divergences(mechanism, count, self._adjacency, self._orders))

    @property
    def _unit(self) -> str:
        return f"divergence of order {decimal_of(self.order)}"

    @property
    def _limits(self) -> dict[str, float]:
        return {self._unit: self._budget}

    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        return {self._unit: float(total.rounded()[0][0])}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._orders = orders_of((read_number(state["order"]),))
        self._budget = float(self._budgets[0])
        if state["budget"] != self._budget:
            raise ValueError(f"budget must be that of the state, got {state['budget']!r}")

    def __repr__(self) -> str:
        return f"<RenyiFilter: order {self.order!r}, {round_down(self.remaining, 3)} remaining>"
