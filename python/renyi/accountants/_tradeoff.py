"""The trade-off function of an accountant, from its privacy curves by convex conjugation.

Let delta_1 be the curve of the tested direction and delta_2 that of the other one. The least type
II error at type I error alpha is (Dong, Roth, Su 2022, Proposition 2.13)

    f(alpha) = sup over all epsilon of 1 - delta_1(epsilon) - e^epsilon alpha,

where delta_1(-epsilon) = 1 - e^-epsilon + e^-epsilon delta_2(epsilon). Any epsilon gives a lower
bound of f, so that the choice need not be exact and deltas rounded up give betas rounded down.

Where to evaluate: the best epsilon is the one that the loss exceeds with probability alpha. Each
delta is converted to the mu of Gaussian noise with this delta. The slope of mu in epsilon gives the
probability, by the chain rule, and interpolation gives the next epsilon. For Gaussian noise mu is
constant and the first guess is exact; for other noise the guesses converge like secants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from renyi import special

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Truths = npt.NDArray[np.bool_]
Curve = Callable[[Array], Array]

SAMPLE = 129  # alphas that are searched for; epsilons between them are interpolated
HALVINGS = 12  # of the gap between two of these alphas, where interpolation falls short
MOST_LINES = 4096  # with more lines, no more alphas are searched for
TURNS = 48
PLAIN_TURNS = 4  # turns of interpolation before kinks are sought everywhere
APART = 1e-4  # distance, in units of mu, of lines that show whether there is a kink


def beta_from_curves(
    alpha: Array, tested: Curve, other: Curve, half: Callable[[], float], rtol: float
) -> Array:
    """Return f at every alpha, rounded down.

    Args:
        alpha: In [0, 1].
        tested, other: The curves of both directions, rounded up, at epsilons >= 0.
        half: Returns roughly the epsilon at which the worse delta is 1/2; called if it is above 0.
        rtol: How far below f results may be, relatively, where f is smooth and not tiny.
    """
    lines = Lines(tested, other)
    lines.add(np.zeros(1))
    if lines.lost[0] > 0.5 and (start := half()) < LARGEST_EPSILON:
        lines.add(np.array([-start, start]))
    result = np.zeros(alpha.shape)
    if (alpha == 0.0).any():
        result[alpha == 0.0] = lines.at_zero()
    inside, where = np.unique(alpha[(alpha > 0.0) & (alpha < 1.0)], return_inverse=True)
    if inside.size:
        z = deviates(inside, 1.0 - inside)
        chosen = _searched(lines, inside, z, rtol)
        found, best = lines.best(inside[chosen])
        if chosen.size < inside.size:
            after = np.clip(np.searchsorted(chosen, np.arange(inside.size)), 1, chosen.size - 1)
            of_both = [lines.values(best[i], inside) for i in (after - 1, after)]
            found = _shared(lines, inside, z, np.maximum(*of_both), rtol)
        result[(alpha > 0.0) & (alpha < 1.0)] = found[where]
    return np.clip(result, 0.0, 1.0)


def _searched(lines: Lines, alpha: Array, z: Array, rtol: float) -> Indices:
    """Search for enough alphas that interpolation serves the others; return their indices."""
    chosen = _spread(z)
    search_lines(lines, alpha[chosen], z[chosen], rtol)
    left, right = chosen[:-1], chosen[1:]
    for _ in range(HALVINGS):
        far = right - left > 1
        left, right = left[far], right[far]
        if not left.size or lines.epsilon.size > MOST_LINES:
            break
        middle = np.searchsorted(-z, -0.5 * (z[left] + z[right]))
        middle = np.clip(middle, left + 1, right - 1)
        lines.add(Exceeded(lines).epsilons(z[middle]))
        guessed = lines.best(alpha[middle])[0]
        search_lines(lines, alpha[middle], z[middle], rtol)
        reached = lines.best(alpha[middle])[0]
        chosen = np.union1d(chosen, middle)
        short = reached - guessed > 0.5 * rtol * reached
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        more = np.concatenate([short, short]) | _bends(lines, z[left], z[right], alpha[left], rtol)
        left, right = left[more], right[more]
    return chosen


def _bends(lines: Lines, left: Array, right: Array, alpha: Array, rtol: float) -> Truths:
    """Return whether cubics gain much over straight lines as interpolation between deviates."""
    model, z = Exceeded(lines), 0.5 * (left + right)
    first, middle, last = (model.epsilons(at) for at in (left, z, right))
    straight = 0.5 * (first + last)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = (middle - straight) * (right - left) / (last - first)
    gain = _gain(z, z + np.where(np.isfinite(moved), moved, 0.0), middle, straight)
    return np.asarray(gain > rtol * lines.best(alpha)[0])


def _spread(z: Array) -> Indices:
    """Return a few indices of a falling array that cover it evenly."""
    if z.size <= SAMPLE:
        return np.arange(z.size)
    return np.unique(np.searchsorted(-z, np.linspace(-z[0], -z[-1], SAMPLE)))


def search_lines(lines: Lines, alpha: Array, z: Array, rtol: float) -> None:
    """Add the lines that support f at every alpha.

    Once interpolation no longer moves, or takes long, the neighbours of the best line bound f from
    above. Where this bound leaves a gap, at kinks, the next epsilon is where the gap is largest.
    """
    for turn in range(TURNS):
        model = Exceeded(lines)
        epsilon = model.epsilons(z)
        value, best = lines.best(alpha)
        at_best = lines.epsilon[best]
        gain = _gain(z, model.z_of_line[best], epsilon, at_best)
        moves = gain > 1e-3 * rtol * np.maximum(value, 0.0) + _noise(epsilon)
        apart = APART * model.mu_at(at_best)
        moves &= lines.distance(epsilon) > 0.1 * apart
        gap, widest = _gap_above(lines, alpha, value, best)
        wide = gap > rtol * np.maximum(value, 0.0) + 4.0 * _noise(at_best)
        rests = wide & ~moves
        kinks = (wide if turn >= PLAIN_TURNS else rests) & np.isfinite(widest)
        wanted = [epsilon[moves], widest[kinks]]
        if turn > 1:  # guesses from one side alone would converge slowly
            wanted.append(_halfway(lines, epsilon, 2.0**turn)[moves])
        at_end = (best == 0) | (best == lines.epsilon.size - 1)
        aside = np.where(at_end, apart / APART, apart)
        wanted += [(at_best + side * aside)[rests] for side in (-1.0, 1.0)]
        if not lines.add(np.concatenate(wanted)):
            break


def _halfway(lines: Lines, epsilon: Array, factor: float) -> Array:
    """Return the middles between neighbouring lines; beyond the last, ``factor`` times as far."""
    e = lines.epsilon
    right = np.searchsorted(e, epsilon)
    inside = (right > 0) & (right < e.size)
    left, right = np.maximum(right - 1, 0), np.minimum(right, e.size - 1)
    beyond = e[right] + factor * (epsilon - e[right])
    return np.asarray(np.where(inside, 0.5 * (e[left] + e[right]), beyond))


def _gap_above(lines: Lines, alpha: Array, value: Array, best: Indices) -> tuple[Array, Array]:
    """Return the gap between f and the best lines, and the epsilon where it may be largest."""
    between, lost = lines.between()
    kept = np.isfinite(between)
    if not kept.any():
        return np.full(alpha.shape, math.inf), np.full(alpha.shape, math.nan)
    above = line_at(between[kept], lost[kept], alpha[:, np.newaxis])
    most = above.argmax(axis=1)
    gap = np.take_along_axis(above, most[:, np.newaxis], axis=1)[:, 0] - value
    at_end = (best == 0) | (best == lines.epsilon.size - 1)
    return np.where(at_end, math.inf, gap), between[kept][most]


def _shared(lines: Lines, alpha: Array, z: Array, known: Array, rtol: float) -> Array:
    """Return lower bounds at all alphas: the known ones, or better ones by shared lines."""
    epsilon = Exceeded(lines).epsilons(z)
    gain = _gain(z[:-1], z[1:], epsilon[:-1], epsilon[1:])
    least = np.maximum(np.minimum(known[:-1], known[1:]), 0.0)
    scale = 0.25 * rtol * least + _noise(epsilon[:-1])
    # The error of a line grows with the square of the distance: a line in the middle of a stretch
    # of length 2 serves the whole stretch.
    along = np.concatenate([[0.0], np.cumsum(np.minimum(np.sqrt(gain / scale), 4.0))])
    stretch, group, size = np.unique(np.floor(0.5 * along), return_inverse=True, return_counts=True)
    middle = np.searchsorted(along, 2.0 * stretch + 1.0)
    middle = np.minimum(middle, np.cumsum(size) - 1)
    return np.maximum(known, lines.asked(epsilon[middle], group, alpha))


def _gain(z: Array, other_z: Array, epsilon: Array, other: Array) -> Array:
    """Return roughly the gain of a line at epsilon over another line: a triangle."""
    density = normal_density(np.minimum(np.abs(z), np.abs(other_z)))
    with np.errstate(over="ignore", invalid="ignore"):  # the same line of unknown z: NaN, no gain
        step = np.exp(np.minimum(epsilon, other)) * np.expm1(np.abs(epsilon - other))
        return np.asarray(0.5 * density * np.abs(z - other_z) * step)


def _noise(epsilon: Array) -> Array:
    """Return roughly the rounding error of a line."""
    return np.asarray(2.0**-54 * np.exp(np.minimum(epsilon, 0.0)))


# Lines below a trade-off function: 1 - delta(epsilon) - e^epsilon alpha, epsilon of either sign.
#
# Below 0 delta comes from the other direction, and the line is e^epsilon (1 - alpha - delta):
# nothing cancels where alpha is near 1.

LARGEST_EPSILON = 700.0
ROUNDING = 8.0 * 2.0**-53
CLOSEST = 1e-12  # epsilons closer than this, relatively, are one


class Lines:
    """Lines in ascending order of epsilon.

    Attributes:
        epsilon (array): Of either sign.
        lost (array): delta, rounded up: of the tested direction, for epsilon < 0 of the other one.
        mu (array): Roughly the mu of Gaussian noise with this delta.
    """

    def __init__(self, tested: Curve, other: Curve) -> None:
        self._tested, self._other = tested, other
        self.epsilon = np.empty(0)
        self.lost = np.empty(0)
        self.mu = np.empty(0)

    @property
    def zero(self) -> int:
        """Index of the line at 0."""
        return int(np.searchsorted(self.epsilon, 0.0))

    def add(self, epsilon: Array) -> bool:
        """Add lines at these epsilons; return whether any of them was new."""
        new = np.unique(np.clip(epsilon, -LARGEST_EPSILON, LARGEST_EPSILON))
        if self.epsilon.size:
            new = new[self.distance(new) > CLOSEST * (1e-3 + np.abs(new))]
        if not new.size:
            return False
        epsilons = np.concatenate([self.epsilon, new])
        asked = self.lost_at(new)
        lost, mu = np.concatenate([self.lost, asked]), np.concatenate([self.mu, _mu_of(new, asked)])
        order = np.argsort(epsilons, kind="stable")
        self.epsilon, self.lost, self.mu = epsilons[order], lost[order], mu[order]
        return True

    def lost_at(self, epsilon: Array) -> Array:
        """Return deltas, rounded up, as in `lost`; nothing is kept."""
        lost = np.empty(epsilon.shape)
        below = epsilon < 0.0
        for part, curve, sign in ((below, self._other, -1.0), (~below, self._tested, 1.0)):
            if part.any():
                lost[part] = curve(sign * epsilon[part])
        return lost

    def at_zero(self) -> float:
        """Return f(0), rounded down: only outcomes of infinite loss lower it."""
        infinite = float(self._tested(np.array([math.inf]))[0])
        return (1.0 - infinite) * (1.0 - ROUNDING) if infinite else 1.0

    def best(self, alpha: Array) -> tuple[Array, Indices]:
        """Return the highest line at every alpha, rounded down, and which it is."""
        values = line_at(self.epsilon, self.lost, alpha[:, np.newaxis])
        index = values.argmax(axis=1)
        return np.take_along_axis(values, index[:, np.newaxis], axis=1)[:, 0], index

    def values(self, index: Indices, alpha: Array) -> Array:
        """Return these lines at alphas, rounded down."""
        return line_at(self.epsilon[index], self.lost[index], alpha)

    def asked(self, epsilon: Array, group: Indices, alpha: Array) -> Array:
        """Return lines at alphas, by the epsilon of each alpha's group; the lines are not kept."""
        lost = self.lost_at(epsilon)
        return line_at(epsilon[group], lost[group], alpha)

    def between(self) -> tuple[Array, Array]:
        """Return the points between neighbouring lines that no curve through them is below.

        Curves fall and are convex in e^epsilon, with slopes in [-1, 0]: the chords on either side,
        extended, meet at (epsilon, delta), and the line at this point is above f. Where the chords
        do not meet, epsilon is NaN.
        """
        e, d = self.epsilon, self.lost
        left, last = np.arange(e.size - 1), e.size - 1
        sign = np.where(e[left] >= 0.0, 1.0, -1.0)
        nodes = [np.clip(left + k, 0, last) for k in (-1, 0, 1, 2)]
        with np.errstate(all="ignore"):
            x = [np.expm1(sign * (e[i] - e[left])) for i in nodes]
            y = [_of_one_side(sign * e[i], d[i]) for i in nodes]
            before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[3] - y[2]) / (x[3] - x[2])
            steepest = -np.exp(np.abs(e[left]))
            before[:1] = np.where(sign[:1] > 0.0, steepest[:1], 0.0)
            after[-1:] = np.where(sign[-1:] > 0.0, 0.0, steepest[-1:])
            meet = (y[2] - y[1] - after * x[2]) / (before - after)
            epsilon = e[left] + sign * np.log1p(meet)
            lost = np.maximum(y[1] + before * meet, 0.0)
        inside = (epsilon > e[left]) & (epsilon < e[left + 1])
        return np.where(inside, epsilon, math.nan), lost

    def distance(self, epsilon: Array) -> Array:
        """Return the distance of the nearest line."""
        right = np.clip(np.searchsorted(self.epsilon, epsilon), 1, self.epsilon.size - 1)
        left = np.maximum(right - 1, 0)
        return np.minimum(
            np.abs(epsilon - self.epsilon[right]), np.abs(epsilon - self.epsilon[left])
        )


