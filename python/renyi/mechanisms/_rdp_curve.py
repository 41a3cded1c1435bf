"""Mechanisms given by a table of their Rényi divergences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from renyi._validation import NON_NEGATIVE, Range, number_in, numbers_in, shortest
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_fields

__all__ = ["DEFAULT_ORDERS", "RDPCurve"]

ORDER = Range(1.0, math.inf, "()")


def _default_orders() -> tuple[float, ...]:
    """Return 1 + 2^(k/16) from about 1.001 to 131,073, to whole numbers above 64, and 2 .. 64.

    Between neighbours a straight line of (alpha - 1) D_alpha, D_alpha = rho alpha, lies above the
    curve by less than 0.1 %; bounds for samples want whole orders.
    """
    steps = [1.0 + 2.0 ** (k / 16) for k in range(-160, 273)]
    steps = [order if order <= 64.0 else float(round(order)) for order in steps]
    return tuple(sorted({*steps, *map(float, range(2, 65))}))


DEFAULT_ORDERS = _default_orders()


@dataclass(frozen=True, slots=True, init=False)
class RDPCurve(Mechanism):
    """Any mechanism whose Rényi divergence of each order listed is at most the number beside it.

    Parameters
    ----------
    orders : iterable of float or None
        Distinct orders in (1, inf), sorted when stored. None: a grid of 490 orders between 1.001
        and 131,073, all whole numbers up to 64 among them.
    rdp : iterable of float or callable
        As many numbers in [0, inf], for the accountant's adjacency; or a function of one order,
        called once for each here. Where it raises OverflowError the number is infinity.

    Raises
    ------
    TypeError, ValueError
        If an order or a divergence is not permitted, or their numbers differ.

    Notes
    -----
    A table is an upper bound: it may jump and need not be convex. (alpha - 1) D_alpha is convex in
    alpha and 0 at 1, so between orders the table bounds it by straight lines; beyond the largest
    order it says nothing.

    Examples
    --------
    >>> RDPCurve([8, 2, 4], [4.0, 1.0, 2.0])
    RDPCurve(orders=(2.0, 4.0, 8.0), rdp=(1.0, 2.0, 4.0))
    >>> print(RDPCurve(None, lambda order: 0.5 * order).describe())
    Rényi table, 490 orders from 1.0009765625 to 131073
    """

    orders: tuple[float, ...]
    rdp: tuple[float, ...]

    def __init__(
        self, orders: Iterable[float] | None, rdp: Iterable[float] | Callable[[float], float]
    ) -> None:
        alphas = DEFAULT_ORDERS if orders is None else numbers_in(orders, "orders", ORDER)
        if not alphas:
            raise ValueError("orders must be at least one number, got none")
        if callable(rdp):
            values = tuple(_evaluated(rdp, alpha) for alpha in alphas)
        else:
            values = numbers_in(rdp, "rdp", NON_NEGATIVE)
        if len(values) != len(alphas):
            raise ValueError(f"rdp must be as many as orders, {len(alphas)}, got {len(values)}")
        table = sorted(zip(alphas, values, strict=True))
        for (alpha, _), (following, _) in pairwise(table):
            if alpha == following:
                raise ValueError(f"orders must be distinct, got {alpha!r} twice")
        set_fields(
            self, orders=tuple(alpha for alpha, _ in table), rdp=tuple(value for _, value in table)
        )

    def _headline(self) -> str:
        count, low, high = len(self.orders), self.orders[0], self.orders[-1]
        span = (
            f"order {shortest(low)}"
            if count == 1
            else f"orders from {shortest(low)} to {shortest(high)}"
        )
        return f"Rényi table, {count} {span}"


def _evaluated(rdp: Callable[[float], float], alpha: float) -> float:
    try:
        value = rdp(alpha)
    except OverflowError:
        return math.inf
    return number_in(value, f"rdp({shortest(alpha)})", NON_NEGATIVE)
