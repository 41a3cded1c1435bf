"""Errors of tests that Rényi divergences allow, at all orders at once and in both directions.

A test says "present" with probability p where the record is there, q where it is not. What it says
has divergences of at most rho(alpha) from one to the other, both ways (data processing):

    log(p^alpha q^(1-alpha) + (1-p)^alpha (1-q)^(1-alpha)) <= (alpha - 1) rho(alpha),

and the same with p and q exchanged (Mironov 2017, arXiv 1702.07476, Proposition 9, on two points).
Each is a convex set of (q, p); for a given q the largest p is one root, and the least over orders
and directions bounds every test. A privacy curve at epsilon >= 0 keeps one direction of each only.

With t = alpha - 1 and F(l) = (e^(alpha l) - 1 - alpha (e^l - 1))/t = e^l phi(t l)/t + psi(l),
phi(u) = e^u - 1 - u, psi(l) = 1 + e^l (l - 1), the constraint is

    q F(log p/q) + (1-q) F(log (1-p)/(1-q)) <= (e^(t rho) - 1)/t,

sums of terms >= 0; at alpha = 1 phi's term vanishes. Unknown is y = log (1-q)/(1-p), in which the
left side rises. Any order gives a bound, and a root is taken where the left side is certainly
beyond: the search may only lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from renyi.accountants._curves import Array

__all__ = ["TwoPoints"]

SMALLEST, LARGEST = -16.0, math.log(1e6 - 1.0)  # of log t
STEP = 0.25
LEVELS = 3  # of halving where an interval of orders may hold a better one
MOST = 32  # intervals at a level
GAIN = 1e-6  # of y, relatively, that is looked for
SECTIONS = 7
FINE, ROUGH = 42, 18  # halvings of the root
MARGIN = 2.0**-45  # of each size that takes part: hundreds of roundings
LOW, HIGH = -45.0, 8.0  # of log y
SAMPLE = 17  # errors that are searched for one by one
_SERIES = np.array([(k - 1.0) / math.factorial(k) for k in range(2, 18)])


class TwoPoints:
    """The least type II error at every type I error.

    Parameters
    ----------
    rdp : callable
        Divergences of orders in [1, 1e6], rounded up.
    orders : array, optional
        Those to use; by default the best real one is found.
    """

    def __init__(self, rdp: Callable[[Array], Array], orders: Array | None = None) -> None:
        self._rdp = rdp
        self._continuous = orders is None
        if orders is None:
            t = np.exp(np.append(np.arange(SMALLEST, LARGEST, STEP), LARGEST))
            orders = np.concatenate([[1.0], np.minimum(1.0 + t, 1e6)])
        rho = rdp(orders)
        known = np.isfinite(rho)
        self._orders, self._rho = orders[known], rho[known]

    def betas(self, alpha: Array) -> Array:
        """Return the type II errors, rounded down."""
        result = np.where(alpha == 0.0, 1.0, 0.0)
        if not self._orders.size:
            return np.zeros(alpha.shape)
        places = np.flatnonzero((alpha > 0.0) & (alpha < 1.0))
        places = places[np.argsort(alpha[places], kind="stable")]
        chosen = places
        if places.size > SAMPLE:
            chosen = places[np.unique(np.linspace(0, places.size - 1, SAMPLE).astype(int))]
        best: list[float] = []
        for i in chosen.tolist():
            result[i], order = self._beta(float(alpha[i]))
            best.append(order)
        if chosen.size < places.size:
            orders = np.unique(best)
            if self._continuous:
                orders = np.append(orders, 1.0 + np.sqrt((orders[1:] - 1.0) * (orders[:-1] - 1.0)))
            rho = self._rdp(orders)
            others = np.setdiff1d(places, chosen)
            y = self._roots(alpha[others][:, np.newaxis], orders, rho, FINE).min(axis=(0, 2))
            for i, least in zip(others.tolist(), y.tolist(), strict=True):
                result[i] = self._of(float(alpha[i]), least)
        return result

    def _beta(self, alpha: float) -> tuple[float, float]:
        """Return beta and the order that gives it."""
        rough = self._roots(alpha, self._orders, self._rho, ROUGH).min(axis=0)
        orders, rho, y = self._orders, self._rho, rough
        if self._continuous and orders.size > 1:
            orders, rho, y = self._refined(alpha, orders, rho, y)
        near = np.argsort(y, kind="stable")[:3]
        fine = self._roots(alpha, orders[near], rho[near], FINE).min(axis=0)
        order, least = float(orders[near][fine.argmin()]), float(fine.min())
        if self._continuous and orders.size > 1:
            order, least = self._sections(alpha, orders, order, least)
        return self._of(alpha, least), order

    def _of(self, alpha: float, y: float) -> float:
        """Return beta, rounded down."""
        return (1.0 - alpha) * math.exp(-y) * (1.0 - MARGIN)

    def _refined(
        self, alpha: float, orders: Array, rho: Array, y: Array
    ) -> tuple[Array, Array, Array]:
        """Halve the intervals of orders in which a smaller root may be.

        Divergences grow with the order, on both sides: no root between two orders is below that of
        the higher order at the divergence of the lower one.
        """
        left = np.arange(orders.size - 1)
        low, at_low, high = orders[left], rho[left], orders[left + 1]
        for _ in range(LEVELS):
            least = self._roots(alpha, high, at_low, ROUGH).min(axis=0)
            open_ = np.flatnonzero(least < y.min() * (1.0 - GAIN))
            open_ = open_[np.argsort(least[open_], kind="stable")[:MOST]]
            if not open_.size:
                break
            low, at_low, high = low[open_], at_low[open_], high[open_]
            middle = 1.0 + np.sqrt(np.maximum(low - 1.0, 1e-8) * (high - 1.0))
            at_middle = self._rdp(middle)
            orders, rho = np.append(orders, middle), np.append(rho, at_middle)
            y = np.append(y, self._roots(alpha, middle, at_middle, ROUGH).min(axis=0))
            low, high = np.append(low, middle), np.append(middle, high)
            at_low = np.append(at_low, at_middle)
        return orders, rho, y

    def _sections(
        self, alpha: float, orders: Array, order: float, least: float
    ) -> tuple[float, float]:
        """Search by sections between the neighbours of the best order."""
        known = np.unique(orders)
        at = int(np.searchsorted(known, order))
        ends = [max(at - 1, 0), min(at + 1, known.size - 1)]
        low, high = (math.log(max(known[i] - 1.0, 1e-8)) for i in ends)
        for _ in range(SECTIONS):
            x = np.linspace(low, high, 6)[1:-1]
            tried = np.minimum(1.0 + np.exp(x), known[-1])
            y = self._roots(alpha, tried, self._rdp(tried), FINE).min(axis=0)
            best = int(y.argmin())
            if y[best] < least:
                order, least = float(tried[best]), float(y[best])
            width = x[1] - x[0]
            low, high = x[best] - width, x[best] + width
            if width < 1e-6:
                break
        return order, least

    def advantage(self) -> float:
        """Return the largest p - q, rounded up.

        The set that all orders leave is convex and contains (1-p, 1-q) with (q, p): the largest
        is where p + q = 1, for the point in the middle of these two has the same p - q.
        """
        if not self._orders.size:
            return 1.0
        least, orders = self._least_errors(self._orders, self._rho), self._orders
        at = int(least.argmax())
        most = float(least[at])
        if self._continuous and orders.size > 1:
            ends = [max(at - 1, 0), min(at + 1, orders.size - 1)]
            low, high = (math.log(max(orders[i] - 1.0, 1e-8)) for i in ends)
            for _ in range(SECTIONS):
                x = np.linspace(low, high, 6)[1:-1]
                tried = np.minimum(1.0 + np.exp(x), orders[-1])
                found = self._least_errors(tried, self._rdp(tried))
                best, width = int(found.argmax()), x[1] - x[0]
                most = max(most, float(found[best]))
                low, high = x[best] - width, x[best] + width
        return min((1.0 - 2.0 * most) * (1.0 + MARGIN) + MARGIN, 1.0)

    def _least_errors(self, orders: Array, rho: Array) -> Array:
        """Return q at which (q, 1 - q) breaks the constraint of each order, rounded down."""
        t = orders - 1.0
        low, high = np.full(t.size, -700.0), np.full(t.size, math.log(0.5))
        with np.errstate(all="ignore"):
            goal = _goal(t, rho)
            for _ in range(FINE + 8):
                middle = 0.5 * (low + high)
                q = np.exp(middle)
                y = np.log1p(-q) - middle
                beyond = self._is_beyond(q, np.stack([y, y]), t, goal)[0]
                low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return np.asarray(np.where(low == -700.0, 0.0, np.exp(low)))

    def _roots(self, alpha: float | Array, orders: Array, rho: Array, halvings: int) -> Array:
        """Return y of both directions at every order, at which the constraint is broken."""
        t = orders - 1.0
        shape = (2, *np.broadcast_shapes(np.shape(alpha), t.shape))
        with np.errstate(all="ignore"):
            goal = _goal(t, rho)
            low, high = np.full(shape, LOW), np.full(shape, HIGH)
            for _ in range(halvings):
                middle = 0.5 * (low + high)
                beyond = self._is_beyond(np.asarray(alpha), np.exp(middle), t, goal)
                low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
            # Without divergence both are alike; at the upper end nothing may be known.
            y = np.where(high == HIGH, math.inf, np.exp(high))
        return np.asarray(np.where(rho == 0.0, np.exp(LOW), np.where(np.isnan(y), math.inf, y)))

    def _is_beyond(self, alpha: Array, y: Array, t: Array, goal: Array) -> Array:
        rest, log_alpha = np.log1p(-alpha), np.log(alpha)
        gap = -(1.0 - alpha) * np.expm1(-y)
        ratio = np.log1p(gap / alpha)
        log_p = np.log(alpha + gap)
        left = np.stack(
            [
                np.logaddexp(log_alpha + _log_f(ratio[0], t), rest + _log_f(-y[0], t)),
                np.logaddexp(log_p[1] + _log_f(-ratio[1], t), rest - y[1] + _log_f(y[1], t)),
            ]
        )
        sizes = 4.0 + (t + 1.0) * np.maximum(ratio, y) + np.abs(goal) - rest - log_alpha
        return np.asarray(left > goal + MARGIN * sizes)


def _goal(t: Array, rho: Array) -> Array:
    """Return the logarithm of the right side."""
    rising = np.where(t > 0.0, np.expm1(np.minimum(t * rho, 700.0)) / t, rho)
    return np.asarray(np.where(t * rho > 30.0, t * rho - np.log(t), np.log(rising)))


def _log_f(ratio: Array, t: Array) -> Array:
    """Return log F."""
    u = t * ratio
    small = np.abs(u) < 0.5
    series = u * u * np.polynomial.polynomial.polyval(np.where(small, u, 0.0), _PHI)
    phi = np.where(small, np.log(series), np.log(np.expm1(np.minimum(u, 700.0)) - u))
    phi = np.where(u > 40.0, u, phi)
    psi = np.where(
        np.abs(ratio) < 0.5,
        np.log(
            ratio
            * ratio
            * np.polynomial.polynomial.polyval(np.where(np.abs(ratio) < 0.5, ratio, 0.0), _SERIES)
        ),
        np.log1p(np.exp(np.minimum(ratio, 700.0)) * (ratio - 1.0)),
    )
    psi = np.where(ratio > 40.0, ratio + np.log(ratio - 1.0), psi)
    first = np.where(t > 0.0, ratio + phi - np.log(t), -math.inf)
    return np.asarray(np.logaddexp(first, psi))


_PHI = np.array([1.0 / math.factorial(k) for k in range(2, 14)])