def _mu_of(epsilon: Array, lost: Array) -> Array:
    mu = special.gaussian_mu(np.abs(epsilon), np.minimum(lost, 1.0 - 2.0**-53))
    return np.asarray(np.clip(mu, 1e-300, 1e3))


def _of_one_side(epsilon: Array, lost: Array) -> Array:
    """Return deltas of one direction; where epsilon < 0, those of the other are converted."""
    return np.where(epsilon < 0.0, lost * np.exp(epsilon) - np.expm1(epsilon), lost)


def line_at(epsilon: Array, lost: Array, alpha: Array) -> Array:
    """Return lines at alphas, rounded down."""
    margin = ROUNDING * (1.0 + np.abs(epsilon))
    with np.errstate(over="ignore"):
        size = np.exp(epsilon)
        above = (1.0 - lost) * (1.0 - ROUNDING) - size * alpha * (1.0 + margin)
    left = (1.0 - alpha) * np.where(alpha < 0.5, 1.0 - ROUNDING, 1.0) - lost
    below = size * left * (1.0 - margin)
    return np.where(epsilon < 0.0, below, above)


# Estimates, from a privacy curve, of how often a loss exceeds epsilon: they choose the next
# epsilon.
#
# Nothing here is certified. The tightness of an answer depends on it, the validity does not.

