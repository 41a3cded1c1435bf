"""Guarantees for groups of records, from the guarantee for one record.

Chains of neighbours bound the exact curve, Hölder's inequality bounds Rényi divergences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from renyi._engine import RenyiCurve
from renyi._search import smallest_argument
from renyi.accountants._curves import Array, Curve, Wanted, upper_end
from renyi.accountants._tradeoff import (
    LARGEST_EPSILON,
    Exceeded,
    Lines,
    deviates,
    search_lines,
    upper_tail,
)

LEAST_EPSILON = 1e-9  # the least that is searched for
MOST_EPSILON = 3000.0  # beyond, doubles hold no delta of one record that is small enough
CLOSE = 1e-9  # the relative tolerance of epsilon


class GroupCurve:
    """The curve for a group: upper ends by a chain of neighbours, lower ends for one record.

    Args:
        own, other: The curves for one record, in the direction asked for and the opposite one.
        size: The number of records of the group.
    """

    def __init__(self, own: Curve, other: Curve, size: int) -> None:
        self._own, self._other, self._size = own, other, size

    @cached_property
    def chain(self) -> Chain:
        """Tests between the ends of the chain."""
        return Chain(self._own, self._other, self._size)

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        low, high = result = self._own.brackets(wanted, values)
        if wanted == "delta":
            high[:] = [self.chain.delta(epsilon) for epsilon in values.tolist()]
        else:
            # The largest losses add up.
            largest = upper_end(self._own, wanted, 0.0) * self._size * (1.0 + 2.0**-52)
            starts = np.minimum(self._size * high, largest)
            high[:] = list(map(self._epsilon, values.tolist(), starts.tolist()))
            np.minimum(high, largest, out=high)
        np.maximum(high, low, out=high)
        return result

    def _epsilon(self, delta: float, start: float) -> float:
        """Return an epsilon at which the chain's delta is small enough, about the least."""
        if delta == 0.0:
            return math.inf
        if self.chain.delta(0.0) <= delta:
            return 0.0
        start = min(max(start, LEAST_EPSILON), MOST_EPSILON)
        return smallest_argument(
            self.chain.delta, delta, start, LEAST_EPSILON, MOST_EPSILON, tolerance=CLOSE
        )


# Chains of neighbours: delta between data sets that differ in several records.
#
# Let g = 1 - f be the largest power of a test between neighbours. The power of a test between the
# ends of a chain of m neighbours is at most g applied m times (Dong, Roth, Su 2022, arXiv
# 1905.02383, Theorem 2.14). Since g(alpha) <= delta(e) + e^e alpha for every e of either sign, any
# e_1 + ... + e_m = epsilon gives
#
#     delta_m(epsilon) <= delta(e_m) + e^(e_m) (delta(e_(m-1)) + e^(e_(m-1)) (... + delta(e_1))),
#
# and the least of these bounds is the theorem's. Equal e give the rule of basic group privacy,
# (m e, delta (e^(m e) - 1)/(e^e - 1)). The best e_i support g at alpha_i = g(alpha_(i-1)). They
# need not be exact, since any other e_i are valid, too.

SEEDS = np.linspace(8.0, -8.0, 33)  # deviates at which lines are sought first
SEED_RTOL = 1e-3
FARTHEST = 37.5  # the largest deviate whose tail is a double
ZOOMS, POINTS = 3, 65
TURNS = 12
ADDED, MOST_LINES = 16, 2000  # the most lines that a turn adds, and the most in all
NO_GAIN = 1e-8  # a turn with a smaller relative gain is the last
MOST_CORNERS = 2000  # lines times neighbours; with more of them, g counts as smooth
LEAST = 1e-320
LEAST_OF_PROFILE = 1e-20  # the least delta of one record that a profile shows
LEARNT, PROFILE_POINTS = 16, 800
NEAR_ZERO = 1e-6  # of the largest epsilon: closer to 0, rounding of delta would make a slope

Sloped = tuple[Array, Array, Array]
Slopes = Callable[[Exceeded, Array, Array, Array], Sloped]


