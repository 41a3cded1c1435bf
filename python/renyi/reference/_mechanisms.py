r"""Rényi divergences of mechanisms without sampling, from their closed forms.

D(alpha) = log E_Q[(P/Q)^alpha] / (alpha - 1), the larger one of the two orders of neighbours, at
alpha = 1 its limit, the Kullback-Leibler divergence. Every closed form is evaluated in two ways
that share no subexpression; ``_pairs`` computes the same divergences from the distributions.

In all of them alpha >= 1 is real and finite, ``digits`` is the relative accuracy of the result, and
a ValueError names an argument outside its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from renyi.reference._numbers import (
    Number,
    check_digits,
    exact,
    mp,
    order_of,
    positive,
    real,
    require,
    settle,
    unit,
    whole,
)

Formula = Callable[[], Any]


def settled(digits: int, first: Formula, second: Formula) -> Any:
    """Return the common value of two formulas for the same number."""
    return settle(lambda work, variant: second() if variant else first(), digits)


def rdp_zcdp(rho: Number, alpha: Number, xi: Number = 0, digits: int = 50) -> Any:
    """Return xi + rho alpha, the definition of (xi, rho)-zCDP (Bun, Steinke 2016).

    >>> rdp_zcdp(0.5, 3)
    mpf('1.5')
    """
    check_digits(digits)
    slope, offset, a = exact("rho", rho), exact("xi", xi), order_of(alpha)
    require("rho", 0 <= slope < math.inf, ">= 0 and finite", rho)
    require("xi", 0 <= offset < math.inf, ">= 0 and finite", xi)
    with mp.workdps(digits + 5):
        return real(Fraction(offset) + Fraction(slope) * a)


def rdp_laplace(scale: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Laplace noise of this scale on a query of L1 sensitivity 1 (Mironov 2017, Proposition 6).

    .. math:: \frac{1}{\alpha-1} \log\left(\frac{\alpha}{2\alpha-1} e^{(\alpha-1)/b}
              + \frac{\alpha-1}{2\alpha-1} e^{-\alpha/b}\right)

    At alpha = 1 it is 1/b + e^{-1/b} - 1.

    >>> round(float(rdp_laplace(2, 2)), 12), round(float(rdp_laplace(2, 1)), 12)
    (0.200303896174, 0.106530659713)
    """
    check_digits(digits)
    b, a = positive("scale", scale), order_of(alpha)
    if isinstance(b, float):
        return mp.zero
    t = 1 / b
    if a == 1:
        return settled(
            digits,
            lambda: real(t) + mp.expm1(-real(t)),
            lambda: real(t) - (1 - mp.exp(-real(t))),
        )

    def mixture() -> Any:
        high, low = mp.exp(real((a - 1) * t)), mp.exp(real(-a * t))
        return mp.log((real(a) * high + real(a - 1) * low) / real(2 * a - 1)) / real(a - 1)

    def from_the_top() -> Any:
        shortfall = real(a - 1) * mp.expm1(real((1 - 2 * a) * t)) / real(2 * a - 1)
        return real(t) + mp.log1p(shortfall) / real(a - 1)

    return settled(digits, mixture, from_the_top)


def rdp_randomized_response(p: Number, alpha: Number, choices: int = 2, digits: int = 50) -> Any:
    r"""Randomized response: the true answer with probability p, each other equally likely.

    With s = (1 - p)/(choices - 1),

    .. math:: \frac{1}{\alpha-1} \log\left(p^\alpha s^{1-\alpha} + s^\alpha p^{1-\alpha}
              + (\text{choices} - 2) s\right)

    At alpha = 1 it is (p - s) log(p/s).

    >>> round(float(rdp_randomized_response("0.6", 2)), 12)
    0.154150679827
    >>> round(float(rdp_randomized_response("0.5", 2, choices=4)), 12)
    0.63598876672
    """
    check_digits(digits)
    truth, a, k = unit("p", p), order_of(alpha), whole("choices", choices, 2)
    other = (1 - truth) / (k - 1)
    if truth == other:
        return mp.zero
    if truth * other == 0:
        return mp.inf
    if a == 1:
        return settled(
            digits,
            lambda: real(truth - other) * mp.log(real(truth / other)),
            lambda: (
                real(truth) * (mp.log(real(truth)) - mp.log(real(other)))
                - real(other) * (mp.log(real(truth)) - mp.log(real(other)))
            ),
        )

    def powers() -> Any:
        x, y = mp.log(real(truth)), mp.log(real(other))
        total = mp.exp(real(a) * x + real(1 - a) * y) + mp.exp(real(a) * y + real(1 - a) * x)
        return mp.log(total + real((k - 2) * other)) / real(a - 1)

    def excess() -> Any:
        loss = real(a - 1) * mp.log(real(truth / other))
        return mp.log1p(
            real(truth) * mp.expm1(loss) + real(other) * mp.expm1(-loss)
        ) / real(a - 1)  # fmt: skip

    return settled(digits, powers, excess)