SMOOTH = 1e-3  # in units of mu: differences at which rounding does not show
SATURATED = 2.0**-44  # deltas this close to 1 have lost their digits


class Exceeded:
    """Estimates of the probability that a loss exceeds epsilon, as deviates of the lines."""

    def __init__(self, lines: Lines) -> None:
        known = np.flatnonzero(lines.lost < 1.0 - SATURATED)
        if not known.size:
            known = np.arange(lines.epsilon.size)
        epsilon = lines.epsilon[known]
        mu = lines.mu[known]
        # f may have a kink where epsilon is 0: each side has its own slopes there.
        zero = int(np.searchsorted(epsilon, 0.0))
        whole = zero == epsilon.size or epsilon[zero] != 0.0
        parts = [slice(None)] if whole else [slice(0, zero + 1), slice(zero, None)]
        self._sides = [_Side(epsilon[part], mu[part]) for part in parts]
        self._epsilon, self._mu = epsilon, mu
        self.z_of_line = np.full(lines.epsilon.size, math.inf)
        for part, side in zip(parts, self._sides, strict=True):
            self.z_of_line[known[part]] = side.z

    def mu_at(self, epsilon: Array) -> Array:
        """Return roughly mu."""
        return np.asarray(np.interp(epsilon, self._epsilon, self._mu))

    def epsilons(self, z: Array) -> Array:
        """Return roughly the epsilons that support f at alphas with these deviates."""
        found = [side.epsilons(z) for side in self._sides]
        if len(found) == 1:
            return np.asarray(found[0])
        return np.asarray(np.where(found[0] < 0.0, found[0], np.maximum(found[1], 0.0)))


