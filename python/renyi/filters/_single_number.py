"""Budgets of one number: zero-concentrated, Gaussian and Rényi differential privacy."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from renyi import special
from renyi._adjacency import Adjacency
from renyi._rounding import above, round_down
from renyi._search import bisected
from renyi._validation import FINITE_POSITIVE, decimal_of, float_above, number_in, probability_of
from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError
from renyi.filters._filter import (
    ROUNDED_UP,
    Cost,
    EpsilonDelta,
    Filter,
    Total,
    divergences,
    open_delta,
    orders_of,
    times,
)
from renyi.mechanisms import ZCDP, Composed, DiscreteGaussian, Exponential, Gaussian, Mechanism

HALVINGS = 20  # of the interval of the residue, which may lose a millionth of mu


class GDPFilter(EpsilonDelta):
    """A budget (epsilon, delta) kept by Gaussian differential privacy.

    The whole interaction is (epsilon, delta)-DP however the mechanisms, their parameters and their
    number are chosen along the way. Gaussian noise adds up without loss: as many uses fit as if all
    had been planned.

    Args:
        epsilon, delta: The budget; epsilon in (0, inf), delta in (0, 1).
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.

    Mechanisms of parameters mu_i are accepted while sum mu_i^2 <= mu^2, with mu the largest
    parameter that gives (epsilon, delta) (Smith, Thakurta 2022, arXiv 2210.17520). Gaussian noise
    has a parameter, and so has every pure mechanism: its trade-off function is two segments, and a
    convex function through their common point lies below, with mu = -2 Phi^-1(1 / (1 + e^epsilon)).
    Samples have none: the parameter of sampled Gaussian noise is that of noise on all of the data.

    Nothing has been seen before the first call, so that the first call may have any exact curve f,
    sampled steps included. Later calls are then kept within mu', the largest parameter for which f
    composed with that of Gaussian noise still gives (epsilon, delta): the residue of the budget
    (Regehr and others 2026, arXiv 2602.15815, for residues in general). Composition holds for any
    later choices, which are mu'-private given the first output (Dong, Roth, Su 2022, Theorem 3.2).

    >>> from renyi import Gaussian, PoissonSampled
    >>> budget = GDPFilter(epsilon=1.0, delta=1e-5)
    >>> budget.spend(PoissonSampled(Gaussian(1.0), 0.01), 100)  # the first, by its exact curve
    >>> budget.count_that_fits(Gaussian(20.0), 1000)
    17
    """

    _ARGUMENTS = ("epsilon", "delta", "adjacency")
    _STATE = (*Filter._STATE, "begun")

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency = "add_remove") -> None:
        self._epsilon = number_in(epsilon, "epsilon", FINITE_POSITIVE)
        self._delta = open_delta(delta)
        self._begun = False
        mu = float(special.gaussian_mu_lower(self._epsilon, self._delta))
        super().__init__((mu * mu * (1.0 - 2.0**-50),), adjacency, 0.0)

    @property
    def mu(self) -> float:
        """The parameter of Gaussian privacy that gives epsilon and delta, rounded down."""
        return math.sqrt(self._budgets[0]) * (1.0 - 2.0**-50)

    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        square = count * mu_squared(mechanism, self._adjacency) * ROUNDED_UP if count else 0.0
        return Cost(np.array([square]), 0.0)

    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        square = float(total.rounded()[0][0])
        mu = math.sqrt(square) * ROUNDED_UP
        found = [(0.0, 0.0)] if square == 0.0 else []
        if square < math.inf:
            epsilon = float(special.gaussian_epsilon_upper(mu, self._delta))
            found.append(
                (max(epsilon, 0.0), float(special.gaussian_delta_upper(mu, self._epsilon)))
            )
        if uses[1] and not self._begun:
            exact = PLDAccountant(adjacency=self._adjacency).compose(*uses)
            found.append((exact.get_epsilon(self._delta), exact.get_delta(self._epsilon)))
        return dict(zip(("epsilon", "delta"), map(min, zip(*found, strict=True)), strict=True))

    def _price(self, mechanism: Mechanism, count: int) -> Cost:
        try:
            return self._cost(mechanism, count)
        except UnsupportedMechanismError:
            if self._begun:
                raise
            return Cost(np.array([math.inf]), 0.0)

    def _holds(self, cost: Cost, mechanism: Mechanism, count: int) -> bool:
        if super()._holds(cost, mechanism, count):
            return True
        return not self._begun and _followed_by(self, mechanism, count, 0.0)

    def _admitted(self, mechanism: Mechanism, count: int) -> Cost:
        plain = super()._admitted(mechanism, count)
        if self._begun or not count or _is_gaussian(mechanism, self._adjacency):
            return plain
        residue = _residue(self, mechanism, count)
        exact = (float(self._budgets[0]) - residue * residue) * ROUNDED_UP
        return plain if plain.amounts[0] <= exact else Cost(np.array([exact]), 0.0, additive=False)

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        self._begun = self._begun or count > 0

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "begun": self._begun}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._begun = state["begun"] is not False or self._total != Total.zero(1)

    def __repr__(self) -> str:
        return (
            f"<GDPFilter: mu {round_down(self.mu, 6)}, {round_down(self.remaining, 3)} remaining>"
        )


@lru_cache(maxsize=256)
def mu_squared(mechanism: Mechanism, adjacency: Adjacency) -> float:
    """Return the square of the parameter of Gaussian privacy, rounded up.

    Raises:
        UnsupportedMechanismError: If no parameter is known.
    """
    if isinstance(mechanism, Composed):
        total = 0.0
        for part, count in mechanism.parts:
            total = (total + count * mu_squared(part, adjacency) * ROUNDED_UP) * ROUNDED_UP
        return total
    if _is_gaussian(mechanism, adjacency):
        mu = PLDAccountant(adjacency=adjacency).compose(mechanism).get_gdp_mu().mu
    else:
        mu = _mu_of_pure(RDPAccountant(adjacency=adjacency).compose(mechanism).get_epsilon(0.0))
    if mu == math.inf:
        raise UnsupportedMechanismError(
            mechanism,
            "no parameter of Gaussian privacy is known of it (samples of Gaussian noise have that "
            "of the noise alone); only the first call of a GDPFilter takes exact curves",
        )
    return mu * mu * ROUNDED_UP


def _is_gaussian(mechanism: Mechanism, adjacency: Adjacency) -> bool:
    try:
        limit = PLDAccountant(adjacency=adjacency).compose(mechanism).get_gdp_mu()
    except (UnsupportedMechanismError, ValueError):
        return False
    return limit.gamma == 0.0


def _mu_of_pure(epsilon: float) -> float:
    """Return mu with Phi(-mu/2) <= 1 / (1 + e^epsilon), rounded up: delta(0) >= tanh(epsilon/2)."""
    distance = math.tanh(0.5 * epsilon) * (1.0 + 2.0**-50)
    if epsilon == 0.0 or distance >= 1.0:
        return 0.0 if epsilon == 0.0 else math.inf

    def enough(mu: float) -> bool:
        return bool(special.gaussian_delta_lower(mu, 0.0) >= distance)

    return bisected(enough, 0.0, 17.0, 1e-13)[1]  # 1 - delta(0) is below 2^-54 at 17


def _residue(budget: GDPFilter, mechanism: Mechanism, count: int) -> float:
    """Return the largest mu that may follow uses of a mechanism, rounded down."""
    low, high = 0.0, budget.mu
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        holds = _followed_by(budget, mechanism, count, middle)
        low, high = (middle, high) if holds else (low, middle)
    return low * (1.0 - 2.0**-50)  # 1 / mu and its inverse may round


def _followed_by(budget: GDPFilter, mechanism: Mechanism, count: int, mu: float) -> bool:
    """Return whether uses of a mechanism and a mu-private mechanism together keep a budget."""
    try:
        together = PLDAccountant(adjacency=budget.adjacency).compose(mechanism, count)
    except UnsupportedMechanismError:
        return False
    if mu > 0.0:  # replaced records are twice as far apart
        together.compose(Gaussian((2.0 if budget.adjacency == "replace_one" else 1.0) / mu))
    return together.get_delta(budget.epsilon) <= budget.delta


class ZCDPFilter(Filter):
    """A budget rho of zero-concentrated privacy: Rényi divergences of at most rho alpha, all alpha.

    The budget holds however the mechanisms, their parameters and their number are chosen along the
    way: it is a filter of every order at once.

    Args:
        rho: The budget, in (0, inf).
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.

    Gaussian noise of multiplier sigma costs 1/(2 sigma^2), discrete Gaussian noise the same
    (Canonne, Kamath, Steinke 2020, Theorem 4), pure privacy epsilon^2/2 (Bun, Steinke 2016,
    Proposition 1.4), bounded range epsilon^2/8 (Cesar, Rogers 2021, arXiv 2004.07223). Samples of
    Gaussian noise cost as much as the noise alone here: only a finite order or an exact curve shows
    the gain from sampling. The cost of a use is rounded up once; sums are exact.

    Source: Feldman, Zrnic 2021, arXiv 2008.11193; Whitehouse, Ramdas, Rogers, Wu 2023, arXiv
    2203.05481.

    >>> from renyi import Gaussian
    >>> budget = ZCDPFilter(rho=0.1)
    >>> budget.count_that_fits(Gaussian(10.0), 1000)
    20
    """

    _ARGUMENTS = ("rho", "adjacency")

    def __init__(self, rho: float, adjacency: Adjacency = "add_remove") -> None:
        self._rho = number_in(rho, "rho", FINITE_POSITIVE)
        super().__init__((self._rho,), adjacency, 0.0)

    @property
    def rho(self) -> float:
        """The budget."""
        return self._rho

    @property
    def _limits(self) -> dict[str, float]:
        return {"rho": self._rho}

    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        return Cost(np.array([times(count, _rho_of(mechanism, self._adjacency))]), 0.0)

    def __repr__(self) -> str:
        return f"<ZCDPFilter: rho {self._rho!r}, {round_down(self.remaining, 3)} remaining>"


@lru_cache(maxsize=256)
def _rho_of(mechanism: Mechanism, adjacency: Adjacency) -> float:
    if isinstance(mechanism, Composed):
        total = 0.0
        for part, count in mechanism.parts:
            total = (total + count * _rho_of(part, adjacency) * ROUNDED_UP) * ROUNDED_UP
        return total
    pure = _pure(mechanism, adjacency)
    known = [above(0.5 * pure * pure) if pure else 0.0] if pure < math.inf else []
    if isinstance(mechanism, ZCDP) and mechanism.xi == 0.0:
        known.append(mechanism.rho)
    if isinstance(mechanism, Exponential) and mechanism.epsilon < math.inf:
        # The loss is in an interval of this length: by Hoeffding's lemma log E e^(t L) is at most
        # t E L + t^2 epsilon^2/8. The log is 0 at t = -1: E L <= epsilon^2/8. Let t = alpha - 1.
        known.append(0.125 * mechanism.epsilon * mechanism.epsilon * ROUNDED_UP)
    if isinstance(mechanism, DiscreteGaussian):
        distance = mechanism.sensitivity * (2.0 if adjacency == "replace_one" else 1.0)
        known.append(above(0.5 * (distance / mechanism.sigma) ** 2))
    if isinstance(mechanism, Gaussian) and 1e-100 < mechanism.noise_multiplier < 1e100:
        square = (4 if adjacency == "replace_one" else 1) / Fraction(
            mechanism.noise_multiplier
        ) ** 2
        known.append(float_above(square / 2))  # rounded once
    try:
        known.append(0.5 * mu_squared(mechanism, adjacency))
    except UnsupportedMechanismError as error:
        if not known:
            raise UnsupportedMechanismError(
                mechanism,
                "no rho with divergences of at most rho alpha is known of it, or none below that "
                "of the noise without sampling",
            ) from error
    return min(known)


def _pure(mechanism: Mechanism, adjacency: Adjacency) -> float:
    return RDPAccountant(adjacency=adjacency).compose(mechanism).get_epsilon(0.0)


class RenyiFilter(Filter):
    """A budget of Rényi divergence that refuses a mechanism which would exceed it.

    The whole interaction has a Rényi divergence of the order of at most the budget, except with
    probability ``failure_delta``, however the mechanisms, their parameters and their number are
    chosen along the way.

    Args:
        order: The Rényi order, in (1, 1e6].
        budget: The largest divergence, in (0, inf).
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        failure_delta: In [0, 1): the total for mechanisms that may fail, `ApproxDP`.

    Methods may be called from many threads, which together never overspend.

    Source: Feldman, Zrnic 2021, arXiv 2008.11193, Theorem 4.3; Lécuyer 2021, arXiv 2103.01379.

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
        self._budget = number_in(budget, "budget", FINITE_POSITIVE)
        self._orders = orders_of((order,))
        failing = probability_of(failure_delta, "failure_delta")
        super().__init__((self._budget,), adjacency, failing)

    @property
    def order(self) -> float:
        """The Rényi order of the budget."""
        return self._orders[0]

    @property
    def budget(self) -> float:
        """The largest Rényi divergence of the order."""
        return self._budget

    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        return Cost(*divergences(mechanism, count, self._adjacency, self._orders))

    @property
    def _limits(self) -> dict[str, float]:
        return {f"divergence of order {decimal_of(self.order)}": self._budget}

    def __repr__(self) -> str:
        return f"<RenyiFilter: order {self.order!r}, {round_down(self.remaining, 3)} remaining>"
