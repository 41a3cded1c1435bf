"""Mechanisms given by a guarantee, numbers or pairs, for the adjacency of the accountant.

Each stands for every mechanism with the guarantee, and has the privacy that all of them have.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._validation import (
    NON_NEGATIVE,
    PROBABILITY,
    Range,
    number_in,
    numbers_in,
    set_fields,
    set_numbers,
    shortest,
)
from renyi.mechanisms.algebra import Mechanism, OfLargestLoss, UnsupportedMechanismError
from renyi.mechanisms.steps import LARGEST_LOSS, REVEALED, linear_curve
from renyi.pairs import DominatingPair, ReversedPair
from renyi.pairs.dominating import require_pair

NO_LARGEST_PAIR = (
    "of the pairs with its Rényi divergences none is known to dominate the others; "
    "RDPAccountant takes it"
)


@dataclass(frozen=True, slots=True)
class PureDP(OfLargestLoss):
    """Any mechanism whose privacy loss is at most ``epsilon``.

    Args:
        epsilon: In [0, inf].

    >>> PureDP(1.0) * 10
    Composed((PureDP(epsilon=1.0), 10))
    """

    summary = "Pure privacy, epsilon {epsilon}"
    assumption = "stated pure guarantee: proved elsewhere for these neighbours"
    states_sampling = True

    epsilon: float

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return _approximate(self.epsilon, 0.0)


@dataclass(frozen=True, slots=True)
class ApproxDP(Mechanism):
    """Any (epsilon, delta)-private mechanism.

    Args:
        epsilon, delta: In [0, inf] and [0, 1].

    >>> ApproxDP(1.0, 1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    summary = "Approximate privacy, epsilon {epsilon}, delta {delta}"
    assumption = "stated approximate guarantee: proved elsewhere for these neighbours"
    states_sampling = True

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE, delta=PROBABILITY)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return _approximate(self.epsilon, self.delta)

    def without_failure(self) -> tuple[Mechanism, float]:
        """Return pure privacy of ``epsilon``, and ``delta`` as the probability of a failure.

        This is no more private than the mechanism (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776).
        """
        return PureDP(self.epsilon), self.delta


@dataclass(frozen=True, slots=True)
class ZCDP(Mechanism):
    """Any (xi, rho)-zero-concentrated private mechanism: D_alpha <= xi + rho alpha, all alpha > 1.

    Args:
        rho, xi: In [0, inf].

    Source: Bun, Steinke 2016, arXiv 1605.02065, Definition 1.1.

    >>> ZCDP(0.5)
    ZCDP(rho=0.5, xi=0.0)
    """

    assumption = "stated zero-concentrated guarantee: proved elsewhere for these neighbours"
    states_sampling = True

    rho: float
    xi: float = 0.0

    def __post_init__(self) -> None:
        set_numbers(self, rho=NON_NEGATIVE, xi=NON_NEGATIVE)

    def _headline(self) -> str:
        extra = f", xi {shortest(self.xi)}" if self.xi else ""
        return f"Zero-concentrated privacy, rho {shortest(self.rho)}{extra}"

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        raise UnsupportedMechanismError(self, NO_LARGEST_PAIR)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return linear_curve(self.rho, self.xi)


def _approximate(epsilon: float, delta: float) -> Pair:
    pair = Pair.approximate_privacy(min(epsilon, LARGEST_LOSS), delta)
    return pair if epsilon <= LARGEST_LOSS else Pair.bracketed(REVEALED, pair)


ORDER = Range(1.0, math.inf, "()")


def _default_orders() -> tuple[float, ...]:
    """Return 1 + 2^(k/16) from about 1.001 to 131,073, whole numbers above 64, and 2 .. 64.

    Between neighbouring orders the chord of (alpha - 1) D_alpha, D_alpha = rho alpha, lies above
    the curve by less than 0.1 %. Bounds for samples need whole orders.
    """
    steps = [1.0 + 2.0 ** (k / 16) for k in range(-160, 273)]
    steps = [order if order <= 64.0 else float(round(order)) for order in steps]
    return tuple(sorted({*steps, *map(float, range(2, 65))}))