class _Side:
    """Epsilons in ascending order and, rising with them, z with Phi(-z) = P(loss > epsilon).

    The probability is -e^-epsilon d delta/d epsilon. With the delta of N(mu(epsilon), 1) against
    N(0, 1) it is Phi(-w) - phi(w) mu', w = epsilon/mu + mu/2.
    """

    def __init__(self, epsilon: Array, mu: Array) -> None:
        self._epsilon, self._ends = epsilon, (mu[0], mu[-1])
        self._kept = _apart(epsilon, mu)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            w = np.clip(epsilon / mu + 0.5 * mu, -38.0, 38.0)
            sign = np.copysign(1.0, w)
            moved = sign * normal_density(w) * _slope(epsilon, mu, self._kept)
            tail = upper_tail(np.abs(w)) - np.where(np.isfinite(moved), moved, 0.0)
        possible = (tail > 0.0) & (tail < 1.0)
        tail = np.where(possible, tail, 0.5)
        z = np.where(possible, sign * deviates(tail, 1.0 - tail), w)
        self.z = np.maximum.accumulate(z)

    def epsilons(self, z: Array) -> Array:
        """Interpolate by cubics between neighbouring epsilons, by lines beyond the last."""
        x, y = self.z[self._kept], self._epsilon[self._kept]
        rises = np.concatenate([[True], np.diff(x) > 0.0])
        x, y = x[rises], y[rises]
        below = y[0] + self._ends[0] * np.minimum(z - x[0], 0.0)
        beyond = self._ends[1] * np.maximum(z - x[-1], 0.0)
        inside = _hermite(z, x, y) if x.size > 1 else y[0]
        found = np.where(z < x[0], below, inside + beyond)
        return np.asarray(np.clip(found, -LARGEST_EPSILON, LARGEST_EPSILON))


