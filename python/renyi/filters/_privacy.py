"""Budgets (epsilon, delta) that refuse a mechanism which would exceed them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from renyi._adjacency import Adjacency
from renyi._rounding import above, round_down
from renyi._strict_json import check_names
from renyi._validation import BELOW_ONE, FINITE_POSITIVE, number_in, probability_of
from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError
from renyi.filters._filter import (
    NEAR,
    ROUNDED_UP,
    Cost,
    EpsilonDelta,
    Total,
    divergences,
    orders_of,
)
from renyi.mechanisms import Gaussian, Mechanism
from renyi.mechanisms.json_form import decode_counted, encode_counted

Uses = tuple[Mechanism, int]

MOST = 16  # the most spendings; later ones would have next to no delta


class BasicFilter:
    """Accepts while the epsilons add up to at most ``epsilon``; the n-th has delta times 3/4^n.

    This is tight for few spendings with rare large losses, where Rényi divergences of every order
    are loose. Basic composition holds for parameters that are chosen along the way (Rogers,
    Roth, Ullman, Vadhan 2016, arXiv 1605.08294).
    """

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency) -> None:
        self._epsilon, self._delta, self._adjacency = epsilon, delta, adjacency
        self._spent: tuple[Uses, ...] = ()

    def exceeds(self, other: BasicFilter, factor: float) -> bool:
        """Return whether the budget is larger than ``factor`` times another."""
        return self._epsilon > factor * other._epsilon or self._delta > factor * other._delta

    def limit(self, other: BasicFilter) -> None:
        """Lower the budget to that of another filter, where the latter is smaller."""
        self._epsilon = min(self._epsilon, other._epsilon)
        self._delta = min(self._delta, other._delta)

    def holds(self, mechanism: Mechanism, count: int) -> bool:
        """Return whether one more spending would keep within the budget."""
        return self.epsilon_with((mechanism, count), self._epsilon) <= self._epsilon

    def epsilon_with(self, uses: Uses, most: float = math.inf) -> float:
        """Return the epsilon spent, with ``uses`` as one more spending; inf above ``most``."""
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
        """Return an upper bound on the spent delta over the budget's delta; above 1 exceeds it.

        One spending has a delta at epsilon; for several, only the sum of their epsilons is known.
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
        """Record a spending."""
        if count and len(self._spent) <= MOST:  # one too many makes `epsilon_with` infinite
            self._spent = (*self._spent, (mechanism, count))

    def to_dict(self) -> dict[str, Any]:
        """Return the budget and the spendings in the form of JSON."""
        spent = encode_counted(self._spent)
        return {"epsilon": self._epsilon, "delta": self._delta, "spent": spent}

    @classmethod
    def from_dict(cls, data: Any, adjacency: Adjacency) -> BasicFilter:
        """Return the filter that `to_dict` wrote."""
        if not isinstance(data, Mapping):
            raise TypeError(f"basic must be a mapping, got {data!r}")
        check_names("basic", data, ("epsilon", "delta", "spent"))
        epsilon = number_in(data["epsilon"], "epsilon", FINITE_POSITIVE)
        made = cls(epsilon, probability_of(data["delta"], "delta"), adjacency)
        made._spent = tuple(decode_counted(data["spent"]))
        return made


@lru_cache(maxsize=256)
def _epsilon(mechanism: Mechanism, count: int, adjacency: Adjacency, delta: float) -> float:
    try:
        return PLDAccountant(adjacency=adjacency).compose(mechanism, count).get_epsilon(delta)
    except UnsupportedMechanismError:
        return math.inf


BASIC, OTHERS = 1.0 / 4.0, 1.0 / 32.0
"""The shares of delta for basic composition, and for all orders but the Gaussian one."""

DISTANCES = (0.6, 0.75, 4.0, 64.0)
"""Distances of further orders from 1, over that of the Gaussian order: rare large losses need
smaller orders, bounded losses larger ones. Below one half, log(1/delta) takes all of epsilon."""


