"""A running epsilon that holds at all times at once."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency
from renyi._rounding import round_up
from renyi._search import bisected
from renyi._validation import real_of
from renyi.accountants import UnsupportedMechanismError
from renyi.filters._filter import (
    ROUNDED_UP,
    Saved,
    checked,
    divergences,
    numbers_in,
    numbers_to_json,
    open_delta,
    orders_of,
)
from renyi.mechanisms import Mechanism

ORDERS = tuple(min(1.0 + 2.0 ** (0.25 * i), 1e6) for i in range(-8, 81))
SPREAD = 1.5  # of log(order - 1) around log(1/delta): Gaussian noise, epsilon about 2


class PrivacyOdometer(Saved):
    """A running epsilon that holds at all times at once, for any choices and any stopping time.

    With probability at least 1 - delta, `get_epsilon` is never below the privacy loss of the
    releases so far. An odometer sets no limit; a filter for a known budget spends less.

    Args:
        delta: In (0, 1): the probability that the loss ever exceeds the reported epsilon.
        orders: Rényi orders in (1, 1e6], fixed before anything is released, of equal weights. One
            well-chosen order is the tightest. The default is a fine grid from 1.25 to 1e6 with most
            weight around 1 + log(1/delta); there it costs about 2/(order - 1) more than the best
            order.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.

    The mean of M_t over the orders, by any weights, is a supermartingale, too (the method of
    mixtures). By Ville's inequality the mean ever exceeds 1/delta with probability at most delta:
    L_t stays below the solution of sum w exp((alpha-1) (L - rho_t)) = 1/delta (Whitehouse, Ramdas,
    Rogers, Wu 2023, arXiv 2203.05481, for one order).

    Source: Rogers, Roth, Ullman, Vadhan 2016, arXiv 1605.08294, Definition 3.4 (odometers).

    >>> from renyi import Gaussian
    >>> odometer = PrivacyOdometer(1e-5)
    >>> for noise in 20.0, 10.0, 40.0:
    ...     odometer.spend(Gaussian(noise))
    ...     print(round(odometer.get_epsilon(), 3))
    0.273
    0.602
    0.617
    """

    _ARGUMENTS = ("delta", "adjacency")
    _STATE = ("orders", "log_weights", "total")

    def __init__(
        self,
        delta: float,
        orders: Iterable[float] | None = None,
        adjacency: Adjacency = "add_remove",
    ) -> None:
        super().__init__(adjacency)
        self._delta = open_delta(delta)
        self._orders = orders_of(ORDERS if orders is None else orders)
        self._total = np.zeros(len(self._orders))
        distances = np.array(self._orders) - 1.0
        off = np.log(distances / -math.log(self._delta)) / SPREAD
        weights = 1.0 / (1.0 + off * off) if orders is None else np.ones(distances.size)
        self._log_weights = np.log(weights / math.fsum(weights.tolist())) - 1e-13  # sum below 1

    @property
    def delta(self) -> float:
        """The probability that the loss ever exceeds the reported epsilon."""
        return self._delta

    @property
    def orders(self) -> tuple[float, ...]:
        """The Rényi orders in use."""
        return self._orders

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run.

        Raises:
            UnsupportedMechanismError, TypeError, ValueError: As `RDPAccountant.compose`; nothing is
                recorded then.
        """
        uses = checked(mechanism, count)
        cost, failing = divergences(*uses, self._adjacency, self._orders)
        if failing > 0.0:
            raise UnsupportedMechanismError(
                mechanism, "it may fail, and an odometer has no delta set aside for that"
            )
        with self._lock:
            self._total = (self._total + cost) * ROUNDED_UP

    def get_epsilon(self) -> float:
        """Return a bound of the privacy loss so far, rounded up; 0 at the start."""
        total = self._total
        if not total.any():
            return 0.0
        depth = -math.log(self._delta) * (1.0 + 1e-15)
        distances = np.array(self._orders) - 1.0
        # Each order alone gives an upper bound, which the other orders only lower. The mean reaches
        # 1/delta only if one of the orders does.
        high = float(np.min(total + (depth - self._log_weights) / distances)) * ROUNDED_UP
        low = float(np.min(total + depth / distances))

        def reached(epsilon: float) -> bool:
            return _log_mean(self._log_weights, distances * (epsilon - total)) >= depth

        return bisected(reached, low, high, 1e-12)[1] * ROUNDED_UP

    def _state(self) -> dict[str, Any]:
        return {
            "orders": list(self._orders),
            "log_weights": self._log_weights.tolist(),
            "total": numbers_to_json(self._total),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._orders = orders_of(state["orders"])
        size = len(self._orders)
        self._total = numbers_in(state["total"], "total", size)
        given, allowed = state["log_weights"], f"a list of {size} numbers in (-inf, 0]"
        if not isinstance(given, list) or len(given) != size:
            raise ValueError(f"log_weights must be {allowed}, got {given!r}")
        self._log_weights = weights = np.array([real_of(w, "log_weights", allowed) for w in given])
        if weights.max() > 0.0 or math.fsum(np.exp(weights).tolist()) > 1.0:
            raise ValueError("log_weights must be logarithms of weights that sum to at most 1")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        spent = round_up(self.get_epsilon(), 6)
        return f"<PrivacyOdometer: delta {self._delta!r}, epsilon {spent} so far>"


def _log_mean(log_weights: npt.NDArray[np.float64], logs: npt.NDArray[np.float64]) -> float:
    """Return the logarithm of a weighted mean, rounded down; logs may be -inf."""
    terms = log_weights + logs
    largest = float(terms.max())
    found = largest + math.log(math.fsum(np.exp(terms - largest).tolist()))
    return found - 1e-14 * (abs(largest) + 10.0)