def _apart(epsilon: Array, mu: Array) -> npt.NDArray[np.intp]:
    """Return some of the epsilons, at distances at which rounding does not show."""
    kept = [0]
    for i, (e, least) in enumerate(zip(epsilon.tolist(), (SMOOTH * mu).tolist(), strict=True)):
        if e - epsilon[kept[-1]] > least:
            kept.append(i)
    return np.array(kept)


def _slope(epsilon: Array, mu: Array, kept: npt.NDArray[np.intp]) -> Array:
    """Return d mu/d epsilon."""
    if len(kept) == 1:
        return np.zeros(epsilon.shape)
    x = epsilon[kept]
    return np.asarray(np.interp(epsilon, x, np.gradient(mu[kept], x)))


def _hermite(at: Array, x: Array, y: Array) -> Array:
    """Interpolate rising values by cubics, within the neighbouring ones."""
    i = np.clip(np.searchsorted(x, at) - 1, 0, x.size - 2)
    slope = np.gradient(y, x)
    width = x[i + 1] - x[i]
    t = np.clip((at - x[i]) / width, 0.0, 1.0)
    u = 1.0 - t
    value = (
        y[i] * u * u * (1.0 + 2.0 * t)
        + y[i + 1] * t * t * (1.0 + 2.0 * u)
        + width * t * u * (slope[i] * u - slope[i + 1] * t)
    )
    return np.clip(value, y[i], y[i + 1])


# Normal deviates, to about ten digits: they choose where to evaluate and enter no answer.

FARTHEST = 38.0  # the smallest normal double is a tail of about 37.5


def normal_density(z: Array) -> Array:
    """Return phi."""
    return np.asarray(np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi))


def upper_tail(z: Array) -> Array:
    """Return Phi(-z), z >= 0."""
    return np.asarray(special.gaussian_tradeoff(z, 0.5))


def deviates(tail: Array, rest: Array) -> Array:
    """Return z with Phi(-z) = tail; ``rest`` is 1 - tail."""
    small = np.minimum(tail, rest)
    depth, at = _table()
    wanted = -np.log(small)
    z = np.interp(wanted, depth, at)
    for _ in range(2):  # Newton's steps on log Phi(-z)
        found = upper_tail(z)
        usable = found > 0.0
        found = np.where(usable, found, 1.0)
        step = (wanted + np.log(found)) * found / normal_density(z)
        z = np.clip(z + np.where(usable, step, 0.0), 0.0, FARTHEST)
    return np.where(tail <= rest, z, -z)


@cache
def _table() -> tuple[Array, Array]:
    at = np.linspace(0.0, FARTHEST, 1024)
    return -np.log(upper_tail(at)), at
