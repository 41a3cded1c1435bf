"""Moments of subsampled mechanisms, and the moment bound of DP-SGD with a constant.

`subsampled_rdp` is for a uniform sample of fixed size, neighbours differing in one replaced record,
and for a Poisson sample, neighbours differing by one record more or less. The moment bound is for
Gaussian noise on Poisson samples, one record more or less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from renyi._validation import delta_of, epsilon_of, one_of
from renyi.classic._rounding import MARGIN, above, below, count_above, exp_above
from renyi.classic.amplification import subsampled
from renyi.classic.moment_constant import LEAST_C2, log_moment_constant
from renyi.mechanisms._arguments import FINITE_POSITIVE, NON_NEGATIVE, Range, number_in

__all__ = ["MomentBound", "moment_bound_delta", "moment_bound_epsilon", "subsampled_rdp"]

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


def subsampled_rdp(order: float, rdp: float, rate: float) -> float:
    """Bound the Rényi-DP of a mechanism on a random sample by convexity alone.

    Parameters
    ----------
    order : float
        In (1, inf).
    rdp : float
        Of the mechanism at this order, in [0, inf].
    rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    float
        log(1 + r (exp((order - 1) rdp) - 1)) / (order - 1), rounded up. It falls with r where the
        best bounds, `renyi.subsampling`, fall with r^2.

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
    mixed = subsampled(moment, 0.0, rate).epsilon
    return above(mixed / more) if mixed else 0.0


def moment_bound_delta(
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    epsilon: float,
    *,
    form: MomentForm = "halved",
) -> MomentBound:
    """Return delta of the Poisson-sampled Gaussian mechanism by the constant C(c1, c2).

    With c1 = r s, l = c2 s^2 a whole number and T steps, delta = exp(T log C - (l-1) epsilon).

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation s of the noise over the sensitivity, in (0, inf).
    sample_rate : float
        In (0, 1].
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
    >>> found = moment_bound_delta(4.0, 0.01, 100, 1.0)
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
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    *,
    form: MomentForm = "halved",
) -> MomentBound:
    """Return epsilon of the Poisson-sampled Gaussian mechanism by the constant C(c1, c2).

    Parameters
    ----------
    noise_multiplier, sample_rate, steps, form
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
    >>> round(moment_bound_epsilon(4.0, 0.01, 100, 1e-5).epsilon, 4)
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
