"""The two sums of Mironov, Talwar and Zhang 2019, section 3.3, for log A.

Checks on the integral that use no integral.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from renyi.reference._numbers import Number, mp, real, require, settle
from renyi.reference._sampled_gaussian import _arguments, _order, log_a


def log_a_binomial(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Binomial expansion of log A for integer alpha >= 0; alpha + 1 terms.

    .. math:: A = \sum_{k=0}^{\alpha} \binom{\alpha}{k} (1-q)^{\alpha-k} q^k e^{k(k-1)/(2 \sigma^2)}

    >>> import mpmath
    >>> mpmath.nstr(log_a_binomial(0.01, 1.0, 32), 16)
    '348.6345540484901'
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    require("alpha", len(order) == 1 and order[0].denominator == 1, "an integer >= 0", alpha)
    require("alpha", order[0] >= 0, "an integer >= 0", alpha)
    count = int(order[0])
    if rate in (0, 1) or count < 2:
        return log_a(rate, noise, count, digits)

    def compute(work: int, variant: int) -> Any:
        guard = int(math.log10(count)) + int(mp.log10(1 + count**2 / real(noise) ** 2)) + 5
        with mp.workdps(work + guard):
            odds, weight = real(rate / (1 - rate)), mp.exp(1 / real(noise) ** 2)
            if variant:  # the same sum from its other end: k -> alpha - k
                odds = 1 / odds
                growth = mp.exp(-mp.mpf(count - 1) / real(noise) ** 2)
                exponent = mp.mpf(count) * (count - 1) / (2 * real(noise) ** 2)
                term = real(rate) ** count * mp.exp(exponent)
            else:
                growth = mp.one
                term = real(1 - rate) ** count
            total = mp.zero
            for k in range(count + 1):
                total += term
                term *= (count - k) * odds * growth / (k + 1)
                growth *= weight
            return mp.log(total)

    return settle(compute, digits)


def log_a_series(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Two-series form of log A for real alpha >= 1, the signs of the binomials kept.

    With :math:`z_0 = 1/2 + \sigma^2 \log(1/q - 1)`, j = alpha - k and
    :math:`E(x) = \tfrac12 \mathrm{erfc}(x / (\sqrt2 \sigma))`,

    .. math:: A = \sum_{k \ge 0} \binom{\alpha}{k} \Bigl[
          (1-q)^{j} q^k e^{k(k-1)/(2\sigma^2)} E(k - z_0)
          + (1-q)^k q^{j} e^{j(j-1)/(2\sigma^2)} E(z_0 - j) \Bigr]

    Beyond k = alpha the terms alternate and fall like :math:`k^{-\alpha-2}` only. They are
    :math:`(-1)^k \int_0^1 s^k d\nu(s)` with a positive measure (beta function times Gaussian
    integral), so the acceleration of Cohen, Rodriguez Villegas and Zagier 2000 leaves less than
    2 * 5.828^-n of the tail with n terms. About alpha terms: meant for alpha up to 1e4 or so.

    >>> import mpmath
    >>> mpmath.nstr(log_a_series(0.25, 0.8, 1.5), 12)
    '0.0624110446387'
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    require("alpha", len(order) == 1 and order[0] >= 1, "real and >= 1", alpha)
    if rate in (0, 1) or order[0] == 1:
        return log_a(rate, noise, order[0], digits)

    def compute(work: int, variant: int) -> Any:
        largest = (float(order[0]) + 2 * work) ** 2 / float(noise) ** 2 + 1e4
        with mp.workdps(work + int(math.log10(largest)) + 10):
            return mp.log(_two_series(rate, noise, order[0], work, variant))

    return settle(compute, digits)


def _two_series(q: Fraction, sigma: Fraction, alpha: Fraction, work: int, variant: int) -> Any:
    """Return A: the first terms one by one, the alternating rest accelerated."""
    s, a = real(sigma), real(alpha)
    log_p, log_r = mp.log(real(q)), mp.log(real(1 - q))
    z0 = mp.mpf(1) / 2 + s**2 * (log_r - log_p)
    scale = mp.sqrt(2) * s

    def term(k: int) -> Any:
        j = real(alpha - k)
        low = j * log_r + k * log_p + mp.mpf(k) * (k - 1) / (2 * s**2)
        high = k * log_r + j * log_p + j * (j - 1) / (2 * s**2)
        return (
            mp.exp(low) * mp.erfc((k - z0) / scale) + mp.exp(high) * mp.erfc((z0 - j) / scale)
        ) / 2

    coefficient, total = mp.one, mp.zero
    first = math.ceil(alpha) + 1 + 7 * variant  # from here on the signs alternate
    for k in range(first):
        total += coefficient * term(k)
        coefficient *= (a - k) / (k + 1)
    count = int(1.31 * (work + 10)) + 2
    d = (3 + mp.sqrt(8)) ** count
    d = (d + 1 / d) / 2
    b, c = -mp.one, -d
    tail = mp.zero
    for i in range(count):  # Cohen, Rodriguez Villegas, Zagier, algorithm 1
        k = first + i
        c = b - c
        tail += c * abs(coefficient) * term(k)
        b *= mp.mpf((i + count) * (i - count)) / ((i + mp.mpf(1) / 2) * (i + 1))
        coefficient *= (a - k) / (k + 1)
    sign = _sign(alpha, first)
    return total + sign * tail / d


def _sign(alpha: Fraction, k: int) -> int:
    """Sign of C(alpha, k), k > alpha: the factor alpha - i is negative for each i in (alpha, k)."""
    negative = k - math.ceil(alpha)
    return -1 if negative % 2 else 1
