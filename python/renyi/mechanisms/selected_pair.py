"""The pair of the best of a random number of runs, from the privacy profile of one run.

Let phi be the probability generating function of the number of runs, and F the distribution
function and f the density of a run, with outputs in the order of their scores. The best output has
the density phi'(F(y)) f(y); ties are broken by coins, and "no run" is equally likely on both sides.
Let x = 1 - F_P(y) be the mass above y. The Q-mass above y is at most T(x), the largest Q-mass of
events of P-mass x. As phi' rises, and with t = e^epsilon,

    delta(epsilon) <= E_{L ~ P} max_x (phi'(1-x) - t e^-L phi'(1-T(x)))_+ ,                  (1)

for each order of the outputs. The right side is E_Q h(e^L) for a convex function h and rises with
T. A pair that dominates the run may therefore replace it, here one with finitely many losses. (1)
bounds all t >= 1; for t < 1 it applies to (Q, P). The resulting curve of deltas defines a pair.

Rounding is conservative: weights under P go up, weights under Q down, T up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._engine import log_inverse_gamma
from renyi._search import lower_hull

Array = npt.NDArray[np.float64]

UP = 1.0 + 2.0**-44  # more than 256 roundings
DROPPED = 1.0 + 2.0**-34  # for points that the hull lacks, 2^-49 each
LEVELS = 800  # cells, over each of which weights fall by an equal factor
DEEPEST = 60.0  # the fall of log weights beyond which cells are coarse
LARGEST_EPSILON = 340.0


class FinitePair(NamedTuple):
    """Masses of outcomes under P and Q, by rising loss, which may start at -inf and end at inf."""

    p: Array
    q: Array

    def reversed(self) -> FinitePair:
        """Return (Q, P)."""
        return FinitePair(self.q[::-1], self.p[::-1])


def finite_pair(forward: tuple[Array, Array], backward: tuple[Array, Array]) -> FinitePair:
    """Return a pair (P, Q) whose profile is not below points of that of a mechanism.

    ``forward`` has epsilons, rising from 0, and upper bounds of delta of (P, Q); ``backward`` has
    those of (Q, P). Between the points delta is linear in t = e^epsilon, and convex overall: the
    change of its slope at t is a Q-mass with a P-mass t times as large. Beyond the last point delta
    is constant, an infinite loss.
    """
    at_zero, raised = _variation(forward, backward), 0.0
    if at_zero > 1.0 - 1e-12:
        return FinitePair(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    while True:
        (large, small), (other_large, other_small) = (
            _masses(np.expm1(epsilons) * (UP + raised), np.append(at_zero, deltas[1:]))
            for epsilons, deltas in (forward, backward)
        )
        # The rest has no loss: its masses complete those of P to at least 1, of Q to at most 1.
        p = 1.0 - math.fsum([*large, *other_small]) + 2.0**-52
        q = 1.0 - math.fsum([*small, *other_large]) - 2.0**-52
        if q >= 0.0:
            return FinitePair(
                np.concatenate([other_small[::-1], [max(p, 0.0)], large]),
                np.concatenate([other_large[::-1], [q], small]),
            )
        raised = max(100.0 * raised, 1e-12)  # delta falls, so that it holds at larger t, too


def _variation(forward: tuple[Array, Array], backward: tuple[Array, Array]) -> float:
    """Return the least bound of delta at t = 1 that convexity in t gives.

    With H(t) = E_P[(1 - t e^-L)_+], which is 1 - t + t delta(-log t) of (Q, P) for t < 1, the
    points (t/(1+t), H/(1+t)) lie above a convex function wherever those of H do.
    """
    (far, above), (near, below) = ((np.exp(-e), np.minimum(d, 1.0)) for e, d in (forward, backward))
    x = np.concatenate([[0.0], near / (1.0 + near), 1.0 / (1.0 + far), [1.0]])
    left, right = (1.0 - near + near * below) / (1.0 + near), far * above / (1.0 + far)
    hull = lower_hull(x, np.concatenate([[1.0], left, right, [0.0]]))
    return float(min(2.0 * np.interp(0.5, *hull) * UP, forward[1][0], backward[1][0]))


def _masses(excess: Array, deltas: Array) -> tuple[Array, Array]:
    """Return the masses of positive losses under P and Q, the last infinite; excess = t - 1.

    Differences of slopes are exact to an ulp of themselves. The sums that reproduce delta have
    terms >= 0, and are therefore right to a few ulps.
    """
    x, y = lower_hull(excess, np.minimum.accumulate(np.minimum(deltas, 1.0)), exact=False)
    slopes = np.append(np.diff(y) / np.diff(x), 0.0)
    small = np.maximum(np.diff(slopes), 0.0)
    large = small * (1.0 + x[1:]) * UP
    return np.append(large, y[-1] * UP), np.append(small, 0.0)


class Runs:
    """The weights phi'(1 - x) of a random number of runs, given by its mean and shape.

    phi' falls by (1 + rate x)^-(shape + 1), or e^(-rate x) for a Poisson number: the rate is
    1/gamma - 1 of the truncated negative binomial, -p of the binomial distribution.
    """

    def __init__(self, mean: float, shape: float) -> None:
        self.mean, self._power = mean, shape + 1.0
        if shape == math.inf:
            self._rates = (mean, mean)
        elif shape <= -1.0:
            probability = mean / -shape
            self._rates = (-probability / UP, -min(probability * UP, 1.0))
        else:
            low, high = log_inverse_gamma(mean, shape)
            self._rates = (math.expm1(min(low, 700.0)) / UP, math.expm1(min(high, 709.0)) * UP)

    def _fall(self, x: Array, rate: float) -> Array:
        """Return log(phi'(1)/phi'(1-x)), which rises with x; the second rate gives the larger."""
        if self._power == math.inf:
            return rate * x
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(self._power * np.log1p(rate * x), nan=0.0, posinf=math.inf)

    def upper(self, x: Array) -> Array:
        """Return phi'(1 - x), rounded up."""
        return self.mean * np.exp(-self._fall(x, self._rates[0]) * (1.0 - 2.0**-49)) * UP

    def lower(self, x: Array) -> Array:
        """Return phi'(1 - x), rounded down."""
        return self.mean * np.exp(-self._fall(x, self._rates[1]) * (1.0 + 2.0**-49)) / UP

    def mass(self, x: Array, width: Array) -> Array:
        """Return roughly phi(1 - x) - phi(1 - x - width), to 1e-13 of itself."""
        rate, power = self._rates[1], self._power - 1.0
        if rate == 0.0:  # one run
            return np.asarray(self.mean * width)
        if power == math.inf:
            return np.asarray(np.exp(-rate * x) * -np.expm1(-rate * width))
        left = np.maximum(1.0 + rate * x, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = np.log1p(np.maximum(rate * width / left, -1.0))
            part = fall if power == 0.0 else -np.expm1(-power * fall) / power
            return np.nan_to_num(self.mean / rate * left**-power * part)

    def slope(self, x: Array) -> Array:
        """Return -d/dx log phi'(1 - x), at the second rate; inf where phi' is 0."""
        rate = self._rates[1]
        if self._power == math.inf:
            return np.full(x.shape, rate)
        with np.errstate(divide="ignore"):
            return self._power * rate / (1.0 + rate * x)

    @property
    def levels(self) -> Array:
        """Return places x between which weights fall by equal factors."""
        most = min(float(self._fall(np.ones(1), self._rates[1])[0]), DEEPEST)
        if most == 0.0:
            return np.empty(0)
        falls = np.linspace(0.0, most, LEVELS)
        places = falls if self._power == math.inf else np.expm1(falls / self._power)
        return np.minimum(places / self._rates[1], 1.0)


class _Envelope:
    """max_x (phi'(1-x) - s phi'(1-T(x))), rounded up, as a function of s >= 0.

    On a cell of x, phi'(1-x) is convex and below its chord; phi'(1-T(x)) falls with a concave T, is
    convex, too, and above its tangent in the middle. The difference of chord and tangent is largest
    at an end, so that only the points (tangent, chord) at the ends of cells and their hull matter.
    """

    def __init__(self, runs: Runs, run: FinitePair) -> None:
        # T is concave, and linear between these: the outcomes of the lowest losses come first.
        x, y = np.append(np.cumsum(run.p) / UP, 1.0), np.append(np.cumsum(run.q) * UP, 1.0)
        x, y = np.minimum(x, 1.0), np.minimum(y, 1.0)
        levels = runs.levels
        grid = np.unique(np.concatenate([x, levels, np.interp(levels, y, x)]))
        last = np.searchsorted(x, grid, "right") - 1
        exact = x[last] == grid
        t = np.where(exact, y[last], np.minimum(np.interp(grid, x, y) * UP, 1.0))
        w = runs.upper(grid)
        middle = 0.5 * (t[:-1] + t[1:])
        value = runs.lower(middle)
        with np.errstate(invalid="ignore"):
            half = 0.5 * np.diff(t) * value * runs.slope(middle)
        fine = half < 0.25 * value  # elsewhere, a cell has its largest and least value
        end = runs.lower(t[1:])
        left = np.where(fine, value + half / UP, end)
        right = np.where(fine, value - half * UP, end)
        right_w = np.where(fine, w[1:], w[:-1])
        # The last point is the cell without width at 0, where T jumps: P alone.
        q = np.concatenate([left, right, runs.lower(t[:1])])
        hull = lower_hull(q, -np.concatenate([w[:-1], right_w, w[:1]]), exact=False)
        self._q, self._p = hull[0], -hull[1] * DROPPED
        self._slopes = np.diff(hull[1]) / np.diff(hull[0])

    def __call__(self, s: Array) -> Array:
        """Return the maximum, or 0 if it is negative; rounded slopes cost less than an ulp."""
        best = np.searchsorted(self._slopes, -s)
        return np.maximum(self._p[best] * UP - s * self._q[best], 0.0)

    @property
    def end(self) -> float:
        """The s at which the function becomes 0, rounded up."""
        with np.errstate(divide="ignore"):
            return float(np.max(self._p / self._q)) * UP


def log_ratio(runs: Runs, run: FinitePair) -> float:
    """Return the logarithm of the largest phi'(1-x)/phi'(1-T(x)), rounded up."""
    return max(math.log(_Envelope(runs, run).end), 0.0) * UP


def selected(runs: Runs, run: FinitePair) -> tuple[Array, Array]:
    """Return masses under P and Q of a pair that dominates the best of several runs."""
    forward, reverse = _profile(runs, run), run.reversed()
    same = np.array_equal(run.p, reverse.p) and np.array_equal(run.q, reverse.q)
    return finite_pair(forward, forward if same else _profile(runs, reverse))


# A lower bound: the pair that one order of scores attains, for a pair that a run dominates.

ATTAINED_ERROR = 1e-11  # relative, of masses
LEAST_POINT = 1e-13  # of masses: points closer to an end of the trade-off curve are dropped
ON_TOP = [0.0, *np.geomspace(1e-9, 0.03, 12), *np.linspace(0.05, 0.95, 19)]  # of P
LEAST_PARTS = 200  # of all outcomes, about half
REFERENCE = 1e-6  # the delta for which one of these is chosen


def attained_points(t: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return (Q, P) of events that exist, by brackets of delta at rising t: lines below delta.

    Between neighbours t_i < t < t_j, delta is above the extensions of both neighbouring chords. A
    line through both values is lowered until it is below these extensions. For t > t_j
    its slope must be at most that of the chord from t_i to t_j, for t < t_i at least.
    """
    step = np.diff(t)
    least, most = (low[1:] - high[:-1]) / step, (high[1:] - low[:-1]) / step  # slopes
    i = np.arange(1, step.size - 1)
    before, after = least[i - 1], most[i + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = np.clip(
            (low[i + 1] - low[i] + before * t[i] - after * t[i + 1]) / (before - after),
            t[i],
            t[i + 1],
        )
    below = np.maximum(low[i] + before * (cross - t[i]), low[i + 1] + after * (cross - t[i + 1]))
    start = np.minimum(low[i], low[i + 1] - least[i] * step[i])
    gap = np.maximum(start + least[i] * (cross - t[i]) - below, 0.0)
    value = start - gap - (most[i] - least[i]) * t[i]  # at t_i
    q, p = -least[i] * UP, (value - least[i] * t[i]) / UP
    kept = (p > LEAST_POINT) & (q < 1.0) & np.isfinite(p) & np.isfinite(q)
    return q[kept], np.minimum(p[kept], 1.0)


def event_masses(forward: tuple[Array, Array], backward: tuple[Array, Array]) -> FinitePair:
    """Return masses, by falling loss, of a pair below every pair that has these events.

    ``forward`` and ``backward`` are points of `attained_points` of (P, Q) and of (Q, P).
    """
    x = np.concatenate([[0.0], forward[0], 1.0 - backward[1], [1.0]])
    y = np.concatenate([[0.0], forward[1], 1.0 - backward[0], [1.0]])
    inside = (y == 0.0) | (y >= 1.0) | (y < 1.0 - LEAST_POINT)
    q, lower = lower_hull(x[inside], -y[inside])
    return FinitePair(np.diff(-lower), np.diff(q))


def attained(runs: Runs, forward: tuple[Array, Array], backward: tuple[Array, Array]) -> FinitePair:
    """Return masses of the best of several runs in some order of scores; points as above.

    Outcomes of low loss are on top, with the best P-mass of `ON_TOP`; the others follow by falling
    loss. Coins split an outcome into parts, the smallest parts first and last.
    """
    p, q = event_masses(forward, backward)
    cuts = 0.5 * np.geomspace(1e-9, 1.0, 2 + LEAST_PARTS // (p.size + 1))
    parts = np.diff(np.concatenate([[0.0], cuts, 1.0 - cuts[-2::-1], [1.0]]))
    run = FinitePair(np.outer(p, parts).ravel(), np.outer(q, parts).ravel())
    found = [_winner(runs, run, part) for part in ON_TOP]
    return max(found, key=_epsilon_of)


def _winner(runs: Runs, run: FinitePair, part: float) -> FinitePair:
    top = np.cumsum(run[0][::-1])[::-1] <= part
    order = np.concatenate([np.flatnonzero(top), np.flatnonzero(~top)])
    masses = []
    for mass in run:
        mass = np.maximum(mass[order], 0.0)
        above = np.minimum(np.cumsum(mass) - mass, 1.0)
        won = runs.mass(above, np.minimum(mass, 1.0 - above))
        none = max(1.0 - math.fsum(won), 0.0)
        masses.append(np.append(won, none) / (math.fsum(won) + none))
    return FinitePair(*masses)


def _epsilon_of(pair: FinitePair) -> float:
    low, high = 0.0, LARGEST_EPSILON
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = np.maximum(pair.p - math.exp(middle) * pair.q, 0.0).sum() > REFERENCE
        low, high = (middle, high) if above else (low, middle)
    return low


def _profile(runs: Runs, run: FinitePair) -> tuple[Array, Array]:
    """Return epsilons, from 0, and delta by (1), rounded up."""
    envelope = _Envelope(runs, run)
    seen = run.p > 0.0
    with np.errstate(over="ignore"):
        p, ratios = run.p[seen], np.minimum(run.q[seen] / run.p[seen], 1e150)
    losses = -np.log(ratios[(ratios > 0.0) & (ratios < 1.0)])
    shift = min(math.log(envelope.end), LARGEST_EPSILON)
    epsilons = np.concatenate([np.linspace(0.0, shift, 200), (losses + shift) * (1.0 + 1e-12)])
    epsilons = np.unique(epsilons[epsilons < LARGEST_EPSILON])
    least = np.minimum(np.exp(epsilons) / UP, 1e150)
    deltas = [float(p @ envelope(t * ratios)) for t in least]
    return epsilons, np.minimum(np.array(deltas) * UP, 1.0)
