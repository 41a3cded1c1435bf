"""Two distributions: divergences, tails of their loss and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._rounding import above
from renyi._validation import delta_of, epsilon_of, real_of
from renyi.pairs import DiscretePair, DominatingPair, ReversedPair, delta_bounds, epsilon_bounds

__all__ = [
    "CommonPart",
    "approximate_max_divergence",
    "common_part",
    "discrete_pair",
    "hockey_stick",
    "indistinguishability_delta",
    "indistinguishability_epsilon",
    "loss_tail",
]


# How well two given distributions can be told apart: exact, in one order or in both.
#
# A pair is two sequences of probabilities, or a `renyi.pairs.DominatingPair`: `renyi.pairs` has the
# usual noises, and `renyi.pairs.DensityPair` takes log densities and integrates them piece by piece
# between the turning points of the loss, with certified bounds.


Pair = DominatingPair | tuple[Sequence[float], Sequence[float]]


def hockey_stick(pair: Pair, epsilon: float) -> tuple[float, float]:
    """Return bounds on sup over all sets S of P(S) - exp(epsilon) Q(S).

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or DominatingPair
        P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9, or what
        `renyi.pairs` knows of two densities.
    epsilon : float
        Any number.

    Returns
    -------
    lower, upper : float
        Enclose the supremum, which is E_P[(1 - exp(epsilon - L))_+].

    Raises
    ------
    TypeError, ValueError
        If the pair is none, or epsilon is not a number.

    Examples
    --------
    >>> lower, upper = hockey_stick(([0.4, 0.6], [0.6, 0.4]), 0.1)
    >>> lower <= upper, round(upper, 6)
    (True, 0.157932)
    """
    return delta_bounds([(_pair(pair), 1)], real_of(epsilon, "epsilon", "a number"))


def approximate_max_divergence(pair: Pair, delta: float) -> tuple[float, float]:
    """Return bounds on the delta-approximate max divergence of P from Q.

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or DominatingPair
        As in `hockey_stick`.
    delta : float
        In [0, 1].

    Returns
    -------
    lower, upper : float
        Enclose sup over all sets S with P(S) >= delta of log((P(S) - delta) / Q(S)), which is the
        least epsilon at which the hockey-stick divergence is at most delta; it may be negative.

    Raises
    ------
    TypeError, ValueError
        If the pair is none, or delta is not in [0, 1].

    References
    ----------
    Dwork, Roth 2014, Definition 3.8. (The supremum over sets; a maximum of
    log((p(y) - delta) / q(y)) over points is something else, and smaller.)

    Examples
    --------
    >>> lower, upper = approximate_max_divergence(([0.4, 0.6], [0.6, 0.4]), 0.1)
    >>> lower <= upper, round(upper, 6)  # log((0.6 - 0.1) / 0.4)
    (True, 0.223144)
    """
    return epsilon_bounds([(_pair(pair), 1)], delta_of(delta))


def indistinguishability_delta(pair: Pair, epsilon: float) -> float:
    """Return the least delta such that P and Q are (epsilon, delta)-indistinguishable.

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or DominatingPair
        As in `hockey_stick`.
    epsilon : float
        Any number.

    Returns
    -------
    float
        The larger one of both orders, rounded up.

    Raises
    ------
    TypeError, ValueError
        If the pair is none, or epsilon is not a number.

    Examples
    --------
    >>> from renyi import pairs
    >>> round(indistinguishability_delta(pairs.LaplacePair(1.0), 0.5), 6)
    0.221199
    """
    forth = _pair(pair)
    return max(hockey_stick(one, epsilon)[1] for one in (forth, ReversedPair(forth)))


def indistinguishability_epsilon(pair: Pair, delta: float) -> float:
    """Return the least epsilon >= 0 such that P and Q are (epsilon, delta)-indistinguishable.

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or DominatingPair
        As in `hockey_stick`.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        The larger one of both orders, rounded up; infinity where no epsilon will do.

    Raises
    ------
    TypeError, ValueError
        If the pair is none, or delta is not in [0, 1].

    Examples
    --------
    >>> round(indistinguishability_epsilon(([0.4, 0.6], [0.6, 0.4]), 1 / 3), 6)
    0.0
    """
    forth = _pair(pair)
    ends = [approximate_max_divergence(one, delta)[1] for one in (forth, ReversedPair(forth))]
    return max(*ends, 0.0)


def loss_tail(pair: tuple[Sequence[float], Sequence[float]], epsilon: float) -> float:
    """Return the probability under P that the privacy loss log(p/q) exceeds ``epsilon``.

    The worse of both orders is a delta for this epsilon, never below `indistinguishability_delta`.

    Parameters
    ----------
    pair : (sequence of float, sequence of float)
        P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9.
    epsilon : float
        Any number.

    Returns
    -------
    float
        Rounded up; an outcome whose loss is ``epsilon`` up to rounding counts.

    Raises
    ------
    TypeError, ValueError
        If the probabilities are none, or epsilon is not a number.

    References
    ----------
    "A Tail of Two Densities", Claims 1 and 2.

    Examples
    --------
    >>> [round(loss_tail(([0.4, 0.6], [0.6, 0.4]), at), 12) for at in (0.3, 0.41)]
    [0.6, 0.0]
    """
    checked = discrete_pair(pair)
    p, q = np.array(checked.p), np.array(checked.q)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_p, of_q = np.log(p), np.log(q)
        # Logarithms are right to an ulp or two of themselves, their difference to half an ulp.
        largest = of_p - of_q + 2.0**-50 * (np.abs(of_p) + np.abs(of_q))
    counted = (q == 0.0) | (largest > real_of(epsilon, "epsilon", "a number"))
    mass = math.fsum(p[counted])
    return min(above(mass), 1.0) if mass else 0.0


def _pair(pair: Pair) -> DominatingPair:
    if isinstance(pair, DominatingPair):
        return pair
    return discrete_pair(pair, "(p, q) or a DominatingPair")


def discrete_pair(pair: Any, allowed: str = "(p, q)") -> DiscretePair:
    """Return two sequences of probabilities, checked."""
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise TypeError(f"pair must be {allowed}, got {pair!r}")
    return DiscretePair(*pair)


# What two distributions have in common: the events on which their losses are bounded.
#
# A pair is (epsilon, delta)-indistinguishable exactly if there are events E of P and F of Q, each
# of probability at least 1 - delta, given which the distributions differ by factors within
# exp(+-epsilon). An event may depend on a coin beside the outcome, so it is given by how much of
# the probability of each outcome it keeps.


Masses = npt.NDArray[np.float64]


class CommonPart(NamedTuple):
    """The least delta, and of each outcome the parts of p and q that the two events keep."""

    delta: float
    kept_p: Masses
    kept_q: Masses


def common_part(pair: tuple[Sequence[float], Sequence[float]], epsilon: float) -> CommonPart:
    """Split off the part on which two distributions differ by factors within exp(+-epsilon).

    Parameters
    ----------
    pair : (sequence of float, sequence of float)
        P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9.
    epsilon : float
        In [0, inf].

    Returns
    -------
    CommonPart
        ``delta`` is `indistinguishability_delta`, rounded up. ``kept_p`` <= p and ``kept_q`` <= q
        are both of sum 1 - delta, and each is at most exp(epsilon) times the other, up to rounding:
        no events of greater probability do it.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    min(p, e^epsilon q) and min(q, e^epsilon p) do, but for their sums, 1 less the hockey-stick
    divergence of each order. The one of larger sum is moved towards e^-epsilon times the other.

    References
    ----------
    "A Tail of Two Densities", Claims 4, 5 and 7.

    Examples
    --------
    >>> found = common_part(([0.4, 0.6], [0.6, 0.4]), 0.0)
    >>> round(found.delta, 12), found.kept_p.round(12).tolist()
    (0.2, [0.4, 0.4])
    """
    given = discrete_pair(pair)
    p, q = np.array(given.p), np.array(given.q)
    bound = np.exp(min(epsilon_of(epsilon), 700.0))
    kept_p, kept_q = np.minimum(p, bound * q), np.minimum(q, bound * p)
    if kept_p.sum() < kept_q.sum():
        kept_q = _lowered(kept_q, kept_p / bound, float(kept_p.sum()))
    else:
        kept_p = _lowered(kept_p, kept_q / bound, float(kept_q.sum()))
    return CommonPart(indistinguishability_delta(pair, epsilon), kept_p, kept_q)


def _lowered(kept: Masses, floor: Masses, total: float) -> Masses:
    """Return masses between ``floor`` and ``kept``, of the given sum between theirs."""
    excess, room = float(kept.sum()) - total, float((kept - floor).sum())
    return kept - (kept - floor) * min(excess / room, 1.0) if excess > 0.0 < room else kept
