"""Moments of the privacy loss: their conversion to (epsilon, delta), and constants that bound them.

With kappa(t) = log E_P[exp(t L)] of the privacy loss L = log dP/dQ, which is t D_{1+t}(P||Q),
Markov's inequality gives P(L > epsilon) <= exp(kappa(t) - epsilon t) for every t > 0, so
delta = exp(-kappa*(epsilon)) with the Legendre transform kappa*(epsilon) = sup_t (epsilon t -
kappa(t)). Moments of compositions add up. Take the larger kappa of both orders of the pair; the
adjacency is that of the pair. `renyi.RDPAccountant` with ``conversion="mironov"`` does the same for
mechanisms, and its other conversions do better.

>>> from renyi import Gaussian
>>> round(dp_from_moments(moments_of(Gaussian(2.0)), delta=1e-5, count=2).epsilon, 5)
3.64307
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._adjacency import Adjacency
from renyi._rounding import MARGIN, above, count_above, exp_above
from renyi._search import bisected, least_value
from renyi._validation import (
    FINITE_POSITIVE,
    NON_NEGATIVE,
    RATE,
    Range,
    check_one_missing,
    delta_of,
    epsilon_of,
    number_in,
    real_of,
)
from renyi.accountants import RDPAccountant
from renyi.mechanisms import Mechanism
from renyi.theory.indistinguishability import Guarantee

__all__ = [
    "dp_from_moments",
    "dp_from_rdp",
    "log_moment_constant",
    "moments_of",
    "moments_theorem_constant",
]
__dir__ = __all__.copy

Array = npt.NDArray[np.float64]
LogMoment = Callable[[float], float]

_LEAST, _MOST = 1e-6, 0.999e6  # range of t: orders up to 1e6


def dp_from_rdp(
    order: float, rdp: float, *, epsilon: float | None = None, delta: float | None = None
) -> Guarantee:
    """Return the guarantee of (order, rdp)-Rényi privacy at an epsilon, or at a delta.

    Args:
        order, rdp, epsilon: In (1, inf], [0, inf] and [0, inf].
        delta: In [0, 1]. Either epsilon or delta has to be given.

    Returns:
        delta = exp((order - 1) (rdp - epsilon)), 1 for epsilon <= rdp, or epsilon = rdp +
        log(1/delta)/(order - 1); rounded up.

    Source: "Great but Manageable Expectations", Claim 21 (1) and (3); Mironov 2017, arXiv
    1702.07476, Prop. 3.

    >>> round(dp_from_rdp(10.0, 1.0, delta=1e-5).epsilon, 4)
    2.2792
    """
    check_one_missing(epsilon=epsilon, delta=delta)
    more = number_in(order, "order", Range(1.0, math.inf, "(]")) - 1.0
    rdp = number_in(rdp, "rdp", NON_NEGATIVE)
    if epsilon is not None:
        target = epsilon_of(epsilon)
        if rdp >= target:
            return Guarantee(target, 1.0)
        if math.inf in (more, target):
            return Guarantee(target, 0.0)
        return Guarantee(target, exp_above(more * (rdp - target), more * (rdp + target)))
    chance = delta_of(delta)
    if chance == 1.0:
        return Guarantee(0.0, chance)
    if math.inf in (more, rdp):
        return Guarantee(rdp, chance)
    return Guarantee(above(rdp - math.log(chance) / more) if chance > 0.0 else math.inf, chance)


def moments_of(mechanism: Mechanism, *, adjacency: Adjacency = "add_remove") -> LogMoment:
    """Return kappa(t) = t D_{1+t} for t in [0, 999999], the larger one of both orders, rounded up.

    Args:
        mechanism: A mechanism that `renyi.RDPAccountant` takes and that cannot fail.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.

    Raises:
        TypeError, ValueError: If the accountant refuses the mechanism.

    >>> from renyi import Gaussian
    >>> round(moments_of(Gaussian(2.0))(3.0), 12)  # t (t + 1) / (2 sigma^2)
    1.5
    """
    account = RDPAccountant(adjacency=adjacency).compose(mechanism)
    return lambda t: above(t * float(account.get_rdp(1.0 + t)))


def dp_from_moments(
    kappa: LogMoment, *, epsilon: float | None = None, delta: float | None = None, count: int = 1
) -> Guarantee:
    """Return the guarantee of ``count`` uses at an epsilon, or at a delta, by their moments.

    Args:
        kappa: Logarithm of a moment of the privacy loss, or an upper bound, for t in [1e-6,
            999999]; infinity where there is none.
        epsilon, delta: In [0, inf] and (0, 1]. Either of them has to be given.
        count: Number of uses, at least 1, adaptive or not.

    Returns:
        delta = exp(-count kappa*(epsilon/count)), at most 1, or epsilon = inf over t of (count
        kappa(t) + log(1/delta))/t; rounded up. The search for t may miss the best one; every t
        gives a guarantee.

    Source: "Great but Manageable Expectations", Claims 20, 21 (2), (3) and 23.

    >>> kappa = lambda t: t * (t + 1.0) / 8.0  # Gaussian noise of multiplier 2
    >>> round(dp_from_moments(kappa, delta=1e-5, count=2).epsilon, 6)
    3.64307
    """
    check_one_missing(epsilon=epsilon, delta=delta)
    uses = count_above(count, "count")
    if epsilon is not None:
        target = epsilon_of(epsilon)
        if target == math.inf:
            return Guarantee(target, 0.0)
        _, exponent = least_value(
            lambda t: _excess(uses * _moment(kappa, t), target * t), _LEAST, _MOST
        )
        return Guarantee(target, exp_above(exponent))
    chance = number_in(delta, "delta", RATE)
    depth = -math.log(chance)
    _, found = least_value(lambda t: (uses * _moment(kappa, t) + depth) / t, _LEAST, _MOST)
    return Guarantee(max(above(found), 0.0), chance)


def _moment(kappa: LogMoment, t: float) -> float:
    """Return kappa(t), at least 0, as every moment of a privacy loss is."""
    return max(real_of(kappa(t), "kappa", "a function with values in [0, inf]"), 0.0)


def _excess(moment: float, gain: float) -> float:
    """Return moment - gain, rounded up."""
    if math.isinf(moment) or math.isinf(gain):
        return moment if math.isinf(moment) else -gain
    return moment - gain + MARGIN * (moment + gain)


# The constant C(c1, c2) that bounds the moments of the sampled Gaussian mechanism.
#
# G_l = E_{N(0, s^2)}[(1 - r + r exp((2z-1)/(2 s^2)))^l] of whole order l, sampling rate r and noise
# multiplier s is at most C(c1, c2) wherever r <= c1/s and l <= c2 s^2. As G rises with r and l and
# falls with s,
#
#     C(c1, c2) = sup over l >= 1 of E[exp(c2 J (J-1) / (2 l))],  J ~ Bin(l, min(1, c1 sqrt(c2/l))),
#
# and the terms tend to exp(c1^2 c2^2 / 2). It is at least that, and grows doubly exponentially in
# c2.
#
# The supremum is bounded in three parts: every l up to 600 by the engine's certified moments; the
# others up to 10^6 in blocks, r and s from the first order of a block and l from its last, which
# costs a relative 2e-3 of the logarithm for c2 up to 2, 1e-2 for 9; and beyond by a closed form,
# below.
#
# Beyond: with v = sqrt(c2/l), N normal and W = (exp(v N - v^2/2) - 1)/v, of mean 0, G = E[(1 + c1
# v^2 W)^(c2/v^2)]. Put a = c1 c2. For N <= A, log(1 + y) <= y leaves E[exp(a W)] there, which is
# bounded in two ways, the better of which holds:
#
# * exp(x) - 1 <= x + x^2 exp(max(x, 0))/2 leaves E[exp(a M + b M^2/2)] of M = N - v/2 and
#   b = a v exp(v A), at most exp((a^2/2 + (b - a v)/2 + b v^2/8) / (1 - b));
# * exp(x) <= 1 + x + x^2/2 + x^3/6 + x^4 exp(max(x, 0))/24 leaves, as odd moments of W up to A are
#   at most those of all of it, 1 + a^2 m_2/2 + a^3 m_3/6 + a^4 m_4 exp(a W(A))/24 with m_2 =
#   (exp(v^2) - 1)/v^2 and what m_3 and m_4 of a lognormal variable are.
#
# Both rise with v. For N > A the logarithm is at most k N^2/2 with k the largest
# 2 c2 log(1 + c1 v (exp(u) - 1)) / u^2 over u = v N: up to u = 1 at most 2 a (e - 1)/A, beyond it
# rises with v and is bounded on blocks of u, from 4 c2 on by 2 c2/u. What they add is
# Qbar(A sqrt(1 - k)) / sqrt(1 - k). The domain is where b and k stay below 1.
#
# "Great but Manageable Expectations", Claim 26, with the exponent of its second part corrected; the
# moment bound is that of Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016.

LEAST_C2 = 1e-6
_C2 = Range(LEAST_C2, math.inf, "[)")
_EACH = 600  # orders one by one
_LAST = 10**6  # the largest order of the engine
_LEAST_RATE = 1e-12  # least rate of the engine
_WIDTH = 1e-3  # relative width of a block
_BLOCKS = 0.02  # width of a block of u
_REACHES = (8.0, 10.0, 12.0, 15.0, 20.0, 30.0)  # values of A, beyond 8 a


def log_moment_constant(c1: float, c2: float) -> float:
    """Return an upper bound of log C(c1, c2).

    Args:
        c1: Bound of sampling rate times noise multiplier, in (0, inf).
        c2: Bound of order over squared noise multiplier, in [1e-6, inf).

    Returns:
        A number above the supremum, by a relative 3e-3 at most for c1 c2 >= 1e-4 and c2 <= 2, by
        1.2e-2 for c2 up to 10; by about 1e-12 where the largest term is one of the orders up to
        600.

    Raises:
        ValueError: If an argument is out of range, or so large that nothing is proven for orders
            above 10^6: about c2 > 10, or c1 c2 > 40.

    >>> round(log_moment_constant(1.0, 1.0), 4), round(log_moment_constant(0.25, 2.0), 4)
    (0.5867, 0.1583)
    """
    c1 = number_in(c1, "c1", FINITE_POSITIVE)
    return _log_constant(c1, number_in(c2, "c2", _C2))


@lru_cache(maxsize=1024)
def _log_constant(c1: float, c2: float) -> float:
    beyond = _log_moment_beyond(c1, c2)
    first, last = _blocks()
    ratio = np.sqrt(c2 / first) * (1.0 + MARGIN)
    rate = np.clip(c1 * ratio * (1.0 + MARGIN), _LEAST_RATE, 1.0)
    found = special.log_a_upper(rate, 1.0 / ratio, last)
    return max(float(np.max(found)), beyond)


@lru_cache(maxsize=1)
def _blocks() -> tuple[Array, Array]:
    """Return the first and the last order of every block from 2 on; order 1 has G = 1."""
    ends = list(range(2, _EACH + 1))
    while ends[-1] < _LAST:
        ends.append(min(math.floor(ends[-1] * (1.0 + _WIDTH)) + 1, _LAST))
    last = np.array(ends, dtype=np.float64)
    return np.append(2.0, last[:-1] + 1.0), last


def _log_moment_beyond(c1: float, c2: float) -> float:
    """Bound log G for all orders l from 10^6, whole or not, r = c1/s at most and l = c2 s^2."""
    v, a = math.sqrt(c2 / _LAST) * (1.0 + MARGIN), c1 * c2
    steepest = _steepest(c1, c2, v)
    found, b, k = min(_beyond_by(a, v, reach + 8.0 * a, steepest) for reach in _REACHES)
    if not (math.isfinite(found) and c1 * v <= 1.0):
        raise ValueError(
            "c1 and c2 must be small enough for the bound beyond order 10^6 (b = "
            f"{b:.3g} below 0.5 and k = {k:.3g} below 0.95), got {c1!r} and {c2!r}"
        )
    return found


def _beyond_by(a: float, v: float, reach: float, steepest: float) -> tuple[float, float, float]:
    """Return the bound with A = reach, or infinity, and its b and k."""
    b = a * v * math.exp(min(v * reach, 700.0))
    k = max(2.0 * a * (math.e - 1.0) / reach, steepest)
    if not (b < 0.5 and k < 0.95):
        return math.inf, b, k
    bulk = (0.5 * a * a + 0.5 * a * v * math.expm1(v * reach) + 0.125 * b * v * v) / (1.0 - b)
    left = math.sqrt(1.0 - k)
    tail = 0.5 * math.erfc(reach * left / math.sqrt(2.0)) / left
    bulk = min(bulk, _bulk_by_moments(a, v, reach))
    return above(bulk + math.log1p(above(tail))), b, k


def _bulk_by_moments(a: float, v: float, reach: float) -> float:
    """Bound log E[exp(a W); N <= reach]; m_3 and m_4 by bounds of the series of their numerators.

    With p = v^2 <= 1/16: e^3p - 3 e^p + 2 <= 3 p^2 (1 + 2p) and e^6p - 4 e^3p + 6 e^p - 3 <= 3 p^2
    (1 + 8p), as in both series what follows p^2, over p^3, rises with p and holds at 1/16.
    """
    p = v * v
    if p > 1.0 / 16.0:
        return math.inf
    second, third, fourth = math.expm1(p) / p, 3.0 * v * (1.0 + 2.0 * p), 3.0 * (1.0 + 8.0 * p)
    raised = math.exp(min(a * math.expm1(v * reach) / v, 700.0))
    return math.log1p(a * a * (second / 2.0 + a * third / 6.0 + a * a * fourth * raised / 24.0))


def _steepest(c1: float, c2: float, v: float) -> float:
    """Bound 2 c2 log(1 + c1 v (e^u - 1)) / u^2 over u >= 1."""
    u = np.arange(1.0, max(4.0 * c2, 2.0), _BLOCKS)
    if not u[-1] < 600.0:
        return math.inf
    found = 2.0 * c2 * np.log1p(c1 * v * np.expm1(u + _BLOCKS)) / (u * u)
    return above(max(float(np.max(found)), 2.0 * c2 / u[-1]))


# The theorem of the moments accountant, with constants: what its "there are c1, c2" can be.
#
# Abadi and others 2016, arXiv 1607.00133, Theorem 1: there are c1, c2 so that T steps on Poisson
# samples of rate r are (epsilon, delta)-private for every epsilon < c1 r^2 T if the noise
# multiplier s is at least c2 r sqrt(T log(1/delta)) / epsilon. As it stands no c2 will do: for a
# delta near 1 it asks for no noise. With x = log(1/delta)/epsilon >= depth and, as in their proof,
# r s <= 1/16 it has constants. Put c = epsilon/(r^2 T) <= c1, so that s^2 = c2^2 x / c. By
# Chernoff, delta is at most exp(T log A - (alpha-1) epsilon) with A the moment of order alpha, and
# T cancels:
#
#     log A(r, s, alpha) <= c r^2 (alpha - 1 - x)   for one alpha       (*)
#
# is enough; if it fails for all alpha, large T fail (Cramer's theorem). It is enough to have (*)
# with A - 1 in place of log A at the largest rate r = min(1/(16 s), 1) and at c = c1. For alpha >=
# 2, with X log-normal of mean 1, log X normal of variance p = 1/s^2, and Y = X - 1:
#
# * (A-1)/r^2 does not fall with r: its derivative is a positive mean of E[Y^3 (1 + wY)^(alpha-3)],
#   0 <= w <= 1, which rises with alpha and falls with w, and is E[Y^3/(1+Y)] = 0 at alpha 2, w 1.
# * (A-1)/p does not fall with p: d/dp E f(X) = E[X^2 f''(X)]/2, where x^2 (1-r+rx)^(alpha-2) is
#   convex and X a martingale in p, so that A - 1 is convex in p, and 0 at p = 0.
# * so (A-1)/(r^2 p) at r = min(sqrt(p)/16, 1) does not fall with p, and that over c2^2 x, as p is
#   c/(c2^2 x), is what (*) compares with alpha - 1 - x: the largest c is the worst.
#
# What is left is an x from depth on. It is swept in intervals, noise from the lower end, what is
# permitted from the upper one; beyond, alpha is a multiple of s^2 above 10^6, and A has the bound
# `_log_moment_beyond`. In the limit r -> 0 losses are normal and (*) becomes
# c2^2 >= c/(x log(1 + c m)), m = (sqrt(2x + 2) - sqrt(2x))^2, which no constant can be below.


_SHARE = Range(1e-6, 10.0, "[]")
_DEPTH = Range(0.5, 1e4, "[]")
_LARGEST_PRODUCT = 1.0 / 16.0  # largest product of rate and noise
_ORDERS = np.linspace(0.4, 1.0, 16)  # orders tried, relative to the best in the limit
_LARGEST_ORDER = 1e6
_WIDEST, _NARROWEST = 0.05, 3e-4  # relative widths of intervals of x
_DOWN = 1.0 - 1e-12  # for a few roundings


def moments_theorem_constant(c1: float, *, depth: float = 1.0) -> float:
    """Return a c2 next to the smallest one for which the theorem is proven with c1.

    The noise that the theorem asks for is c2 r sqrt(T log(1/delta)) / epsilon; it says nothing
    where the rate r times this noise is above 1/16.

    Args:
        c1: In [1e-6, 10].
        depth: The theorem is for log(1/delta) >= depth * epsilon; in [0.5, 1e4].

    Returns:
        A constant for every rate r and noise s with r s <= 1/16, and every number of steps. It
        exceeds the smallest such constant by less than 0.1 % for c1 up to 1, by 3 % up to 10. For
        c1 -> 0 and large depth it is near sqrt(2).

    >>> round(moments_theorem_constant(1.0), 3), round(moments_theorem_constant(1e-3, depth=100), 3)
    (1.856, 1.418)
    """
    return _constant(number_in(c1, "c1", _SHARE), number_in(depth, "depth", _DEPTH))


@lru_cache(maxsize=256)
def _constant(c1: float, depth: float) -> float:
    """Return the least constant that is proven to hold, to 5e-5, by bisection from the limit."""
    found = least_value(lambda x: -_limit_square(c1, x), depth, 1e6 * depth)[1]
    low = math.sqrt(max(-found, _limit_square(c1, depth), 2.0))
    high = low * (1.0 + 1e-3)
    while not _holds(c1, depth, high):
        low, high = high, high * (high / low) ** 2
    return bisected(lambda c2: _holds(c1, depth, c2), low, high, 5e-5)[1]


def _limit_square(c: float, x: float) -> float:
    """Return a lower bound of c2^2, from the limit of rates to 0; it rises with c."""
    return c / (x * math.log1p(c * _limit_share(x)))


def _limit_share(x: float) -> float:
    """Return (sqrt(2x + 2) - sqrt(2x))^2 without cancellation."""
    return (2.0 / (math.sqrt(2.0 * x + 2.0) + math.sqrt(2.0 * x))) ** 2


def _holds(c1: float, depth: float, c2: float) -> bool:
    """Return whether (*) is proven for every x from depth on."""
    beyond = _noise_beyond(c1, c2)
    if not math.isfinite(beyond):
        return False
    last = max(beyond**2 * c1 / c2**2, depth) * (1.0 + 1e-9)
    ends = np.geomspace(depth, last, math.ceil(math.log(last / depth) / math.log1p(_WIDEST)) + 1)
    ends[0] = depth
    low, high = ends[:-1], ends[1:]
    while len(low):
        wrong = ~_proven(c1, c2, low, high)
        low, high = low[wrong], high[wrong]
        if len(low) and float(np.min(high / low)) < 1.0 + _NARROWEST:
            return False
        middle = np.sqrt(low * high)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return True


def _proven(c1: float, c2: float, low: Array, high: Array) -> npt.NDArray[np.bool_]:
    """Return for which intervals one of the orders has (*), A - 1 for log A."""
    noise = c2 * np.sqrt(low / c1) * _DOWN
    rate = np.minimum(_LARGEST_PRODUCT / noise, 1.0) / _DOWN
    best = 0.5 + np.array([1.0 / _limit_share(x) for x in low.tolist()])
    order = np.clip(best[:, None] * _ORDERS, 2.0, _LARGEST_ORDER)
    rate = np.minimum(rate, 1.0)[:, None]
    with np.errstate(over="ignore"):
        excess = np.expm1(special.log_a_upper(rate, noise[:, None], order)) / rate**2
    permitted = c1 * (order - 1.0 - high[:, None])
    return np.asarray((excess <= permitted * _DOWN).any(axis=1))


def _noise_beyond(c1: float, c2: float) -> float:
    """Return a noise from which on (*) is proven with orders that are a multiple of its square."""
    for factor in (2.0 * _ORDERS[::-1] * c1 / c2**2).tolist():
        noise = math.sqrt(_LARGEST_ORDER / factor)
        excess = math.expm1(_log_moment_beyond(_LARGEST_PRODUCT, factor)) / _LARGEST_PRODUCT**2
        if excess <= c1 * (factor - c1 / c2**2 - noise**-2) * _DOWN:
            return noise / _DOWN
    return math.inf
