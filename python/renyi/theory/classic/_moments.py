"""The moments accountant with its constant computed, and the noise it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from renyi import special
from renyi._rounding import MARGIN, above, below, count_above, exp_above
from renyi._search import least_argument
from renyi._validation import (
    FINITE_POSITIVE,
    NON_NEGATIVE,
    Range,
    delta_of,
    epsilon_of,
    number_in,
    one_of,
)
from renyi.theory.classic._moments_theorem import LEAST_C2, log_moment_constant
from renyi.theory.classic._routes import subsampled

__all__ = [
    "MomentBound",
    "NoiseForMoments",
    "RelaxedMoment",
    "moment_bound_delta",
    "moment_bound_epsilon",
    "moment_bound_noise",
    "relaxed_log_moment",
    "subsampled_rdp",
]


# Moments of subsampled mechanisms, and the moment bound of DP-SGD with a constant.
#
# `subsampled_rdp` is for a uniform sample of fixed size, neighbours differing in one replaced
# record, and for a Poisson sample, neighbours differing by one record more or less. The moment
# bound is for Gaussian noise on Poisson samples, one record more or less.


MomentForm = Literal["halved", "direct"]


_ORDER = Range(1.0, math.inf, "()")


_RATE = Range(0.0, 1.0, "(]")


_LARGEST_C2 = 13.0


_LARGEST_ORDER = 10**6


class MomentBound(NamedTuple):
    """What the moment bound gives, and its order l, c2 and log C(c1, c2); order 0: nothing."""

    epsilon: float
    delta: float
    order: int
    c2: float
    log_constant: float


def subsampled_rdp(order: float, rdp: float, sample_rate: float) -> float:
    """Bound the Rényi-DP of a mechanism on a random sample by convexity alone.

    Parameters
    ----------
    order : float
        In (1, inf).
    rdp : float
        Of the mechanism at this order, in [0, inf].
    sample_rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    float
        log(1 + r (exp((order - 1) rdp) - 1)) / (order - 1), rounded up. It falls with r where the
        best bounds, `renyi.theory.subsampling`, fall with r^2.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claims 24 and 25.

    Examples
    --------
    >>> f"{subsampled_rdp(10.0, 10.0 / 32.0, 0.01):.4e}"
    '1.6157e-02'
    """
    more = number_in(order, "order", _ORDER) - 1.0
    moment = above(more * number_in(rdp, "rdp", NON_NEGATIVE)) if rdp else 0.0
    mixed = subsampled(moment, 0.0, sample_rate).epsilon
    return above(mixed / more) if mixed else 0.0


def moment_bound_delta(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    epsilon: float,
    *,
    form: MomentForm = "halved",
) -> MomentBound:
    """Return delta of the Poisson-sampled Gaussian mechanism by the constant C(c1, c2).

    With c1 = r s, l = c2 s^2 a whole number and T steps, delta = exp(T log C - (l-1) epsilon).

    Parameters
    ----------
    sample_rate : float
        In (0, 1].
    noise_multiplier : float
        Standard deviation s of the noise over the sensitivity, in (0, inf).
    steps : int
        T, at least 1.
    epsilon : float
        In [0, inf].
    form : {"halved", "direct"}
        "halved" is the statement: delta = exp(-(l/2 - 1) epsilon) while T log C <= l epsilon / 2.
        "direct" keeps the constant, and is never above it.

    Returns
    -------
    MomentBound
        With the least delta over the orders with c2 <= 13; delta 1 where none is admissible.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", Claim 28, with exp(T log C - (l-1) epsilon) in place of
    exp(k C - l epsilon) in its proof.

    Examples
    --------
    >>> found = moment_bound_delta(0.01, 4.0, 100, 1.0)
    >>> f"{found.delta:.1e}", found.order
    ('2.9e-25', 115)
    """
    bound = _Constants(noise_multiplier, sample_rate, steps)
    epsilon = epsilon_of(epsilon)
    one_of(form, "form", get_args(MomentForm))
    if epsilon in (0.0, math.inf):
        return MomentBound(epsilon, 1.0 if epsilon == 0.0 else 0.0, 0, 0.0, 0.0)
    if form == "halved":
        order = _last(
            lambda order: bound.total(order) <= below(0.5 * order * epsilon), 2, bound.last
        )
        exponent = -(0.5 * order - 1.0) * epsilon
    else:
        order = _lowest(lambda order: bound.total(order) - (order - 1.0) * epsilon, 2, bound.last)
        total = bound.total(order)
        exponent = total - (order - 1.0) * epsilon + MARGIN * total
    if not order or not exponent < 0.0:
        return MomentBound(epsilon, 1.0, 0, 0.0, 0.0)
    delta = exp_above(exponent, order * epsilon)
    return MomentBound(epsilon, delta, order, bound.c2(order), bound.log_constant(order))


def moment_bound_epsilon(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    delta: float,
    *,
    form: MomentForm = "halved",
) -> MomentBound:
    """Return epsilon of the Poisson-sampled Gaussian mechanism by the constant C(c1, c2).

    Parameters
    ----------
    sample_rate, noise_multiplier, steps, form
        As in `moment_bound_delta`.
    delta : float
        In [0, 1].

    Returns
    -------
    MomentBound
        With the least epsilon, rounded up; infinity where no order is admissible.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(moment_bound_epsilon(0.01, 4.0, 100, 1e-5).epsilon, 4)
    0.2476
    """
    bound = _Constants(noise_multiplier, sample_rate, steps)
    delta = delta_of(delta)
    one_of(form, "form", get_args(MomentForm))
    if delta in (0.0, 1.0):
        return MomentBound(0.0 if delta else math.inf, delta, 0, 0.0, 0.0)
    depth = -math.log(delta)

    def halved(order: int) -> float:
        return max(depth / (0.5 * order - 1.0), 2.0 * bound.total(order) / order)

    def direct(order: int) -> float:
        return (bound.total(order) + depth) / (order - 1.0)

    epsilon_at, least = (halved, 3) if form == "halved" else (direct, 2)
    order = _lowest(epsilon_at, least, bound.last)
    if not order:
        return MomentBound(math.inf, delta, 0, 0.0, 0.0)
    found = above(epsilon_at(order))
    return MomentBound(found, delta, order, bound.c2(order), bound.log_constant(order))


class _Constants:
    """The constants of one run, by order."""

    def __init__(self, noise_multiplier: float, sample_rate: float, steps: int) -> None:
        noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
        rate = number_in(sample_rate, "sample_rate", _RATE)
        self._square = below(noise * noise)
        self._steps = count_above(steps, "steps")
        self._c1 = above(rate * noise)
        self.last = int(min(_LARGEST_C2 * self._square, float(_LARGEST_ORDER)))

    def c2(self, order: int) -> float:
        return max(above(order / self._square), LEAST_C2)  # C rises with c2

    def log_constant(self, order: int) -> float:
        try:
            return log_moment_constant(self._c1, self.c2(order))
        except ValueError:  # beyond what is proven
            return math.inf

    def total(self, order: int) -> float:
        return above(self._steps * self.log_constant(order))


def _last(holds: Callable[[int], bool], first: int, last: int) -> int:
    """Return the last number that holds if those that do come first; 0 if none."""
    if last < first or not holds(first):
        return 0
    low, high = first, last + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _lowest(value: Callable[[int], float], first: int, last: int) -> int:
    """Return where a function of one valley is least; 0 if it is nowhere finite."""
    if last < first:
        return 0
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        here, there = value(middle), value(middle + 1)
        low, high = (low, middle) if here <= there else (middle + 1, high)
    return low if value(low) < math.inf else 0


# The noise that the moment bound asks for: Claim 28 of that post inverted.
#
# In "Great but Manageable Expectations" delta = exp(-(c2 s^2/2 - 1) epsilon) for c2 s^2 whole,
# which asks for s^2 = (2/c2) (1 + log(1/delta)/epsilon), while T log C(r s, c2) <= c2 epsilon s^2 /
# 2 limits the steps. For every c2 both ask for a noise; the least over the orders c2 s^2 is looked
# for.


_LEAST, _MOST, _TOLERANCE = 0.05, 1e5, 1e-9


class NoiseForMoments(NamedTuple):
    """A noise multiplier, and what the moment bound says of it."""

    noise_multiplier: float
    bound: MomentBound


def moment_bound_noise(
    sample_rate: float, steps: int, epsilon: float, delta: float, *, form: MomentForm = "halved"
) -> NoiseForMoments:
    """Return a noise multiplier for which the moment bound proves (epsilon, delta).

    Parameters
    ----------
    sample_rate, steps, form
        As in `moment_bound_delta`.
    epsilon : float
        In (0, inf).
    delta : float
        In (0, 1).

    Returns
    -------
    NoiseForMoments
        `moment_bound_delta` proves the target with it, and does not with one smaller by 1e-9 of
        itself; infinity if none up to 10^5 will do. Orders are whole, so that delta falls in steps
        as the noise grows.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", after Claim 28: s >= sqrt(2/c2) sqrt(log(1/delta)/epsilon),
    which forgets the 1 that the order loses.

    Examples
    --------
    >>> found = moment_bound_noise(0.01, 1000, 1.0, 1e-5)
    >>> round(found.noise_multiplier, 4), found.bound.order
    (2.3262, 26)
    """
    target, chance = epsilon_of(epsilon), delta_of(delta)
    if not 0.0 < target < math.inf:
        raise ValueError(f"epsilon must be a number in (0, inf), got {epsilon!r}")
    if not 0.0 < chance < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")

    def bound(noise: float) -> MomentBound:
        return moment_bound_delta(sample_rate, noise, steps, target, form=form)

    noise = least_argument(lambda s: bound(s).delta <= chance, _LEAST, _MOST, _TOLERANCE)
    if math.isinf(noise):
        return NoiseForMoments(math.inf, MomentBound(target, 1.0, 0, 0.0, 0.0))
    return NoiseForMoments(noise, bound(noise))


# Moments at sampling rates of another power of the noise: r = c1 s^-d in place of c1/s.
#
# The moment bound needs d = 1. For d < 1 the moment of order l = c2 s^2 has no bound in s: by
# Jensen log G >= r^2 l (l-1)/(2 s^2), about (c1 c2)^2 s^(2-2d) / 2. What is left for d < 1: that
# growth is all there is to first order, so the steps that log G permits, T <= c2 epsilon s^2 / (2
# log G), still have T r^2 near epsilon/c2, as for d = 1; there is only no constant for all s.


class RelaxedMoment(NamedTuple):
    """A moment at a relaxed rate.

    Attributes
    ----------
    log_moment : float
        log G, rounded up.
    least : float
        Its bound from below, r^2 l (l-1)/(2 s^2), rounded down.
    rate : float
        r = min(1, c1 s^-d).
    order : int
        l = floor(c2 s^2).
    """

    log_moment: float
    least: float
    rate: float
    order: int


def relaxed_log_moment(
    c1: float, c2: float, power: float, noise_multiplier: float
) -> RelaxedMoment:
    """Return log G_l of the sampled Gaussian at l = c2 s^2 and r = c1 s^-power.

    Parameters
    ----------
    c1, c2 : float
        In (0, inf).
    power : float
        d, in [0, 2].
    noise_multiplier : float
        s, in (0, inf), with an l from 1 to 10^6.

    Returns
    -------
    RelaxedMoment
        The moment and what it is at.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations" takes d_r < 1 for possible after Claim 26.

    Examples
    --------
    >>> for s in 5.0, 30.0, 300.0:
    ...     half, one = (relaxed_log_moment(0.3, 1.0, d, s).log_moment for d in (0.5, 1.0))
    ...     print(f"{half:.3f} {one:.3f}")
    0.249 0.047
    1.424 0.045
    13.735 0.045
    """
    c1 = number_in(c1, "c1", FINITE_POSITIVE)
    c2 = number_in(c2, "c2", FINITE_POSITIVE)
    d = number_in(power, "power", Range(0.0, 2.0, "[]"))
    s = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    if not 1.0 <= c2 * s * s <= 1e6:
        raise ValueError(
            f"noise_multiplier must give an order c2 s^2 in [1, 10^6], got {c2 * s * s!r}"
        )
    order, rate = math.floor(c2 * s * s), min(c1 * s**-d, 1.0)
    least = rate * rate * order * (order - 1.0) / (2.0 * s * s)
    return RelaxedMoment(
        float(special.log_a_upper(rate, s, order)), max(below(least), 0.0), rate, order
    )