class Chain:
    """Tests between the ends of a chain of ``size`` neighbours.

    Args:
        own, other: The curves of the direction of every step, and of the opposite one.
        size: At least 2.
    """

    def __init__(self, own: Curve, other: Curve, size: int) -> None:
        self._own, self._size = own, size
        self._lines = Lines(
            lambda epsilons: own.brackets("delta", epsilons)[1],
            lambda epsilons: other.brackets("delta", epsilons)[1],
        )
        self._lines.add(np.zeros(1))
        self._hopeless = self._lines.lost[0] >= 1.0
        if not self._hopeless:
            start = upper_end(own, "epsilon", 0.5)
            if 0.0 < start < LARGEST_EPSILON:
                self._lines.add(np.array([-start, start]))
            tail = upper_tail(np.abs(SEEDS))
            alpha = np.where(SEEDS > 0.0, tail, 1.0 - tail)
            search_lines(self._lines, alpha, SEEDS, SEED_RTOL)

    def delta(self, epsilon: float) -> float:
        """Return delta between the ends at epsilon in [0, inf], rounded up."""
        if self._hopeless:
            return 1.0
        if epsilon == math.inf:
            return self._delta_at_infinity()
        target = min(epsilon, LARGEST_EPSILON * self._size)
        best = math.inf
        for _ in range(TURNS):
            before, shares = best, [self._shares(self._slopes, target)]
            if self._lines.epsilon.size * self._size <= MOST_CORNERS:
                shares.append(self._shares(self._corner_slopes, target))
            best = min(best, *map(self._certified, shares))
            if best > before * (1.0 - NO_GAIN) or not self._learn(np.concatenate(shares)):
                break
        return min(best, 1.0)

    def profile(self) -> tuple[Array, Array]:
        """Return epsilons, rising from 0, and the deltas, rounded up, that fall to tiny ones."""
        at_zero = self.delta(0.0)
        if not 0.0 < at_zero < 1.0:
            return np.zeros(1), np.array([at_zero])
        infinite = upper_end(self._own, "delta", math.inf)
        least = max(LEAST_OF_PROFILE, infinite * (1.0 + 1e-6))
        most = self._size * min(upper_end(self._own, "epsilon", least), LARGEST_EPSILON)
        found = {0.0: at_zero}
        for epsilon in np.linspace(0.0, most, LEARNT)[1:].tolist():
            found[epsilon] = self.delta(epsilon)
        model = Exceeded(self._lines)
        z = np.linspace(-FARTHEST, FARTHEST, PROFILE_POINTS)
        for shares in self._supporting(model, self._corner_slopes, z).T:
            epsilon = math.fsum(shares)
            if NEAR_ZERO * most < epsilon < most:  # the bound holds at the next double, too
                found[math.nextafter(epsilon, math.inf)] = self._certified(shares)
        epsilons = np.array(sorted(found))
        return epsilons, np.array([found[epsilon] for epsilon in epsilons.tolist()])

    def _learn(self, shares: Array) -> bool:
        """Keep the lines of some shares; return whether there were new ones."""
        some = shares[:: -(-shares.size // ADDED)]
        return self._lines.epsilon.size < MOST_LINES and self._lines.add(some)

    def _certified(self, shares: Array) -> float:
        """Return the bound that these shares of epsilon give, rounded up."""
        distinct, where = np.unique(shares, return_inverse=True)
        lost = self._lines.lost_at(distinct)[where]
        total = 0.0
        for e, d in zip(shares.tolist(), lost.tolist(), strict=True):
            # Below 0: delta(e) = 1 - e^e + e^e delta_other(-e). No term is negative, and each is
            # right to some ulp, the exponential to one.
            total = (
                d + math.exp(e) * total if e >= 0.0 else -math.expm1(e) + math.exp(e) * (d + total)
            )
            if not total < 1.0:
                return 1.0
            total *= 1.0 + 2.0**-49
        return total + 5e-324 if total else 0.0

    def _delta_at_infinity(self) -> float:
        """Return the mass of outcomes of infinite loss."""
        total = upper_end(self._own, "delta", math.inf)
        for _ in range(self._size - 1 if total else 0):
            # Any line at alpha = total is above g; the bound is rounded up as in `_certified`.
            bounds = 1.0 - self._lines.best(np.array([total]))[0]
            total = min(float(bounds[0]) * (1.0 + 2.0**-45) + 2.0**-52, 1.0)
        return total

    def _shares(self, slopes: Slopes, target: float) -> Array:
        """Return roughly the best shares that add up to at most the target."""
        model = Exceeded(self._lines)
        low, high = -FARTHEST, FARTHEST
        for _ in range(ZOOMS):
            z = np.linspace(low, high, POINTS)
            shares = self._supporting(model, slopes, z)
            after = int(np.clip(np.searchsorted(shares.sum(axis=0), target), 1, POINTS - 1))
            low, high = z[after - 1], z[after]
        one, other = shares[:, after - 1], shares[:, after]
        gap = float(other.sum() - one.sum())
        part = (target - float(one.sum())) / gap if gap > 0.0 else 1.0
        found = one + min(max(part, 0.0), 1.0) * (other - one)
        found += (target - math.fsum(found)) / self._size
        found = np.clip(found, -LARGEST_EPSILON, LARGEST_EPSILON)
        # Rounding may have raised the sum, which must be at most the target.
        found[0] -= max(math.fsum(found) - target, 0.0)
        found[0] -= 2.0**-50 * (abs(target) + abs(found[0]))
        return np.asarray(found)

    def _supporting(self, model: Exceeded, slopes: Slopes, z: Array) -> Array:
        """Return the slopes along the chains that begin at alphas with these deviates."""
        tail = upper_tail(np.abs(z))
        alpha, rest = np.where(z > 0.0, tail, 1.0 - tail), np.where(z > 0.0, 1.0 - tail, tail)
        shares = np.empty((self._size, z.size))
        for i in range(self._size):
            shares[i], alpha, rest = slopes(model, alpha, rest, z)
            z = deviates(alpha, rest)
        return shares

    def _slopes(self, model: Exceeded, alpha: Array, rest: Array, z: Array) -> Sloped:
        """Return slopes where g is smooth, and roughly g and 1 - g."""
        after = np.searchsorted(model.z_of_line, z)
        power, left = np.ones(z.shape), np.zeros(z.shape)
        for index in (after - 1, after):
            k = np.clip(index, 0, self._lines.epsilon.size - 1)
            above, below = _at(self._lines.epsilon[k], self._lines.lost[k], alpha, rest)
            power, left = np.minimum(power, above), np.maximum(left, below)
        return model.epsilons(z), np.maximum(power, LEAST), np.maximum(left, LEAST)

    def _corner_slopes(self, model: Exceeded, alpha: Array, rest: Array, z: Array) -> Sloped:
        """Return the slopes of the best lines: between corners they are those of g."""
        e, d = self._lines.epsilon, self._lines.lost
        above, below = _at(e, d, alpha[:, np.newaxis], rest[:, np.newaxis])
        best = np.where(alpha < 0.5, above.argmin(axis=1), below.argmax(axis=1))
        power, left = above.min(axis=1), below.max(axis=1)
        return e[best], np.maximum(power, LEAST), np.maximum(left, LEAST)


def _at(epsilon: Array, lost: Array, alpha: Array, rest: Array) -> tuple[Array, Array]:
    """Return lines above g, and 1 minus these lines; ``rest`` is 1 - alpha."""
    with np.errstate(over="ignore"):
        size = np.exp(epsilon)
        above, below = lost + size * alpha, size * (rest - lost)
    negative = epsilon < 0.0
    return np.where(negative, 1.0 - below, above), np.where(negative, below, 1.0 - above)


# The Rényi curve for a group of records, from the curve for one record.
#
# Let K(alpha) = log E_Q (P/Q)^alpha and 1/p + 1/q = 1. Hölder's inequality gives along P, R, Q
#
#     K_(P,Q)(alpha) <= K_(P,R)(p alpha)/p + K_(R,Q)(q (alpha - 1/p))/q
#
# (Mironov 2017, arXiv 1702.07476, Proposition 11). With a = p alpha the second order is
# b = alpha (a - 1)/(a - alpha), and the best a is taken. The bound is exact for Gaussian noise,
# where Mironov's Proposition 2 is not: rho alpha (alpha - 1) becomes m^2 rho alpha (alpha - 1).

ORDERS = np.concatenate([[1.0], 1.0 + np.geomspace(1e-4, 1e6 - 1.0, 400)])
ROUNDING = 1.0 + 2.0**-45  # more than all the roundings of one link


def group_curve(rdp: Callable[[Array], Array], size: int) -> RenyiCurve | None:
    """Return the curve of a chain of ``size`` neighbours; None: no order is left.

    K is convex in the order: chords between its values at some orders are above K.
    """
    single = (ORDERS - 1.0) * rdp(ORDERS) * ROUNDING
    single[0] = 0.0
    total = single
    for bit in f"{size:b}"[1:]:
        total = _linked(total, total)
        if bit == "1":
            total = _linked(single, total)
    known = np.isfinite(total[1:])
    if not known.any():
        return None
    return RenyiCurve.polygon(ORDERS[1:][known].tolist(), total[1:][known].tolist())


def _linked(first: Array, rest: Array) -> Array:
    """Return the least bound at every order for two chains that are joined."""
    order, a = ORDERS[1:, np.newaxis], ORDERS[np.newaxis, 1:]
    finite = np.isfinite(rest)
    with np.errstate(all="ignore"):
        b = order * (a - 1.0) / (a - order) * ROUNDING  # K rises with the order
        beyond = np.interp(b, ORDERS[finite], rest[finite], right=np.inf)
        bound = (order * first[1:] + (a - order) * beyond) / a * ROUNDING
    bound[~(a > order) | np.isnan(bound)] = np.inf
    return np.concatenate([[0.0], bound.min(axis=1)])