class PrivacyFilter(EpsilonDelta):
    """A budget (epsilon, delta) that refuses a mechanism which would exceed it.

    The whole interaction is (epsilon, delta)-DP however the mechanisms, their parameters and their
    number are chosen along the way.

    Args:
        epsilon, delta: The budget; epsilon in (0, inf), delta in [0, 1). With a delta of 0 the
            largest losses add up, which must be bounded.
        order: The only Rényi order used, in (1, 1e6]. It must be fixed before anything is released;
            `RDPAccountant.get_epsilon_and_order` returns the best order of a planned run. By
            default there are several routes: the best order for Gaussian noise, with 23/32 of
            delta; four orders around it, with 1/32 together; sums of exact curves, with 1/4.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        failure_delta: In [0, delta): the part of delta set aside for mechanisms that may fail,
            `ApproxDP`. Exact curves need none.

    The budget of an order is the largest divergence for which the optimal conversion gives epsilon
    at the order's share of delta (Asoodeh et al. 2020). Exact curves, by `PLDAccountant`, are added
    up by basic composition, one for each call of `spend`: this route helps if calls are few, and
    most for the first call.

    Several routes hold together: the interaction continues while any route permits it. Split the
    transcripts by the last route that does: on its part, the interaction is the one that this route
    alone would have stopped, whose delta at epsilon is at most the route's share. The hockey-stick
    divergence is a sum over transcripts, so that the shares add up.

    >>> from renyi import Gaussian
    >>> budget = PrivacyFilter(epsilon=1.0, delta=1e-5)
    >>> while budget.fits(Gaussian(20.0)):
    ...     budget.spend(Gaussian(20.0))
    >>> round(budget.remaining, 4)
    0.0248
    """

    _ARGUMENTS = ("epsilon", "delta", "order", "adjacency", "failure_delta")
    _STATE = (*EpsilonDelta._STATE, "orders", "basic")

    def __init__(
        self,
        epsilon: float,
        delta: float,
        order: float | None = None,
        adjacency: Adjacency = "add_remove",
        failure_delta: float = 0.0,
    ) -> None:
        epsilon_allowed = number_in(epsilon, "epsilon", FINITE_POSITIVE)
        whole = number_in(delta, "delta", BELOW_ONE)
        failing = probability_of(failure_delta, "failure_delta")
        if failing >= whole and failing > 0.0:
            raise ValueError(f"failure_delta must be below delta, {delta!r}, got {failing!r}")
        self._epsilon, self._delta = epsilon_allowed, whole
        left = (whole - failing) * (1.0 - 2.0**-50) if failing else whole
        self._order = None if order is None else orders_of((order,))[0]
        self._basic: BasicFilter | None = None
        self._orders: tuple[float, ...] = ()
        self._deltas: tuple[float, ...] = ()
        if whole == 0.0:
            if order is not None:
                raise ValueError(f"order must be None with a delta of 0, got {order!r}")
            super().__init__([epsilon_allowed], adjacency, 0.0)
            return
        if self._order is None:
            shared = left * (1.0 - 2.0**-48)
            routes = _routes(epsilon_allowed, shared)
            if not routes:
                raise ValueError(
                    "epsilon and delta must permit a positive divergence of an order up to 1e6, "
                    f"got {epsilon!r} and {delta!r}"
                )
            self._basic = BasicFilter(epsilon_allowed, shared * BASIC, adjacency)
        else:
            budget = _largest_divergence(epsilon_allowed, left, self._order)
            routes = ((self._order, budget, left),)
        self._orders, budgets, self._deltas = zip(*routes, strict=True)
        super().__init__(budgets, adjacency, failing)

    @property
    def orders(self) -> tuple[float, ...]:
        """The Rényi orders in use; none if largest losses are added up."""
        return self._orders

    @property
    def order(self) -> float | None:
        """The one order that was planned, or None."""
        return self._order

    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        if self._delta == 0.0:
            return Cost(np.array([_pure(mechanism, count, self._adjacency)]), 0.0)
        return Cost(*divergences(mechanism, count, self._adjacency, self._orders))

    @property
    def _limits(self) -> dict[str, float]:
        if self._delta == 0.0:
            return {"pure epsilon": self._epsilon}
        return super()._limits

    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        """Take the least over routes; a budget of less delta would have smaller shares of it."""
        amounts, failing = total.rounded()
        if self._delta == 0.0:
            return super()._taken(total, uses)
        routes = zip(amounts.tolist(), self._orders, self._deltas, strict=True)
        epsilons, shares = zip(*(_read(self._epsilon, *route) for route in routes), strict=True)
        epsilon, share = min(epsilons), min(shares)
        if self._basic is not None:
            epsilon = min(epsilon, self._basic.epsilon_with(uses))
            share = min(share, self._basic.share_with(uses))
        delta = failing + share * (self._delta - self._failure_delta)
        most = self._delta if share <= 1.0 and failing <= self._failure_delta else 1.0
        return {"epsilon": epsilon, "delta": min(above(delta), most) if delta else 0.0}

    def _holds(self, cost: Cost, mechanism: Mechanism, count: int) -> bool:
        if super()._holds(cost, mechanism, count):
            return True
        return self._basic is not None and self._basic.holds(mechanism, count)

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        if self._basic is not None:
            self._basic.record(mechanism, count)

    def _state(self) -> dict[str, Any]:
        basic = None if self._basic is None else self._basic.to_dict()
        return {**super()._state(), "orders": list(self._orders), "basic": basic}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        orders = orders_of(state["orders"]) if self._delta > 0.0 else ()
        own, basic = self._basic, state["basic"]
        found = None if basic is None else BasicFilter.from_dict(basic, self._adjacency)
        alike = len(orders) == len(self._orders) and np.allclose(
            orders, self._orders, rtol=NEAR - 1.0, atol=0.0
        )
        if not alike or (own is None) != (found is None):
            raise ValueError("orders and basic must be what follows from the settings, got others")
        if own and found:
            if found.exceeds(own, NEAR):
                raise ValueError(
                    "basic must be what follows from the settings, got a larger budget"
                )
            found.limit(own)
        self._orders, self._basic = orders, found

    def __repr__(self) -> str:
        orders = ", ".join(f"{order:.6g}" for order in self.orders)
        by = f"orders {orders}" if orders else "largest losses"
        return f"<PrivacyFilter: {by}, {round_down(self.remaining, 3)} remaining>"


