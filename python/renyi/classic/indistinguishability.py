"""How well two given distributions can be told apart: exact, in one order or in both.

A pair is two sequences of probabilities, or a `renyi.pld.PrivacyLossDistribution`: `renyi.pld`
has the usual noises, and `renyi.pld.Density` takes log densities and integrates them piece by
piece between the turning points of the loss, with certified bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from renyi._validation import delta_of, real_of
from renyi.classic._rounding import above
from renyi.pld import (
    Discrete,
    PrivacyLossDistribution,
    Reversed,
    delta_bounds,
    epsilon_bounds,
)

__all__ = [
    "approximate_max_divergence",
    "discrete_pair",
    "hockey_stick",
    "indistinguishability_delta",
    "indistinguishability_epsilon",
    "loss_tail",
]

Pair = PrivacyLossDistribution | tuple[Sequence[float], Sequence[float]]


def hockey_stick(pair: Pair, epsilon: float) -> tuple[float, float]:
    """Return bounds on sup over all sets S of P(S) - exp(epsilon) Q(S).

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or PrivacyLossDistribution
        P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9, or what `renyi.pld`
        knows of two densities.
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
    pair : (sequence of float, sequence of float) or PrivacyLossDistribution
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
    pair : (sequence of float, sequence of float) or PrivacyLossDistribution
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
    >>> from renyi import pld
    >>> round(indistinguishability_delta(pld.Laplace(1.0), 0.5), 6)
    0.221199
    """
    forth = _pair(pair)
    return max(hockey_stick(one, epsilon)[1] for one in (forth, Reversed(forth)))


def indistinguishability_epsilon(pair: Pair, delta: float) -> float:
    """Return the least epsilon >= 0 such that P and Q are (epsilon, delta)-indistinguishable.

    Parameters
    ----------
    pair : (sequence of float, sequence of float) or PrivacyLossDistribution
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
    ends = [approximate_max_divergence(one, delta)[1] for one in (forth, Reversed(forth))]
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


def _pair(pair: Pair) -> PrivacyLossDistribution:
    if isinstance(pair, PrivacyLossDistribution):
        return pair
    return discrete_pair(pair, "(p, q) or a PrivacyLossDistribution")


def discrete_pair(pair: Any, allowed: str = "(p, q)") -> Discrete:
    """Return two sequences of probabilities, checked."""
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise TypeError(f"pair must be {allowed}, got {pair!r}")
    return Discrete(*pair)
