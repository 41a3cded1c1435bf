"""A budget of zero-concentrated differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from renyi._rounding import above, round_down
from renyi._validation import float_above, real_of
from renyi.accountants import Adjacency, RDPAccountant, UnsupportedMechanismError
from renyi.filters._filter import Filter
from renyi.filters._gaussian import mu_squared
from renyi.filters._spent import ROUNDED_UP, Cost, Total, times
from renyi.mechanisms import ZCDP, Composed, DiscreteGaussian, Exponential, Gaussian, Mechanism

__all__ = ["ZCDPFilter"]


class ZCDPFilter(Filter):
    """A budget rho of zero-concentrated privacy: Rényi divergences of at most rho alpha, all alpha.

    Holds however the mechanisms, their parameters and their number are chosen along the way: it is
    a filter of every order at once.

    Parameters
    ----------
    rho : float
        In (0, inf).
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.

    Raises
    ------
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    Gaussian noise of multiplier sigma costs 1/(2 sigma^2), discrete Gaussian noise the same
    (Canonne, Kamath, Steinke 2020, Theorem 4), pure privacy epsilon^2/2 (Bun, Steinke 2016,
    Proposition 1.4), bounded range epsilon^2/8 (Cesar, Rogers 2021, arXiv 2004.07223). Samples of
    Gaussian noise are no better than the noise alone here: a finite
    order or an exact curve sees what sampling gains. A use is rounded up
    once, sums are exact.

    References
    ----------
    Feldman, Zrnic 2021, arXiv 2008.11193; Whitehouse, Ramdas, Rogers, Wu 2023, arXiv 2203.05481.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> budget = ZCDPFilter(rho=0.1)
    >>> budget.count_that_fits(Gaussian(10.0), 1000)
    20
    """

    _ARGUMENTS = ("rho", "adjacency")

    def __init__(self, rho: float, adjacency: Adjacency = "add_remove") -> None:
        self._rho = real_of(rho, "rho", "a number in (0, inf)")
        if not 0.0 < self._rho < math.inf:
            raise ValueError(f"rho must be a number in (0, inf), got {rho!r}")
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

    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        return {"rho": float(total.rounded()[0][0])}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._rho = real_of(state["rho"], "rho", "a number in (0, inf)")

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
        # t E L + t^2 epsilon^2/8. It is 0 at t = -1, so that E L <= epsilon^2/8; t = alpha - 1.
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
