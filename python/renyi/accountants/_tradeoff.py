"""The trade-off function of an accountant, from its privacy curves by convex conjugation.

With delta_1 the curve of the tested direction and delta_2 that of the other one, the least type II
error at type I error alpha is (Dong, Roth, Su 2022, Proposition 2.13)

    f(alpha) = sup over all epsilon of 1 - delta_1(epsilon) - e^epsilon alpha,

where delta_1(-epsilon) = 1 - e^-epsilon + e^-epsilon delta_2(epsilon). Any epsilon gives a lower
bound of f, so that the choice need not be exact and deltas rounded up give betas rounded down.

Where to ask: the best epsilon is the one that the loss exceeds with probability alpha. Each answer
is read as the mu of Gaussian noise with that delta; how mu moves with epsilon gives that
probability, by the chain rule, and interpolation the epsilon of the next question. For Gaussian
noise mu is constant and the first guess exact; for others the guesses close in like secants.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from renyi.accountants._deviates import deviates, normal_density
from renyi.accountants._exceeded import Exceeded
from renyi.accountants._lines import LARGEST_EPSILON, Lines, line_at

__all__ = ["beta_from_curves", "search_lines"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Truths = npt.NDArray[np.bool_]
Curve = Callable[[Array], Array]

SAMPLE = 129  # alphas that are searched for; epsilons for those between are interpolated
HALVINGS = 12  # between two of these, where interpolation falls short
MOST_LINES = 4096  # beyond which no more alphas are searched for
TURNS = 48
PLAIN_TURNS = 4  # of interpolation before kinks are sought everywhere
APART = 1e-4  # in units of mu: lines that show a kink, or none


def beta_from_curves(
    alpha: Array, tested: Curve, other: Curve, half: Callable[[], float], rtol: float
) -> Array:
    """Return f at every alpha, rounded down.

    Parameters
    ----------
    alpha : array
        In [0, 1].
    tested, other : callable
        The curves of both directions, rounded up, at epsilons >= 0.
    half : callable
        Returns about where the worse delta is 1/2; asked where that is above 0.
    rtol : float
        How far below f results may be, relatively, where f is smooth and not tiny.
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
    """Search for some alphas, so many that interpolation serves the others; return which."""
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
    """Whether between deviates interpolation by cubics gains much over that by straight lines."""
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

    Where interpolation has come to rest, or takes long, neighbours of the best line bound f from
    above; where that shows room, at kinks, the next question is where there is most of it.
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
        room, roomiest = _room(lines, alpha, value, best)
        wide = room > rtol * np.maximum(value, 0.0) + 4.0 * _noise(at_best)
        rests = wide & ~moves
        kinks = (wide if turn >= PLAIN_TURNS else rests) & np.isfinite(roomiest)
        wanted = [epsilon[moves], roomiest[kinks]]
        if turn > 1:  # guesses from one side alone would creep
            wanted.append(_halfway(lines, epsilon, 2.0**turn)[moves])
        at_end = (best == 0) | (best == lines.epsilon.size - 1)
        aside = np.where(at_end, apart / APART, apart)
        wanted += [(at_best + side * aside)[rests] for side in (-1.0, 1.0)]
        if not lines.add(np.concatenate(wanted)):
            break


def _halfway(lines: Lines, epsilon: Array, factor: float) -> Array:
    """Return the middles between the neighbouring lines; beyond the last a multiple as far."""
    e = lines.epsilon
    right = np.searchsorted(e, epsilon)
    inside = (right > 0) & (right < e.size)
    left, right = np.maximum(right - 1, 0), np.minimum(right, e.size - 1)
    beyond = e[right] + factor * (epsilon - e[right])
    return np.asarray(np.where(inside, 0.5 * (e[left] + e[right]), beyond))


def _room(lines: Lines, alpha: Array, value: Array, best: Indices) -> tuple[Array, Array]:
    """Return how far f may be above the best lines, and where it may be so most."""
    between, lost = lines.between()
    kept = np.isfinite(between)
    if not kept.any():
        return np.full(alpha.shape, math.inf), np.full(alpha.shape, math.nan)
    above = line_at(between[kept], lost[kept], alpha[:, np.newaxis])
    most = above.argmax(axis=1)
    room = np.take_along_axis(above, most[:, np.newaxis], axis=1)[:, 0] - value
    at_end = (best == 0) | (best == lines.epsilon.size - 1)
    return np.where(at_end, math.inf, room), between[kept][most]


def _shared(lines: Lines, alpha: Array, z: Array, known: Array, rtol: float) -> Array:
    """Return lower bounds at all alphas, the known ones or by lines that neighbours share."""
    epsilon = Exceeded(lines).epsilons(z)
    gain = _gain(z[:-1], z[1:], epsilon[:-1], epsilon[1:])
    least = np.maximum(np.minimum(known[:-1], known[1:]), 0.0)
    scale = 0.25 * rtol * least + _noise(epsilon[:-1])
    # What a line falls short by grows with the square of the distance: a line in the middle of a
    # stretch of 2 serves all of it.
    along = np.concatenate([[0.0], np.cumsum(np.minimum(np.sqrt(gain / scale), 4.0))])
    stretch, group, size = np.unique(np.floor(0.5 * along), return_inverse=True, return_counts=True)
    middle = np.searchsorted(along, 2.0 * stretch + 1.0)
    middle = np.minimum(middle, np.cumsum(size) - 1)
    return np.maximum(known, lines.asked(epsilon[middle], group, alpha))


def _gain(z: Array, other_z: Array, epsilon: Array, other: Array) -> Array:
    """Return about what a line at epsilon gains over another one: a triangle under the slope."""
    density = normal_density(np.minimum(np.abs(z), np.abs(other_z)))
    with np.errstate(over="ignore", invalid="ignore"):  # the same line of unknown z: NaN, no gain
        step = np.exp(np.minimum(epsilon, other)) * np.expm1(np.abs(epsilon - other))
        return np.asarray(0.5 * density * np.abs(z - other_z) * step)


def _noise(epsilon: Array) -> Array:
    """Return about the rounding error of a line."""
    return np.asarray(2.0**-54 * np.exp(np.minimum(epsilon, 0.0)))
