"""What an epoch costs at least in which a record takes part in k of t steps, drawn at random.

An observer of one statistic of all steps sees less than all. Here it is the sum over the steps of
log(1 + k/t (r - 1)), r the likelihood ratio of a step with the record to one without, each rounded
at random to one of the two lattice points around it so that the mean is kept, and the sum taken
modulo the length of the lattice. It does not depend on the order of the steps: with the record it
is the sum of k steps with and t - k without, whichever they are. If the record took part by coins
of rate k/t it would be all that matters.
"""

from __future__ import annotations

import math

import numpy as np

from renyi._pair import Pair
from renyi.accountants._brackets import Array
from renyi.accountants._pairs import NOTHING

__all__ = ["pairs_below"]

MOST_POINTS = 2**14
FARTHEST = 40.0  # losses of a step of either sign that are told apart
LOOKS = 4000  # cells of losses
PER_DEVIATION = 200.0  # lattice points, of the sum
LEAST_PER_STEP = 4.0  # and of a step
REACH, LEAST_REACH = 32.0, 16.0  # deviations of the sum that the lattice spans
UNIT = 2.0**-53
NULL_ERROR = 2.0**-45
LEAST = 1e-200  # masses that may have underflowed on the way are dropped


def pairs_below(base: Pair, steps: int, picks: int) -> tuple[Pair, Pair]:
    """Return pairs that an epoch of picks < steps dominates, one for each direction.

    With the record against without it, and without against with.

    Parameters
    ----------
    base : Pair
        Of a step with the record against without; its lower side is used.
    """
    looks = np.linspace(-FARTHEST, FARTHEST, LOOKS)
    rows, (infinite, _), (null, most_null) = base.spans(looks, lower=True)
    if not rows.size:
        return NOTHING, NOTHING
    if most_null - null <= NULL_ERROR * null:  # else what holds such outcomes is dropped
        rows = np.vstack([rows, [*3 * [-FARTHEST], 0.0, null, NULL_ERROR, 0.0]])
    loss, present, absent, mass_error = rows[:, 1], rows[:, 3], rows[:, 4], rows[:, 5]
    rate = picks / steps
    ratio = np.exp(np.clip(loss, -FARTHEST, FARTHEST))
    score = np.log1p(rate * (ratio - 1.0))
    weight = absent / absent.sum()
    deviation = math.sqrt(weight @ (score - weight @ score) ** 2)
    if not deviation * 1e15 > np.abs(score).max():
        return NOTHING, NOTHING
    whole = deviation * math.sqrt(steps)
    step = min(whole / PER_DEVIATION, deviation / LEAST_PER_STEP)
    step = max(step, LEAST_REACH * whole / MOST_POINTS)
    points = min(2 ** math.ceil(math.log2(REACH * whole / step)), MOST_POINTS)
    place = score / step
    laws = [_rounded(place, masses, points) for masses in (present, absent)]
    p = _convolved(_power(laws[0], picks), _power(laws[1], steps - picks))
    q = _power(laws[1], steps)
    # Of sums of positive terms: what the masses had, and one rounding a term of every convolution.
    kept = (present > 0.0) | (absent > 0.0)
    error = steps * (float(mass_error[kept].max()) + UNIT * (2.0 * points + rows.shape[0] + 8.0))
    if not error < 0.01:
        return NOTHING, NOTHING
    shown = -math.expm1(picks * math.log1p(-infinite)) if infinite < 1.0 else 1.0
    p, q = np.append(p, shown), np.append(q, 0.0)
    seen = (p > LEAST) & (q > LEAST) | (p > LEAST) & (q == 0.0) | (q > LEAST) & (p == 0.0)
    p, q = p[seen], q[seen]
    least, most = 1.0 - 2.0 * error, 1.0 + 2.0 * error
    return Pair.discrete(p * least, q * most), Pair.discrete(q * least, p * most)


def _rounded(place: Array, masses: Array, points: int) -> Array:
    """Return the masses at the points around each place, modulo their number."""
    below = np.floor(place)
    share = place - below
    index = below.astype(np.int64)
    here, after = masses * (1.0 - share), masses * share
    found = np.bincount(index % points, here, points).astype(np.float64)
    return np.asarray(found + np.bincount((index + 1) % points, after, points))


def _convolved(a: Array, b: Array) -> Array:
    """Return the law of a sum modulo the length: positive terms, hence relatively precise."""
    whole = np.convolve(a, b)
    found = whole[: a.size].copy()
    found[: whole.size - a.size] += whole[a.size :]
    return found


def _power(law: Array, count: int) -> Array:
    """Return the law of a sum of so many."""
    found = np.zeros_like(law)
    found[0] = 1.0
    while count:
        if count % 2:
            found = _convolved(found, law)
        count //= 2
        if count:
            law = _convolved(law, law)
    return found
