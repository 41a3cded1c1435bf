r"""Bounds for mechanisms with known divergences only: samples, and the best of many runs.

``base(alpha, digits)`` returns the divergence of order alpha of the mechanism, in both orders of
neighbours, to that many digits: ``partial(rdp_sampled_gaussian, 1, 2)`` and ``partial(rdp, pair)``
do. At the whole orders the bounds are sums over j with e_j = (j-1) base(j),

.. math:: w_j = \binom{\alpha}{j} \gamma^j (1-\gamma)^{\alpha-j}, \qquad
          B_j = \sum_i (-1)^{j-i} \binom{j}{i} e^{e_i} = E_Q[(P/Q - 1)^j]

Between two whole orders (alpha - 1) times an upper bound is interpolated linearly, from 0 at
alpha = 1, which is sound because (alpha - 1) D is convex. alpha = 1 is the limit, the bound at 2.

For the best output of a random number of runs (Papernot, Steinke 2022), the number of runs is
truncated negative binomial with shape eta > -1 (1: geometric, 0: logarithmic) or Poisson (eta =
inf).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from renyi.reference._numbers import (
    ORDER,
    UNIT,
    Number,
    agreed,
    check_digits,
    exact,
    lowest,
    mp,
    real,
    require,
    root,
    within,
)

Base = Callable[[Any, int], Any]
Moment = Callable[[int, int, int], Any]  # order, working digits, variant: (alpha-1) D

HORIZON = 10**12  # the largest order of a search


def rdp_poisson(
    base: Base,
    q: Number,
    alpha: Number,
    kind: Literal["general", "tight", "lower"] = "general",
    largest_loss: Number = math.inf,
    digits: int = 50,
) -> Any:
    r"""Poisson sampling at rate q, neighbours by adding or removing a record (Zhu, Wang 2019).

    .. math:: \frac{1}{\alpha-1} \log\Bigl(w_0 + w_1 + w_2 e^{e_2}
              + c \sum_{j=3}^\alpha w_j e^{e_j}\Bigr)

    ``"general"`` (Theorem 5): c = 3. ``"tight"``: c = 1, by Theorem 8 where the odd moments B_j are
    not negative, and in fact for every mechanism, see `renyi.theory.subsampling.poisson_rdp`.
    ``"lower"`` (Theorem 6): c = 1 again, attained by some mechanism with this base; between whole
    orders it is the larger one of two lines, through the two orders before and the two orders
    after. Upper bounds are cut at log(1 + q (e^largest_loss - 1)), which holds at every order. q =
    1 is the base itself.

    >>> from functools import partial
    >>> from renyi.reference import rdp_sampled_gaussian
    >>> base = partial(rdp_sampled_gaussian, 1, 1)
    >>> [round(float(rdp_poisson(base, "0.1", 3, kind)), 7) for kind in ("general", "tight")]
    [0.0502168, 0.0317123]
    """
    check_digits(digits)
    rate, order = within("q", q, UNIT), within("alpha", alpha, ORDER)
    require("kind", kind in ("general", "tight", "lower"), "'general', 'tight' or 'lower'", kind)
    if rate == 0:
        return mp.zero
    if rate == 1:
        return base(alpha, digits)
    factor = 3 if kind == "general" else 1

    def log_moment(n: int, work: int, variant: int) -> Any:
        total = mp.zero
        for j, weight in _weights(rate, n, variant):
            if j >= 2:
                grown = mp.expm1((j - 1) * base(j, work))
                c = factor if j > 2 else 1
                total += weight * (c * grown + (c - 1))
        return mp.log1p(total)

    if kind == "lower":
        return _outside(log_moment, order, digits)
    if not _finite(base, order):
        return mp.inf
    return min(between(log_moment, order, digits), _cap(rate, largest_loss, digits))


def rdp_mixture(base: Base, r: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Return the bound by convexity alone, for a record that is used with probability r.

    .. math:: \frac{1}{\alpha-1} \log\bigl(1 + r (e^{(\alpha-1) \mathrm{base}(\alpha)} - 1)\bigr)

    P = r P' + (1-r) Q' against Q with D(P'||Q), D(Q'||Q) and the moments e^{(alpha-1) D} convex.
    At alpha = 1 it is r base(1).

    >>> from functools import partial
    >>> from renyi.reference import rdp_sampled_gaussian
    >>> round(float(rdp_mixture(partial(rdp_sampled_gaussian, 1, 4), "0.01", 10)), 5)
    0.01616
    """
    check_digits(digits)
    rate, order = within("r", r, UNIT), within("alpha", alpha, ORDER)
    if rate == 0:
        return mp.zero
    if order == 1:
        with mp.workdps(digits + 5):
            return real(rate) * base(1, digits + 5)

    def compute(work: int, variant: int) -> Any:
        moment = real(order - 1) * base(real(order), work)
        if variant:
            return mp.log(real(1 - rate) + real(rate) * mp.exp(moment)) / real(order - 1)
        return mp.log1p(real(rate) * mp.expm1(moment)) / real(order - 1)

    return agreed(compute, digits)


