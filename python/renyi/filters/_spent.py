"""What filters and odometers count by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._locks import lock_freed_by_fork
from renyi._validation import probability_of
from renyi.accountants import Adjacency, RDPAccountant, UnsupportedMechanismError
from renyi.mechanisms import Mechanism

__all__ = ["ROUNDED_UP", "Spent", "inside"]

ROUNDED_UP = 1.0 + 2.0**-50


class Spent:
    """Rényi divergences of fixed orders, added up over whatever comes."""

    def __init__(self, orders: Iterable[float], adjacency: Adjacency) -> None:
        accountant = RDPAccountant(orders=orders, adjacency=adjacency)
        assert accountant.orders is not None
        self._adjacency = accountant.adjacency
        self._orders = np.array(sorted(accountant.orders))
        self._total = np.zeros(self._orders.size)
        self._lock = lock_freed_by_fork()

    def _cost(self, mechanism: Mechanism, count: int) -> tuple[npt.NDArray[np.float64], float]:
        uses = RDPAccountant(adjacency=self._adjacency).compose(mechanism, count)
        cost, failing = uses.get_approximate_rdp(self._orders)
        if np.isinf(cost).all():
            raise UnsupportedMechanismError(
                mechanism, "it has no finite Rényi divergence of any of the orders in use"
            )
        return cost, failing


def inside(delta: Any) -> float:
    value = probability_of(delta, "delta")
    if not 0.0 < value < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")
    return value