def rdp_pure_dp(epsilon: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Return the largest divergence under pure epsilon-DP, that of binary randomized response.

    .. math:: \frac{1}{\alpha-1} \log\frac{e^{\alpha\epsilon} + e^{(1-\alpha)\epsilon}}
              {e^\epsilon + 1}

    At alpha = 1 it is epsilon tanh(epsilon/2) (Bun, Steinke 2016, Proposition 3.3, tight form).

    >>> round(float(rdp_pure_dp(1, 2)), 12), round(float(rdp_pure_dp(1, 1)), 12)
    (0.735325664056, 0.46211715726)
    """
    check_digits(digits)
    e, a = exact("epsilon", epsilon), order_of(alpha)
    require("epsilon", e >= 0, ">= 0", epsilon)
    if isinstance(e, float):
        return mp.inf
    if e == 0:
        return mp.zero
    if a == 1:
        return settled(
            digits,
            lambda: real(e) * mp.tanh(real(e) / 2),
            lambda: real(e) * mp.expm1(real(e)) / (mp.exp(real(e)) + 1),
        )

    def powers() -> Any:
        total = mp.exp(real(a * e)) + mp.exp(real((1 - a) * e))
        return mp.log(total / (mp.exp(real(e)) + 1)) / real(a - 1)

    def hyperbolic() -> Any:
        difference = mp.sinh(real(a * e)) - mp.sinh(real((a - 1) * e))
        return mp.log(difference / mp.sinh(real(e))) / real(a - 1)

    return settled(digits, powers, hyperbolic)


def rdp_gumbel(shift: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Gumbel noise of scale 1 on a query that moves by ``shift``; infinite for large orders.

    exp(-x) turns it into exponential distributions of rates in the ratio :math:`r = e^s` or its
    inverse (Gil, Alajaji, Linder 2013), with the divergence

    .. math:: \log r - \frac{\log(\alpha - (\alpha-1)/r)}{\alpha - 1}

    r = e^{-s} gives the larger one: finite only for alpha < 1/(1 - e^{-s}). At alpha = 1 it is
    e^s - 1 - s.

    >>> round(float(rdp_gumbel(0.5, 2)), 12), float(rdp_gumbel(0.5, 3))
    (0.546175270078, inf)
    """
    check_digits(digits)
    s, a = exact("shift", shift), order_of(alpha)
    require("shift", s >= 0, ">= 0", shift)
    if isinstance(s, float):
        return mp.inf
    if s == 0:
        return mp.zero
    if a == 1:
        return settled(
            digits,
            lambda: mp.exp(real(s)) - 1 - real(s),
            lambda: mp.expm1(real(s)) - real(s),
        )
    with mp.workdps(60 + digits):
        if real(a) - real(a - 1) * mp.exp(real(s)) <= 0:
            return mp.inf

    def powers() -> Any:
        return -real(s) - mp.log(real(a) - real(a - 1) * mp.exp(real(s))) / real(a - 1)

    def excess() -> Any:
        return -real(s) - mp.log1p(-real(a - 1) * mp.expm1(real(s))) / real(a - 1)

    return settled(digits, powers, excess)


def rdp_skellam(variance: Number, alpha: Number, sensitivity: int = 1, digits: int = 30) -> Any:
    r"""Return the divergence of Skellam noise on an integer moved by ``sensitivity``.

    The masses are :math:`e^{-v} I_{|x|}(v)`; they are summed until they are lost in the digits.

    >>> round(float(rdp_skellam(10, 2)), 9)
    0.099654438
    """
    check_digits(digits)
    v, a, s = positive("variance", variance), order_of(alpha), whole("sensitivity", sensitivity, 1)
    require("alpha", a > 1, "> 1", alpha)
    require("variance", not isinstance(v, float), "finite", variance)

    def bessel() -> Any:
        def mass(x: int) -> Any:
            return mp.besseli(abs(x), real(v)) * mp.exp(-real(v))

        return _summed_moment(mass, real(a), s)

    def poisson() -> Any:
        rate = real(v) / 2

        def mass(x: int) -> Any:
            term = rate ** abs(x) / mp.factorial(abs(x))
            terms, k = term, 0
            while k < rate or term > terms * mp.eps:
                k += 1
                term *= rate**2 / (k * (k + abs(x)))
                terms += term
            return terms * mp.exp(-2 * rate)

        return _summed_moment(mass, real(a), s)

    return settled(digits, bessel, poisson)


def _summed_moment(mass: Callable[[int], Any], alpha: Any, shift: int) -> Any:
    """Return the divergence between a law on the integers and itself, moved."""
    total, x = mp.zero, 0
    for step in (1, -1):
        x = shift if step == 1 else shift - 1
        while True:
            term = mass(x - shift) ** alpha * mass(x) ** (1 - alpha)
            total += term
            if abs(x) > 2 * shift and term < total * mp.eps**2:
                break
            x += step
    return mp.log(total) / (alpha - 1)


def rdp_staircase(epsilon: Number, gamma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Return the divergence of staircase noise on a query moved by 1.

    The losses are :math:`\pm\epsilon` and 0: the density, level by level, on the pieces of a period
    and with the tails summed.

    >>> round(float(rdp_staircase(1, 0.5, 2)), 9)
    0.735325664
    """
    check_digits(digits)
    e, place, a = exact("epsilon", epsilon), exact("gamma", gamma), order_of(alpha)
    require("epsilon", 0 < e < math.inf, "> 0 and finite", epsilon)
    require("gamma", 0 <= place <= 1, "in [0, 1]", gamma)
    g = Fraction(place)
    require("alpha", a > 1, "> 1", alpha)

    def by_density() -> Any:
        b = mp.exp(-real(e))
        first = (1 - b) / (2 * (real(g) + b * (1 - real(g))))

        def density(x: Fraction) -> Any:
            return first * b ** (math.floor(abs(x) - g) + 1 if abs(x) >= g else 0)

        cuts = sorted({Fraction(0), g, 1 - g, Fraction(1)})
        # Beyond 0 and 1 all pieces repeat, times b.
        pieces = list(pairwise(cuts))
        total = mp.zero
        for low, high in pieces:
            middle, width = (low + high) / 2, real(high - low)
            total += width * density(middle - 1) ** real(a) * density(middle) ** real(1 - a)
        for side in (1, -1):
            tail = mp.zero
            for low, high in pieces:
                middle = (low + high) / 2 + 1 if side == 1 else -(low + high) / 2
                at_p, at_q = density(middle - 1), density(middle)
                tail += real(high - low) * at_p ** real(a) * at_q ** real(1 - a)
            total += tail / (1 - b)
        return mp.log(total) / real(a - 1)

    def by_variation() -> Any:
        b = mp.exp(-real(e))
        first = (1 - b) / (2 * (real(g) + b * (1 - real(g))))
        inside = first * real(min(g, Fraction(1, 2))) + first * b * real(
            max(Fraction(1, 2) - g, Fraction(0))
        )
        larger = 2 * inside / (1 - b)  # the total variation is the mass of [-1/2, 1/2]
        powers = mp.exp(real(e * (a - 1))) + mp.exp(-real(e * a))
        return mp.log(larger * powers + 1 - larger * (1 + b)) / real(a - 1)

    return settled(digits, by_density, by_variation)
