"""Budgets that refuse the mechanism which would exceed them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi._validation import probability_of, real_of
from renyi.accountants import Adjacency, RDPAccountant
from renyi.filters._spent import ROUNDED_UP, Spent, inside
from renyi.mechanisms import Gaussian, Mechanism

__all__ = ["BudgetExceededError", "PrivacyFilter", "RenyiFilter"]


class BudgetExceededError(RuntimeError):
    """A mechanism would exceed the budget of a filter; it was not recorded."""


class RenyiFilter(Spent):
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
        self._failure_delta = probability_of(failure_delta, "failure_delta")
        self._failing = 0.0
        super().__init__((order,), adjacency)

    @property
    def order(self) -> float:
        """The Rényi order by which is counted."""
        return float(self._orders[0])

    @property
    def budget(self) -> float:
        """The largest Rényi divergence of the order."""
        return self._budget

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, in [0, 1]."""
        return max(0.0, 1.0 - float(self._total[0]) / self._budget)

    def fits(self, mechanism: Mechanism, count: int = 1) -> bool:
        """Return whether `spend` would take ``count`` uses of a mechanism now.

        Raises
        ------
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        return self._holds(self._with(mechanism, count))

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run, or refuse all of them.

        Raises
        ------
        BudgetExceededError
            If they would exceed the budget; nothing is recorded then, nor after other errors.
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        cost = self._cost(mechanism, count)
        with self._lock:
            total = self._sum(*cost)
            if not self._holds(total):
                raise BudgetExceededError(
                    f"mechanism must fit in what remains, {self.remaining:.3g} of the budget and "
                    f"{self._failure_delta - self._failing:.3g} of failure_delta, got "
                    f"{mechanism!r} used {count} times, which takes "
                    f"{float(cost[0][0]) / self._budget:.3g} and {cost[1]:.3g}"
                )
            self._total[0], self._failing = total

    def _with(self, mechanism: Mechanism, count: int) -> tuple[float, float]:
        return self._sum(*self._cost(mechanism, count))

    def _sum(self, cost: npt.NDArray[np.float64], failing: float) -> tuple[float, float]:
        return _raised(float(self._total[0]), float(cost[0])), _raised(self._failing, failing)

    def _holds(self, total: tuple[float, float]) -> bool:
        return total[0] <= self._budget and total[1] <= self._failure_delta

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: order {self.order!r}, {self.remaining:.3g} remaining>"


class PrivacyFilter(RenyiFilter):
    """A budget (epsilon, delta) that refuses the mechanism which would exceed it.

    The whole interaction is (epsilon, delta)-DP however the mechanisms, their parameters and their
    number are chosen along the way.

    Parameters
    ----------
    epsilon, delta : float
        The budget; epsilon in (0, inf), delta in (0, 1).
    order : float, optional
        The Rényi order in (1, 1e6] by which is counted. It has to be fixed before anything is seen.
        The default is a good one where all mechanisms are Gaussian; with Poisson sampling take
        that of a planned run, `RDPAccountant.get_epsilon_and_order`.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.
    failure_delta : float
        In [0, delta): the part of delta set aside for mechanisms that may fail, `ApproxDP`.

    Raises
    ------
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    A `RenyiFilter` whose budget is the largest divergence for which the optimal conversion gives
    (epsilon, delta) (Asoodeh et al. 2020).

    Examples
    --------
    >>> from renyi import Gaussian
    >>> budget = PrivacyFilter(epsilon=1.0, delta=1e-5)
    >>> while budget.fits(Gaussian(20.0)):
    ...     budget.spend(Gaussian(20.0))
    >>> round(budget.remaining, 4)
    0.0181
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        order: float | None = None,
        adjacency: Adjacency = "add_remove",
        failure_delta: float = 0.0,
    ) -> None:
        epsilon_allowed = real_of(epsilon, "epsilon", "a number in (0, inf)")
        if not 0.0 < epsilon_allowed < math.inf:
            raise ValueError(f"epsilon must be a number in (0, inf), got {epsilon!r}")
        whole, failing = inside(delta), probability_of(failure_delta, "failure_delta")
        if failing >= whole:
            raise ValueError(f"failure_delta must be below delta, {delta!r}, got {failing!r}")
        left = (whole - failing) * (1.0 - 2.0**-50) if failing else whole
        chosen = _gaussian_order(epsilon_allowed, left) if order is None else order
        RDPAccountant(orders=(chosen,))  # raises
        budget = _largest_divergence(epsilon_allowed, left, float(chosen))
        super().__init__(chosen, budget, adjacency, failing)


def _raised(total: float, cost: float) -> float:
    return (total + cost) * ROUNDED_UP if cost else total


def _gaussian_order(epsilon: float, delta: float) -> float:
    """Return the order at which Gaussian noise gets most out of a budget.

    A zero-concentrated budget rho gives epsilon = rho + 2 sqrt(rho log(1/delta)), by the order
    1 + sqrt(log(1/delta)/rho): near the best of the optimal conversion.
    """
    depth = -math.log(delta)
    root = epsilon / (math.sqrt(depth + epsilon) + math.sqrt(depth))  # of rho
    excess = math.sqrt(depth) / root
    orders = [min(1.0 + excess * math.exp2(0.125 * i), 1e6) for i in range(-12, 13)]
    return max(orders, key=lambda order: _largest_divergence(epsilon, delta, order) / order)


def _largest_divergence(epsilon: float, delta: float, order: float) -> float:
    """Return the largest Rényi divergence of an order that gives (epsilon, delta), rounded down."""

    def holds(divergence: float) -> bool:
        noise = math.sqrt(0.5 * order / divergence)
        spent = RDPAccountant(orders=(order,)).compose(Gaussian(noise))
        return spent.get_epsilon(delta) <= epsilon

    low, high = 0.0, 2.0 * epsilon + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle > 0.0 and holds(middle) else (low, middle)
    return low * (1.0 - 2.0**-40)
