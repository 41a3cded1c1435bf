r"""Rényi bounds for a mechanism run a random number of times, the best output released.

Papernot, Steinke 2022. The number of runs is truncated negative binomial with shape eta > -1 (1:
geometric, 0: logarithmic) or Poisson (eta = inf); ``base(alpha, digits)`` is the divergence of one
run, finite below ``largest_order``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from renyi.reference._numbers import (
    Number,
    check_digits,
    exact,
    mp,
    order_of,
    real,
    require,
    settle,
)
from renyi.reference._search import lowest
from renyi.reference._subsampling import Base

HORIZON = 10**12  # orders that are searched


def rdp_repeat_and_select(
    base: Base,
    mean: Number,
    shape: Number,
    alpha: Number,
    largest_order: Number = math.inf,
    largest_loss: Number = math.inf,
    digits: int = 30,
    profile: Base | None = None,
) -> Any:
    r"""Bound at one order alpha > 1: the best choice of a second order, and of a larger first one.

    Theorem 2, where gamma is the stopping probability that belongs to the mean, and the infimum
    includes beta = infinity, the largest loss:

    .. math:: D(\alpha) + (1 + \eta) \inf_{\beta \ge 1} \frac{(\beta-1) D(\beta)
              + \log(1/\gamma)}{\beta} + \frac{\log(\text{mean})}{\alpha - 1}

    Theorem 6 for Poisson: D(alpha) + mean delta + log(mean)/(alpha - 1), where one run is (epsilon,
    delta)-DP with epsilon = log(alpha/(alpha - 1)); delta is ``profile(epsilon, digits)``, or
    without that the smallest known from ``delta_balle`` at some order, from the Kullback-Leibler
    divergence by Bretagnolle and Huber, and from the largest loss. For mean < 1 the outcome without
    a run is counted for itself,
    log(e^-mean + mean e^{(alpha-1)(D + mean delta)})/(alpha - 1). Divergences grow with the order,
    so the least value at an order not below alpha is a bound too.

    Examples
    --------
    >>> from functools import partial
    >>> from renyi.reference import rdp_gaussian
    >>> base = partial(rdp_gaussian, 2)
    >>> [round(float(rdp_repeat_and_select(base, 10, eta, 8, digits=9)), 7) for eta in (0, 1)]
    [2.5483645, 3.2249068]
    >>> round(float(rdp_repeat_and_select(base, 10, math.inf, 8, digits=6)), 4)
    3.7094
    >>> from renyi.reference import gaussian_delta
    >>> exact = partial(gaussian_delta, mp.mpf(1) / 2)
    >>> round(float(rdp_repeat_and_select(base, 10, math.inf, 8, digits=9, profile=exact)), 4)
    2.8031
    """
    check_digits(digits)
    runs, eta, order = exact("mean", mean), exact("shape", shape), order_of(alpha)
    require("shape", eta > -1, "> -1", shape)
    least = 0 if eta == math.inf else 1
    require("mean", least <= runs < math.inf and runs > 0, f"> 0, >= {least} and finite", mean)
    require("alpha", order > 1, "> 1", alpha)
    largest, most = exact("largest_order", largest_order), exact("largest_loss", largest_loss)
    require("largest_order", largest >= order, ">= alpha", largest_order)
    require("largest_loss", most >= 0, ">= 0", largest_loss)
    end = Fraction(min(largest, Fraction(HORIZON)))

    def compute(work: int, variant: int) -> Any:
        if profile is not None and eta == math.inf:

            def cost(a: Any) -> Any:
                return real(runs) * profile(-mp.log1p(-1 / a), work)

            last = real(most) + real(runs) * profile(mp.zero, work)

        elif isinstance(eta, float):
            kullback = base(1, work)

            def cost(a: Any) -> Any:
                epsilon = -mp.log1p(-1 / a)
                known = _known_delta(kullback, real(most), epsilon)
                return real(runs) * min(known, _delta(base, epsilon, end, work, variant))

            last = real(most) + real(runs) * _known_delta(kullback, real(most), mp.zero)

        else:
            second = _second_order(base, real(runs), real(eta), end, work, variant)
            constant = real(1 + eta) * min(second, real(most))

            def cost(a: Any) -> Any:
                return constant

            last = real(most) + constant

        def value(a: Any) -> Any:
            moment = (a - 1) * (base(a, work) + cost(a))
            if runs >= 1:
                return (moment + mp.log(real(runs))) / (a - 1)
            return mp.log(mp.exp(-real(runs)) + real(runs) * mp.exp(moment)) / (a - 1)

        least = _least(value, order - 1, end, work, variant)
        return min(value(real(order)), least, last)  # the last: order infinity

    return settle(compute, digits)


def _second_order(base: Base, mean: Any, shape: Any, end: Fraction, work: int, variant: int) -> Any:
    rest = log_stop(mean, shape, work)

    def value(beta: Any) -> Any:
        return ((beta - 1) * base(beta, work) + rest) / beta

    return min(rest, _least(value, _smallest(work), end, work, variant))


def _known_delta(kullback: Any, most: Any, epsilon: Any) -> Any:
    """Delta at epsilon from the Kullback-Leibler divergence and from the largest loss."""
    total_variation = mp.sqrt(-mp.expm1(-kullback))
    if most == mp.inf:
        return total_variation
    pure = (mp.exp(most) - mp.exp(epsilon)) / (mp.exp(most) + 1)
    return min(total_variation, max(pure, mp.zero))


def _delta(base: Base, epsilon: Any, end: Fraction, work: int, variant: int) -> Any:
    """Infimum over the orders of the conversion of Balle et al. 2020; its logarithm is convex."""

    def log_delta(beta: Any) -> Any:
        x = beta - 1
        return x * (base(beta, work) - epsilon) + x * mp.log(x / beta) - mp.log(beta)

    return mp.exp(_least(log_delta, _smallest(work), end, work, variant))


def _smallest(work: int) -> Fraction:
    return Fraction(1, 10 ** (work // 2))


def _least(
    value: Callable[[Any], Any], start: Fraction, end: Fraction, work: int, variant: int
) -> Any:
    """Return the infimum over the orders in [1 + start, end], searched over log(order - 1)."""
    low, high = mp.log(real(start)), mp.log(real(end - 1))
    bend = 1 + mp.mpf(variant) / 3

    def order(x: Any) -> Any:
        return 1 + mp.exp(low + (high - low) * x**bend)

    place = lowest(lambda x: value(order(x)), mp.zero, mp.one, work // 2 + 5)
    return min(value(order(place)), value(real(end)))


def log_stop(mean: Any, shape: Any, work: int) -> Any:
    r"""log(1/gamma) of the truncated negative binomial law with this mean.

    x = log(1/gamma) solves mean = eta (e^x - 1)/(1 - e^{-eta x}), with the limit (e^x - 1)/x at
    eta = 0; the right-hand side increases from 1 at x = 0.

    >>> round(float(mp.exp(-log_stop(mp.mpf(10), mp.one, 20))), 12)
    0.1
    """
    if mean == 1:
        return mp.zero

    def of(x: Any) -> Any:
        if shape == 0:
            return mp.expm1(x) / x
        return shape * mp.expm1(x) / -mp.expm1(-shape * x)

    with mp.workdps(work + 10):
        low, high = mp.zero, mp.one
        while of(high) < mean:
            low, high = high, 2 * high
        while high - low > high * mp.mpf(10) ** (-work - 5):
            middle = (low + high) / 2
            low, high = (middle, high) if of(middle) < mean else (low, middle)
        return (low + high) / 2