def rdp_fixed_size(
    base: Base,
    gamma: Number,
    alpha: Number,
    largest_loss: Number = math.inf,
    tight: bool = False,
    digits: int = 50,
) -> Any:
    r"""Return the bound for a share gamma drawn without replacement, one record replaced.

    Wang, Balle, Kasiviswanathan 2019, Theorem 9; with M the largest loss:

    .. math:: \frac{1}{\alpha-1} \log\Bigl(1 + \binom{\alpha}{2} \gamma^2
              \min\bigl(4 (e^{e_2} - 1), e^{e_2} \min(2, (e^M - 1)^2)\bigr)
              + \sum_{j=3}^\alpha \binom{\alpha}{j} \gamma^j e^{e_j} \min(2, (e^M - 1)^j)\Bigr)

    ``tight`` (Theorem 27) replaces the j-th term, where that is smaller, by one with
    :math:`4 \sqrt{B_{2 \lfloor j/2 \rfloor} B_{2 \lceil j/2 \rceil}}`: one pair of distributions
    must reach all orders of the base. The bound is cut at log(1 + gamma (e^M - 1)) (Balle, Barthe,
    Gaboardi 2018, Theorem 9); gamma = 1 is the base itself.

    >>> from functools import partial
    >>> from renyi.reference import rdp_sampled_gaussian
    >>> base = partial(rdp_sampled_gaussian, 1, 2)
    >>> round(float(rdp_fixed_size(base, "0.1", 12)), 10)
    0.1123795354
    """
    check_digits(digits)
    rate, order = within("gamma", gamma, UNIT), within("alpha", alpha, ORDER)
    most = exact("largest_loss", largest_loss)
    require("largest_loss", most >= 0, ">= 0", largest_loss)
    if rate == 0:
        return mp.zero
    if rate == 1:
        return base(alpha, digits)
    if not _finite(base, order):
        return mp.inf

    def log_moment(n: int, work: int, variant: int) -> Any:
        spread = mp.expm1(real(most)) if isinstance(most, Fraction) else mp.inf
        known: dict[int, Any] = {}
        total = mp.zero
        for j in range(n, 1, -1) if variant else range(2, n + 1):
            moment = (j - 1) * base(j, work)
            term = mp.exp(moment) * min(mp.mpf(2), spread**j)
            if j == 2:
                term = min(term, 4 * mp.expm1(moment))
            elif tight:
                low, high = 2 * (j // 2), 2 * ((j + 1) // 2)
                below, above = (_even(base, k, work, variant, known) for k in (low, high))
                term = min(term, 4 * mp.sqrt(below * above))
            total += mp.binomial(n, j) * real(rate) ** j * term
        return mp.log1p(total)

    return min(between(log_moment, order, digits), _cap(rate, largest_loss, digits))


def _even(base: Base, j: int, work: int, variant: int, known: dict[int, Any]) -> Any:
    """Return B_j for even j: an alternating sum, with enough digits; the variants sum both ways."""
    if j not in known:
        extra = 10
        while True:
            with mp.workdps(work + extra):
                terms = [(-1) ** j * (1 - j)]  # i = 0 and 1
                for i in range(2, j + 1):
                    power = mp.exp((i - 1) * base(i, work + extra))
                    terms.append((-1) ** (j - i) * mp.binomial(j, i) * power)
                total = mp.fsum(reversed(terms) if variant else terms)
                largest = max(map(abs, terms))
                left = extra + mp.log10(abs(total) / largest) if total else -mp.inf
            if left > 5:
                break
            extra *= 2
        known[j] = total
    return known[j]


def _weights(q: Fraction, n: int, variant: int) -> Any:
    """Return binomial probabilities of n trials: by recurrence from the top, or each by itself."""
    p, r = real(q), real(1 - q)
    if variant:
        for j in range(n + 1):
            yield j, mp.binomial(n, j) * p**j * r ** (n - j)
    else:
        weight = p**n
        for j in range(n, -1, -1):
            yield j, weight
            weight *= j * r / ((n - j + 1) * p)


def _finite(base: Base, order: Fraction) -> bool:
    """Return whether the base is finite at the whole orders that a bound at this order needs."""
    return bool(mp.isfinite(base(max(2, math.ceil(order)), 15)))


def between(log_moment: Moment, order: Fraction, digits: int) -> Any:
    """Return the bound at a real order from (alpha - 1) D at the two whole orders around it."""
    below = max(1, math.floor(order))
    share = order - below

    def compute(work: int, variant: int) -> Any:
        if order <= 2:
            return log_moment(2, work, variant)
        total = real(1 - share) * log_moment(below, work, variant)
        if share:
            total += real(share) * log_moment(below + 1, work, variant)
        return total / real(order - 1)

    return agreed(compute, digits)


def _outside(log_moment: Moment, order: Fraction, digits: int) -> Any:
    """Return a lower bound of every convex (alpha - 1) D with these values at whole orders."""
    n = math.floor(order)
    share = order - n
    if order == 1:
        return mp.zero
    if n > 1 and not mp.isfinite(log_moment(n, 15, 0)):
        return mp.inf
    further = share != 0 and mp.isfinite(log_moment(n + 2, 15, 0))

    def compute(work: int, variant: int) -> Any:
        def at(k: int) -> Any:
            return log_moment(k, work, variant) if k > 1 else mp.zero

        lines = [at(n) + real(share) * (at(n) - at(n - 1))]
        if further:
            lines.append(at(n + 1) - real(1 - share) * (at(n + 2) - at(n + 1)))
        return max(lines) / real(order - 1) if max(lines) > 0 else -mp.one  # -1: cut

    return max(agreed(compute, digits), mp.zero)


def _cap(q: Fraction, largest_loss: Number, digits: int) -> Any:
    most = exact("largest_loss", largest_loss)
    require("largest_loss", most >= 0, ">= 0", largest_loss)
    if isinstance(most, float):
        return mp.inf
    with mp.workdps(digits + 10):
        return mp.log1p(real(q) * mp.expm1(real(most)))


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
    r"""Bound one order alpha > 1, with the best second order and the best larger first one.

    In Theorem 2 gamma is the stopping probability that belongs to the mean, and the infimum
    includes beta = infinity, the largest loss:

    .. math:: D(\alpha) + (1 + \eta) \inf_{\beta \ge 1} \frac{(\beta-1) D(\beta)
              + \log(1/\gamma)}{\beta} + \frac{\log(\text{mean})}{\alpha - 1}

    Theorem 6 for Poisson: D(alpha) + mean delta + log(mean)/(alpha - 1), where one run is (epsilon,
    delta)-DP with epsilon = log(alpha/(alpha - 1)); delta is ``profile(epsilon, digits)``, or
    without that the smallest known from ``delta_balle`` at some order, from the Kullback-Leibler
    divergence by Bretagnolle and Huber, and from the largest loss. For mean < 1 the outcome without
    a run is counted separately, log(e^-mean + mean e^{(alpha-1)(D + mean delta)})/(alpha - 1).
    Divergences grow with the order, so the least value at an order not below alpha is a bound too.

    >>> from functools import partial
    >>> from renyi.reference import rdp_sampled_gaussian
    >>> base = partial(rdp_sampled_gaussian, 1, 2)
    >>> [round(float(rdp_repeat_and_select(base, 10, eta, 8, digits=9)), 7) for eta in (0, 1)]
    [2.5483645, 3.2249068]
    >>> from renyi.reference import gaussian_delta
    >>> exact = partial(gaussian_delta, mp.mpf(1) / 2)
    >>> round(float(rdp_repeat_and_select(base, 10, math.inf, 8, digits=9, profile=exact)), 4)
    2.8031
    """
    check_digits(digits)
    runs, eta, order = exact("mean", mean), exact("shape", shape), within("alpha", alpha, ORDER)
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

    return agreed(compute, digits)


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
        if x == 0:
            return mp.one
        if shape == 0:
            return mp.expm1(x) / x
        return shape * mp.expm1(x) / -mp.expm1(-shape * x)

    with mp.workdps(work + 10):
        return root(lambda x: of(x) - mean, mp.zero, mp.one, 0, work + 5)
