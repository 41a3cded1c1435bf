"""From moments or Rényi divergences to (epsilon, delta) and back."""

from __future__ import annotations

import math
from collections.abc import Callable

from renyi._adjacency import Adjacency
from renyi._rounding import MARGIN, above, count_above, exp_above
from renyi._search import least_value
from renyi._validation import NON_NEGATIVE, Range, delta_of, epsilon_of, number_in, real_of
from renyi.accountants import RDPAccountant
from renyi.mechanisms import Mechanism

__all__ = [
    "LogMoment",
    "delta_from_moments",
    "delta_from_rdp",
    "epsilon_from_moments",
    "epsilon_from_rdp",
    "moments_of",
]


# From moments of the privacy loss to (epsilon, delta), by the Legendre transform.
#
# With kappa(t) = log E_P[exp(t L)] of the privacy loss L = log dP/dQ, which is t D_{1+t}(P||Q),
# Markov's inequality gives P(L > epsilon) <= exp(kappa(t) - epsilon t) for every t > 0, so
# delta = exp(-kappa*(epsilon)) with kappa*(epsilon) = sup_t (epsilon t - kappa(t)). Moments of
# compositions add up. Take the larger kappa of both orders of the pair; the adjacency is theirs.
# `renyi.RDPAccountant` with ``conversion="mironov"`` does the same for mechanisms, and its other
# conversions do better.


LogMoment = Callable[[float], float]


_ORDER = Range(1.0, math.inf, "(]")


_LEAST, _MOST = 1e-6, 0.999e6  # of t: orders up to 1e6


def delta_from_rdp(order: float, rdp: float, epsilon: float) -> float:
    """Return the delta of an (order, rdp)-Rényi-private mechanism at ``epsilon``.

    Parameters
    ----------
    order : float
        In (1, inf].
    rdp : float
        In [0, inf].
    epsilon : float
        In [0, inf].

    Returns
    -------
    float
        exp((order - 1) (rdp - epsilon)), 1 for epsilon <= rdp, rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claim 21 (1); Mironov 2017, arXiv 1702.07476, Prop. 3.

    Examples
    --------
    >>> f"{delta_from_rdp(10.0, 1.0, 2.5):.4e}"
    '1.3710e-06'
    """
    order = number_in(order, "order", _ORDER)
    rdp, epsilon = number_in(rdp, "rdp", NON_NEGATIVE), epsilon_of(epsilon)
    if rdp >= epsilon:
        return 1.0
    if order == math.inf or epsilon == math.inf:
        return 0.0
    return exp_above((order - 1.0) * (rdp - epsilon), (order - 1.0) * (rdp + epsilon))


def epsilon_from_rdp(order: float, rdp: float, delta: float) -> float:
    """Return the epsilon of an (order, rdp)-Rényi-private mechanism at ``delta``.

    Parameters
    ----------
    order : float
        In (1, inf].
    rdp : float
        In [0, inf].
    delta : float
        In [0, 1].

    Returns
    -------
    float
        rdp + log(1/delta)/(order - 1), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claim 21 (3); Mironov 2017, arXiv 1702.07476, Prop. 3.

    Examples
    --------
    >>> round(epsilon_from_rdp(10.0, 1.0, 1e-5), 4)
    2.2792
    """
    order = number_in(order, "order", _ORDER)
    rdp, delta = number_in(rdp, "rdp", NON_NEGATIVE), delta_of(delta)
    if delta == 1.0:
        return 0.0
    if order == math.inf or rdp == math.inf:
        return rdp
    return above(rdp - math.log(delta) / (order - 1.0)) if delta > 0.0 else math.inf


def moments_of(mechanism: Mechanism, *, adjacency: Adjacency = "add_remove") -> LogMoment:
    """Return kappa(t) = t D_{1+t} of a mechanism, the larger one of both orders, rounded up.

    Parameters
    ----------
    mechanism : Mechanism
        What `renyi.RDPAccountant` takes and what cannot fail.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.

    Returns
    -------
    callable
        For t in [0, 999999].

    Raises
    ------
    TypeError, ValueError
        If the accountant refuses the mechanism.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> round(moments_of(Gaussian(2.0))(3.0), 12)  # t (t + 1) / (2 sigma^2)
    1.5
    """
    account = RDPAccountant(adjacency=adjacency).compose(mechanism)
    return lambda t: above(t * float(account.get_rdp(1.0 + t)))


def delta_from_moments(kappa: LogMoment, epsilon: float, *, count: int = 1) -> float:
    """Return exp(-count kappa*(epsilon/count)), the delta of ``count`` uses at ``epsilon``.

    Parameters
    ----------
    kappa : callable
        Logarithm of a moment of the privacy loss, or an upper bound, for t in [1e-6, 999999];
        infinity where there is none.
    epsilon : float
        In [0, inf].
    count : int
        Number of uses, at least 1, adaptive or not.

    Returns
    -------
    float
        At most 1, rounded up. The search for t may miss the best one; every t gives a guarantee.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claims 20, 21 (2) and 23.

    Examples
    --------
    >>> f"{delta_from_moments(lambda t: t * (t + 1.0) / 8.0, 2.0, count=2):.6f}"
    '0.046771'
    """
    epsilon, uses = epsilon_of(epsilon), count_above(count, "count")
    if epsilon == math.inf:
        return 0.0
    _, exponent = least_value(
        lambda t: _excess(uses * _moment(kappa, t), epsilon * t), _LEAST, _MOST
    )
    return exp_above(exponent)


def epsilon_from_moments(kappa: LogMoment, delta: float, *, count: int = 1) -> float:
    """Return inf over t of (count kappa(t) + log(1/delta))/t, the epsilon of ``count`` uses.

    Parameters
    ----------
    kappa, count
        As in `delta_from_moments`.
    delta : float
        In (0, 1].

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claims 21 (3) and 23.

    Examples
    --------
    >>> round(epsilon_from_moments(lambda t: t * (t + 1.0) / 8.0, 1e-5, count=2), 6)
    3.64307
    """
    delta = number_in(delta, "delta", Range(0.0, 1.0, "(]"))
    uses = count_above(count, "count")
    depth = -math.log(delta)
    _, found = least_value(lambda t: (uses * _moment(kappa, t) + depth) / t, _LEAST, _MOST)
    return max(above(found), 0.0)


def _moment(kappa: LogMoment, t: float) -> float:
    """Return kappa(t), not below 0, which no moment of a privacy loss is."""
    return max(real_of(kappa(t), "kappa", "a function with values in [0, inf]"), 0.0)


def _excess(moment: float, gain: float) -> float:
    """Return moment - gain, rounded up."""
    if math.isinf(moment) or math.isinf(gain):
        return moment if math.isinf(moment) else -gain
    return moment - gain + MARGIN * (moment + gain)