DEFAULT_ORDERS = _default_orders()


@dataclass(frozen=True, slots=True, init=False)
class RDPCurve(Mechanism):
    """Any mechanism whose Rényi divergence of each order listed is at most the number beside it.

    Args:
        orders: Distinct orders in (1, inf), sorted when stored. None: a grid of 490 orders between
            1.001 and 131,073, all whole numbers up to 64 among them.
        rdp: As many numbers in [0, inf], for the accountant's adjacency; or a function of one
            order, called once for each order. If it raises OverflowError the number is infinity.

    A table is an upper bound: it may jump and need not be convex. (alpha - 1) D_alpha is convex in
    alpha and 0 at 1, so straight lines bound it between orders. Beyond the largest order there is
    no bound.

    >>> RDPCurve([8, 2, 4], [4.0, 1.0, 2.0])
    RDPCurve(orders=(2.0, 4.0, 8.0), rdp=(1.0, 2.0, 4.0))
    """

    assumption = "stated Renyi curve: proved elsewhere for these neighbours"
    states_sampling = True

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

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        raise UnsupportedMechanismError(self, NO_LARGEST_PAIR)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        # Divergences rise with the order, so that a bound holds for all smaller orders too.
        rdp = np.minimum.accumulate(np.asarray(self.rdp)[::-1])[::-1]
        orders = np.asarray(self.orders)
        with np.errstate(over="ignore"):
            moments = (orders - 1.0) * rdp * (1.0 + 2.0**-50)
        finite = np.isfinite(moments)
        if not finite.any():
            return RenyiCurve.unbounded()
        return RenyiCurve.polygon(orders[finite].tolist(), moments[finite].tolist())


def _evaluated(rdp: Callable[[float], float], alpha: float) -> float:
    try:
        value = rdp(alpha)
    except OverflowError:
        return math.inf
    return number_in(value, f"rdp({shortest(alpha)})", NON_NEGATIVE)


@dataclass(frozen=True, slots=True)
class PrivacyLoss(Mechanism):
    """A mechanism given by the distributions of its privacy loss.

    Args:
        remove: A pair (P, Q) that dominates the outputs with and without the record.
        add: A pair that dominates the outputs without and with it; by default (Q, P).

    Source: Zhu, Dong, Wang 2022, arXiv 2106.08567, Definition 7 (dominating pairs).

    >>> from renyi.pairs import StudentTPair
    >>> print(PrivacyLoss(StudentTPair(3.0, 2.0)).describe())
    Privacy loss StudentTPair(degrees=3.0, scale=2.0)
    """

    assumption = "stated privacy loss: its pairs dominate the outputs of these neighbours"
    states_sampling = True

    remove: DominatingPair
    add: DominatingPair | None = None

    def __post_init__(self) -> None:
        require_pair(self.remove, "remove")
        if self.add is None:
            set_fields(self, add=ReversedPair(self.remove))
        require_pair(self.add, "add")

    def loss(self, remove: bool) -> DominatingPair:
        """Return the pair of one direction."""
        if remove or self.add is None:
            return self.remove
        return self.add

    def _headline(self) -> str:
        custom = f", {self.add!r}" if self.has_custom_add_pair else ""
        return f"Privacy loss {self.remove!r}{custom}"

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return self.loss(direction == "remove").compiled

    @property
    def holds_in_both_orders(self) -> bool:
        """Whether both directions have one pair, which may be its own reverse."""
        return self.same_in_both_directions("add_remove")

    @property
    def has_custom_add_pair(self) -> bool:
        """Whether ``add`` is not the reverse of ``remove``."""
        return self.add != ReversedPair(self.remove)