@lru_cache(maxsize=256)
def _pure(mechanism: Mechanism, count: int, adjacency: Adjacency) -> float:
    """Return the epsilon of uses at delta 0, rounded up."""
    epsilon = RDPAccountant(adjacency=adjacency).compose(mechanism, count).get_epsilon(0.0)
    if math.isinf(epsilon):
        raise UnsupportedMechanismError(
            mechanism, "its losses have no bound that is known, which a budget of delta 0 needs"
        )
    return epsilon


def _with_divergence(divergence: float, order: float) -> RDPAccountant:
    """Return an accountant of a given divergence at a single order."""
    return RDPAccountant(orders=(order,)).compose(Gaussian(math.sqrt(0.5 * order / divergence)))


def _read(epsilon: float, divergence: float, order: float, delta: float) -> tuple[float, float]:
    """Return epsilon at delta of a divergence, and delta at epsilon over delta, rounded up."""
    if divergence == 0.0 or math.isinf(divergence):
        return divergence, divergence
    spent = _with_divergence(divergence * (1.0 + 2.0**-45), order)  # the noise is rounded
    return spent.get_epsilon(delta), above(spent.get_delta(epsilon) / delta)


@lru_cache(maxsize=64)
def _routes(epsilon: float, delta: float) -> tuple[tuple[float, float, float], ...]:
    """Return the orders, ascending, with their largest divergences and their shares of delta."""
    return tuple(_searched(epsilon, delta))


def _searched(epsilon: float, delta: float) -> Iterator[tuple[float, float, float]]:
    share = 1.0 - BASIC - OTHERS
    best = _gaussian_order(epsilon, share * delta)
    shares = {best: share}
    for distance in DISTANCES:
        shares.setdefault(min(1.0 + distance * (best - 1.0), 1e6), OTHERS / len(DISTANCES))
    for order, part in sorted(shares.items()):
        budget = _largest_divergence(epsilon, part * delta, order)
        if budget > 0.0:
            yield order, budget, part * delta


def _gaussian_order(epsilon: float, delta: float) -> float:
    """Return the order at which most Gaussian noise fits into a budget.

    A zero-concentrated budget rho gives epsilon = rho + 2 sqrt(rho log(1/delta)), by the order
    1 + sqrt(log(1/delta)/rho), which is near the best order of the optimal conversion.
    """
    depth = -math.log(delta)
    root = epsilon / (math.sqrt(depth + epsilon) + math.sqrt(depth))  # the root of rho
    excess = math.sqrt(depth) / root if root else math.inf
    excess = max(excess, 2.0**-40)  # an order of 1 is none
    orders = [min(1.0 + excess * math.exp2(0.125 * i), 1e6) for i in range(-12, 13)]
    return max(orders, key=lambda order: _largest_divergence(epsilon, delta, order) / order)


@lru_cache(maxsize=256)
def _largest_divergence(epsilon: float, delta: float, order: float) -> float:
    """Return the largest Rényi divergence of an order that gives (epsilon, delta), rounded down."""

    def holds(divergence: float) -> bool:
        return _with_divergence(divergence, order).get_epsilon(delta) <= epsilon

    low, high = 0.0, 2.0 * epsilon + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle > 0.0 and holds(middle) else (low, middle)
    return low * (1.0 - 2.0**-40)
