"""What filters and odometers count by: Rényi divergences of fixed orders."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from renyi._validation import probability_of, uses_of
from renyi.accountants import Adjacency, RDPAccountant, UnsupportedMechanismError
from renyi.mechanisms import Mechanism

__all__ = ["ROUNDED_UP", "Cost", "Total", "checked", "divergences", "inside", "orders_of", "times"]

ROUNDED_UP = 1.0 + 2.0**-50

UNIT = -1074  # every finite double is a whole number of 2^-1074
INFINITE = 1 << 4096  # such units, more than all finite sums: what was added can be given back
WRITTEN = re.compile(r"0x[0-9a-f]{1,1100}p-?[0-9]{1,4}")


class Cost(NamedTuple):
    """What uses of a mechanism take off a budget, at each of its orders.

    ``additive``: whoever stops earlier is charged for less. Not so where the cost comes from the
    exact curve of all uses: how many there were may depend on what they released.
    """

    amounts: npt.NDArray[np.float64]
    failing: float
    additive: bool = True


class Total(NamedTuple):
    """Sums of costs, exact: one for each order, and that of the probabilities of failure."""

    amounts: tuple[int, ...]
    failing: int

    @classmethod
    def zero(cls, orders: int) -> Self:
        """Return the sum of no costs."""
        return cls((0,) * orders, 0)

    def plus(self, cost: Cost, sign: int = 1) -> Self:
        """Return the sum with a cost, or without one that it has."""
        amounts = zip(self.amounts, cost.amounts.tolist(), strict=True)
        added = tuple(total + sign * _units(amount) for total, amount in amounts)
        return type(self)(added, self.failing + sign * _units(cost.failing))

    def rounded(self) -> tuple[npt.NDArray[np.float64], float]:
        """Return the sums as the smallest floats that are not below them."""
        return np.array([_float_above(units) for units in self.amounts]), _float_above(self.failing)

    def has(self, costs: Iterable[Cost]) -> bool:
        """Return whether it may be the sum of these costs and others."""
        rest = self
        for cost in costs:
            rest = rest.plus(cost, -1)
        return min(*rest.amounts, rest.failing) >= 0

    def written(self) -> list[str]:
        """Return the sums as JSON can hold them, that of failures last."""
        return [_written(units) for units in (*self.amounts, self.failing)]

    @classmethod
    def read(cls, values: Any, orders: int) -> Self:
        """Return what was `written`.

        Raises
        ------
        TypeError, ValueError
            If it was not.
        """
        if not isinstance(values, list):
            raise TypeError(f"spent must be a list of sums, got {values!r}")
        if len(values) != orders + 1:
            raise ValueError(f"spent must hold {orders + 1} sums, got {len(values)}")
        *amounts, failing = map(_read, values)
        return cls(tuple(amounts), failing)


def times(count: int, amount: float) -> float:
    """Return a multiple, rounded up."""
    return _float_above(count * _units(amount)) if count else 0.0


def _units(number: float) -> int:
    if math.isinf(number):
        return INFINITE
    numerator, denominator = number.as_integer_ratio()
    return numerator << (1 - UNIT - denominator.bit_length())


def _float_above(units: int) -> float:
    shift = max(units.bit_length() - 53, 0)
    try:
        return math.ldexp(-(-units >> shift), shift + UNIT)
    except OverflowError:
        return math.inf


def _written(units: int) -> str:
    zeros = max((units & -units).bit_length() - 1, 0)
    return f"{units >> zeros:#x}p{zeros + UNIT}"


def _read(value: Any) -> int:
    if not isinstance(value, str) or not WRITTEN.fullmatch(value):
        raise ValueError(f"spent must hold sums as '0x...p...', got {value!r}")
    digits, _, exponent = value.partition("p")
    shift = int(exponent) - UNIT
    if not 0 <= shift <= 4096:
        raise ValueError(f"spent must hold exponents from {UNIT} to {4096 + UNIT}, got {value!r}")
    return int(digits, 16) << shift


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
