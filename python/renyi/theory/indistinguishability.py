"""Indistinguishability of two distributions: by sets, by tails of the loss, by common parts.

The privacy loss of a pair (P, Q) is L = log dP/dQ(x) for x drawn from P. If P(L > epsilon) <= delta
in both orders, the pair is (epsilon, delta)-indistinguishable; the converse costs a factor, see
`tail_from_guarantee`. A pair is two sequences of probabilities, a `renyi.pairs.DominatingPair`, or
the pair of a mechanism (`Mechanism.dominating_pair`). `renyi.pairs.DensityPair` takes log densities
and integrates them piece by piece between the turning points of the loss, with certified bounds.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._engine import Pair as CompiledPair
from renyi._rounding import above, below, exp_above
from renyi._validation import (
    FINITE_NON_NEGATIVE,
    FINITE_POSITIVE,
    Range,
    check_one_missing,
    delta_of,
    epsilon_of,
    number_in,
    numbers_of,
    real_of,
)
from renyi.pairs import Composition, DiscretePair, DominatingPair
from renyi.pairs.dominating import compiled_pair

__all__ = [
    "Guarantee",
    "common_part",
    "indistinguishability",
    "loss_tail",
    "normal_tail_bound",
    "sum_tail_bound",
    "tail_from_guarantee",
]
__dir__ = __all__.copy

Pair = DominatingPair | CompiledPair | tuple[Sequence[float], Sequence[float]]
NormalTail = Literal["chernoff", "half", "mills"]
Masses = npt.NDArray[np.float64]


class Guarantee(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


def indistinguishability(
    pair: Pair, *, epsilon: float | None = None, delta: float | None = None
) -> Guarantee:
    """Return the least delta at an epsilon, or the least epsilon at a delta, of P and Q.

    For one order of P and Q `renyi.pairs.Composition` gives brackets: ``delta_bounds`` of the
    hockey-stick divergence sup over sets S of P(S) - exp(epsilon) Q(S), ``epsilon_bounds`` of the
    delta-approximate max divergence sup over S of log((P(S) - delta) / Q(S)).

    Args:
        pair: P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9, or the pair of
            two densities from `renyi.pairs`, or the result of `Mechanism.dominating_pair`.
        epsilon: Any number.
        delta: In [0, 1]. Either epsilon or delta has to be given.

    Returns:
        The guarantee with the other number, the larger one of both orders, rounded up: delta, or an
        epsilon >= 0, infinity where no epsilon suffices.

    Source: Dwork, Roth 2014, Definition 3.8. (The supremum over sets; a maximum of log((p(y) -
    delta) / q(y)) over points is something else, and smaller.)

    >>> round(indistinguishability(([0.4, 0.6], [0.6, 0.4]), delta=0.1).epsilon, 6)
    0.223144
    """
    check_one_missing(epsilon=epsilon, delta=delta)
    forth = compiled_pair(_pair(pair))
    both = [Composition([(one, 1)]) for one in (forth, forth.reversed())]
    if epsilon is not None:
        return Guarantee(epsilon, max(one.delta_bounds(epsilon)[1] for one in both))
    ends = [one.epsilon_bounds(delta_of(delta))[1] for one in both]
    return Guarantee(max(*ends, 0.0), delta_of(delta))


def loss_tail(
    pair: Pair | list[tuple[Pair, int]], epsilon: float, *, rtol: float = 1e-7
) -> tuple[float, float]:
    """Return bounds on P(L > epsilon), the chance that the privacy loss exceeds ``epsilon``.

    The worse of both orders is a delta for this epsilon, never below that of
    `indistinguishability`.

    Args:
        pair: As in `indistinguishability`, or the parts of a composition.
        epsilon: Any number.
        rtol: Aim for the relative width of the hockey-stick divergences used, in [1e-12, 1].

    Returns:
        lower, upper: Bounds that enclose the probability. For finite distributions they are
            roundings apart, and an outcome whose loss is ``epsilon`` up to rounding counts in the
            upper one. For others the upper bound also holds for P(L >= epsilon), and is no better
            next to an atom.

    As a function of g = e^epsilon the hockey-stick divergence is convex, of slope -Q(L > epsilon)
    to the right and -Q(L >= epsilon) to the left, and P(L > epsilon) is its value plus g
    Q(L > epsilon). Secants on either side bound the slopes.

    Source: "A Tail of Two Densities", Claims 1 and 2.

    >>> from renyi.mechanisms import Gaussian
    >>> lower, upper = loss_tail(Gaussian(1.0).dominating_pair(), 1.0)  # of a normal beyond 1/2
    >>> round(lower, 5), round(upper, 5)
    (0.30854, 0.30854)
    """
    level = real_of(epsilon, "epsilon", "a number")
    given = pair if isinstance(pair, list) else [(pair, 1)]
    parts = [(_pair(part), count) for part, count in given]
    if len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], DiscretePair):
        return _discrete_tail(parts[0][0], level)
    if math.isinf(level):
        return (0.0, 0.0) if level > 0.0 else (1.0, 1.0)
    composed = Composition(parts, rtol=rtol)
    low, high = composed.delta_bounds(level)
    lower, upper = low, 1.0
    for k in range(1, 9):
        h = 10.0**-k
        beyond = composed.delta_bounds(level + math.log1p(h))[1]
        before = composed.delta_bounds(level + math.log1p(-h))[1]
        # the secant's points are off by 2^-52 (1 + |level|), their distance by that over h
        off = 2.0**-50 * (1.0 + abs(level)) / h
        lower = max(lower, below(low + (low - beyond) / h * (1.0 - off)))
        upper = min(upper, above(high + (before - low) / h * (1.0 + off)))
    return max(lower, 0.0), max(upper, 0.0)


def _discrete_tail(pair: DiscretePair, epsilon: float) -> tuple[float, float]:
    p, q = np.array(pair.p), np.array(pair.q)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_p, of_q = np.log(p), np.log(q)
        # Logarithms are right to an ulp or two of themselves, their difference to half an ulp.
        loss, margin = of_p - of_q, 2.0**-50 * (np.abs(of_p) + np.abs(of_q))
        certain = (q == 0.0) & (epsilon < math.inf) | (loss - margin > epsilon)
        counted = (q == 0.0) | (loss + margin > epsilon)
    lower, upper = math.fsum(p[certain]), math.fsum(p[counted])
    return max(below(lower), 0.0), min(above(upper), 1.0) if upper else 0.0


def _pair(pair: Any) -> DominatingPair | CompiledPair:
    if isinstance(pair, DominatingPair | CompiledPair):
        return pair
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise TypeError(f"pair must be (p, q) or a DominatingPair, got {pair!r}")
    return DiscretePair(*pair)


class CommonPart(NamedTuple):
    """The least delta, and for each outcome the parts of p and q that the two events keep."""

    delta: float
    kept_p: Masses
    kept_q: Masses


def common_part(pair: tuple[Sequence[float], Sequence[float]], epsilon: float) -> CommonPart:
    """Split off the part on which two distributions differ by factors within exp(+-epsilon).

    A pair is (epsilon, delta)-indistinguishable exactly if there are events E of P and F of Q, each
    of probability at least 1 - delta, given which the distributions differ by factors within
    exp(+-epsilon). An event may depend on a coin beside the outcome, so it is given by the
    probability of each outcome that it keeps.

    Args:
        pair: P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9.
        epsilon: In [0, inf].

    Returns:
        ``delta`` is that of `indistinguishability`, rounded up. ``kept_p`` <= p and ``kept_q`` <= q
        are both of sum 1 - delta, and each is at most exp(epsilon) times the other, up to rounding:
        no events of greater probability achieve this. Divided by 1 - delta they are the laws given
        the events.

    min(p, e^epsilon q) and min(q, e^epsilon p) satisfy this except for their sums, which are 1 less
    the hockey-stick divergence of each order. The one with the larger sum is moved towards
    e^-epsilon times the other.

    Source: "A Tail of Two Densities", Claims 4, 5 and 7.

    >>> found = common_part(([0.4, 0.6], [0.6, 0.4]), 0.0)
    >>> round(found.delta, 12), found.kept_p.round(12).tolist()
    (0.2, [0.4, 0.4])
    """
    given = _pair(pair)
    if not isinstance(given, DiscretePair):
        raise TypeError(f"pair must be (p, q), got {pair!r}")
    p, q = np.array(given.p), np.array(given.q)
    bound = np.exp(min(epsilon_of(epsilon), 700.0))
    kept_p, kept_q = np.minimum(p, bound * q), np.minimum(q, bound * p)
    if kept_p.sum() < kept_q.sum():
        kept_q = _lowered(kept_q, kept_p / bound, float(kept_p.sum()))
    else:
        kept_p = _lowered(kept_p, kept_q / bound, float(kept_q.sum()))
    return CommonPart(indistinguishability(pair, epsilon=epsilon).delta, kept_p, kept_q)


def _lowered(kept: Masses, floor: Masses, total: float) -> Masses:
    """Return masses between ``floor`` and ``kept`` whose sum is ``total``, between their sums."""
    excess, most = float(kept.sum()) - total, float((kept - floor).sum())
    return kept - (kept - floor) * min(excess / most, 1.0) if excess > 0.0 < most else kept


def tail_from_guarantee(epsilon: float, delta: float, factor: float) -> float:
    """Bound P(L > factor epsilon) by delta / (1 - exp((1 - factor) epsilon)), rounded up.

    Args:
        epsilon, delta: Guarantee of the pair, epsilon in (0, inf), delta in [0, 1].
        factor: In (1, inf).

    Source: "A Tail of Two Densities", Claim 3.

    >>> round(tail_from_guarantee(1.0, 1e-5, 2.0), 10)
    1.58198e-05
    """
    epsilon, delta = number_in(epsilon, "epsilon", FINITE_POSITIVE), delta_of(delta)
    factor = number_in(factor, "factor", Range(1.0, math.inf, "()"))
    kept = below(-math.expm1(-below((factor - 1.0) * epsilon)))
    if delta == 0.0:
        return 0.0
    return min(above(delta / kept), 1.0) if kept > 0.0 else 1.0


def normal_tail_bound(t: float, form: NormalTail = "chernoff") -> float:
    """Bound the probability that a standard normal exceeds ``t``; at most 1, rounded up.

    Args:
        t: In (0, inf); 0 is permitted with "half".
        form ({"chernoff", "half", "mills"}): exp(-t^2/2); half of that; exp(-t^2/2) / (sqrt(2 pi)
            t), the smallest for t > 0.798.

    Source: "A Tail of Two Densities", Claim 8, inequalities (6.3) and (6.5).

    >>> [f"{normal_tail_bound(3.0, form):.5f}" for form in ("chernoff", "half", "mills")]
    ['0.01111', '0.00555', '0.00148']
    """
    one_of(form, "form", get_args(NormalTail))
    t = number_in(t, "t", FINITE_NON_NEGATIVE if form == "half" else FINITE_POSITIVE)
    offsets = {
        "chernoff": 0.0,
        "half": math.log(2.0),
        "mills": 0.5 * math.log(2.0 * math.pi) + (math.log(t) if t else -math.inf),
    }
    return exp_above(-0.5 * t * t - offsets[form], 0.5 * t * t)


def sum_tail_bound(t: float, bounds: npt.ArrayLike, counts: npt.ArrayLike = 1) -> float:
    """Bound the chance that a sum exceeds its mean by ``t``, exp(-t^2 / (2 sum b^2)), rounded up.

    Args:
        t: In [0, inf).
        bounds: ``b_i`` in [0, inf]: the i-th summand stays within ``b_i`` of some number
            (Hoeffding), or of one that the summands before it determine (Azuma).
        counts: Number of occurrences of each.

    Source: "A Tail of Two Densities", Claims 13 and 15.

    >>> round(sum_tail_bound(30.0, 1.0, 100), 6)
    0.011109
    """
    t = number_in(t, "t", FINITE_NON_NEGATIVE)
    width, _ = numbers_of(bounds, "bounds", 0.0, math.inf, "numbers in [0, inf]")
    count, _ = numbers_of(counts, "counts", 0.0, math.inf, "numbers in [0, inf]")
    width, count = np.broadcast_arrays(width, count)
    used = (count > 0.0) & (width > 0.0)
    total = math.hypot(*np.sqrt(count[used]) * width[used])
    if total == 0.0:
        return 1.0 if t == 0.0 else 0.0
    deviation = below(t / total)
    return exp_above(-0.5 * deviation * deviation)
