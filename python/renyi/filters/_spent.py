"""What filters and odometers count by: Rényi divergences of fixed orders."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import probability_of, uses_of
from renyi.accountants import Adjacency, RDPAccountant, UnsupportedMechanismError
from renyi.mechanisms import Mechanism

__all__ = ["ROUNDED_UP", "checked", "divergences", "inside", "orders_of"]

ROUNDED_UP = 1.0 + 2.0**-50


def checked(mechanism: Any, count: Any) -> tuple[Mechanism, int]:
    """Return a mechanism and how often it is used."""
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    return mechanism, uses_of(count)


@lru_cache(maxsize=256)
def divergences(
    mechanism: Mechanism, count: int, adjacency: Adjacency, orders: tuple[float, ...]
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the divergences of uses of a mechanism, and the probability that they fail."""
    uses = RDPAccountant(adjacency=adjacency).compose(mechanism, count)
    amounts, failing = uses.get_approximate_rdp(orders)
    if np.isinf(amounts).all():
        raise UnsupportedMechanismError(
            mechanism, "it has no finite Rényi divergence of any of the orders in use"
        )
    amounts.flags.writeable = False
    return amounts, failing


def orders_of(orders: Iterable[float]) -> tuple[float, ...]:
    """Return Rényi orders in (1, 1e6], ascending."""
    accepted = RDPAccountant(orders=orders).orders  # raises
    if accepted is None:
        raise TypeError("orders must be a sequence of numbers in (1, 1e6], got None")
    return tuple(sorted(accepted))


def inside(delta: Any) -> float:
    value = probability_of(delta, "delta")
    if not 0.0 < value < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")
    return value
