"""log A, its derivatives and the Rényi divergence of the sampled Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from renyi.reference._integral import integrals
from renyi.reference._numbers import Number, check_digits, exact, mp, real, require, settle

Order = tuple[Fraction, ...]  # (alpha,), or (real part, imaginary part)


def _arguments(q: Number, sigma: Number, digits: int) -> tuple[Fraction, Fraction]:
    """Exact (q, sigma); infinite noise is the same as no sampling, q = 0."""
    check_digits(digits)
    rate, noise = exact("q", q), exact("sigma", sigma)
    require("q", 0 <= rate <= 1, "in [0, 1]", q)
    require("sigma", noise > 0, "positive", sigma)
    if isinstance(noise, float):
        return Fraction(0), Fraction(1)
    return Fraction(rate), noise


def _order(alpha: Number) -> Order:
    """Real alpha as one fraction, complex alpha as two."""
    parts = [exact("alpha", getattr(alpha, "real", alpha))]
    if imaginary := getattr(alpha, "imag", 0):
        parts.append(exact("alpha", imaginary))
    else:
        require("alpha", not 0 < parts[0] < 1, "<= 0, >= 1 or complex", alpha)
    require("alpha", all(isinstance(part, Fraction) for part in parts), "finite", alpha)
    return tuple(Fraction(part) for part in parts)


def _number(order: Order) -> Any:
    """Round the order, real or complex, to the working precision."""
    return mp.mpc(real(order[0]), real(order[1])) if len(order) == 2 else real(order[0])


def log_a(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Logarithm of the alpha-th moment of the density ratio.

    .. math:: \log A(\alpha) = \log \int \mu_0(z)
              \left(\frac{\mu(z)}{\mu_0(z)}\right)^{\alpha} dz, \quad
              \mu_0 = N(0, \sigma^2), \quad \mu = (1-q) \mu_0 + q N(1, \sigma^2)

    Parameters
    ----------
    q, sigma
        Sampling rate in [0, 1] and noise multiplier > 0. Floats are exact binary numbers; strings
        and fractions are taken as written, so ``"0.1"`` is one tenth.
    alpha
        Order: real, <= 0 or >= 1, or complex. The logarithm of a complex moment is the principal
        one.
    digits
        Relative accuracy of the result, in decimal digits.

    Returns
    -------
    mpmath.mpf or mpmath.mpc

    Raises
    ------
    ValueError
        An argument is outside its range.
    ArithmeticError
        Two evaluations did not agree to the digits asked for, or a complex order makes the
        integrand turn so often that the moment is hopelessly small against A(Re alpha).

    Examples
    --------
    >>> import mpmath
    >>> mpmath.nstr(log_a(0.01, 1.0, 2), 16)
    '0.0001718134220745479'
    >>> mpmath.nstr(log_a("1e-12", 10**6, "1.00000001", digits=20), 20)
    '5.0000000500025e-45'
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    if rate == 0 or (len(order) == 1 and order[0] in (0, 1)):
        return mp.zero
    if rate == 1:
        with mp.workdps(digits + 5):
            return _number(order) * (_number(order) - 1) / (2 * real(noise) ** 2)

    def compute(work: int, variant: int) -> Any:
        peak, (total,) = integrals(rate, noise, order, lambda loss: (1,), work, variant)
        return mp.log(total) + peak

    return settle(compute, digits)


def log_a_derivative(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""First derivative of log A in alpha: the tilted mean E[L e^{alpha L}]/E[e^{alpha L}].

    L is the log density ratio, u standard normal. At alpha = 1 it is the Kullback-Leibler
    divergence. Arguments and errors as for ``log_a``.

    >>> import mpmath
    >>> mpmath.nstr(log_a_derivative(0.01, 1.0, 2), 12)
    '0.000262104883578'
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    if rate == 0:
        return mp.zero
    if rate == 1:
        with mp.workdps(digits + 5):
            return (2 * _number(order) - 1) / (2 * real(noise) ** 2)

    def compute(work: int, variant: int) -> Any:
        _, (total, first) = integrals(rate, noise, order, lambda loss: (1, loss), work, variant)
        return first / total

    return settle(compute, digits)


def log_a_second_derivative(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Second derivative of log A in alpha: the variance of L under the tilted density.

    Arguments and errors as for ``log_a``.

    >>> import mpmath
    >>> mpmath.nstr(log_a_second_derivative(0.01, 1.0, 2), 12)
    '0.000185387235668'
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    if rate == 0:
        return mp.zero
    if rate == 1:
        with mp.workdps(digits + 5):
            return 1 / real(noise) ** 2

    def compute(work: int, variant: int) -> Any:
        def terms(loss: Any) -> Sequence[Any]:
            return 1, loss, loss * loss

        _, (total, first, second) = integrals(rate, noise, order, terms, work, variant)
        return second / total - (first / total) ** 2

    return settle(compute, digits)


def rdp_sampled_gaussian(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    """Rényi divergence log A(alpha)/(alpha - 1) of order alpha >= 1.

    It is the Rényi-DP of the Poisson-sampled Gaussian mechanism (Mironov, Talwar, Zhang 2019,
    Theorems 4 and 5); alpha = 1 is the Kullback-Leibler divergence. Errors as for ``log_a``.

    >>> import mpmath
    >>> mpmath.nstr(rdp_sampled_gaussian("0.2", 4, 4), 16)
    '0.005262844037639986'
    """
    order = exact("alpha", alpha)
    require("alpha", 1 <= order < math.inf, ">= 1 and finite", alpha)
    if order == 1:
        return log_a_derivative(q, sigma, 1, digits)
    value = log_a(q, sigma, alpha, digits + 2)
    with mp.workdps(digits + 5):
        return value / real(order - 1)


def rdp_gaussian(sigma: Number, alpha: Number, digits: int = 50) -> Any:
    """Rényi divergence alpha/(2 sigma^2) of the Gaussian mechanism, alpha >= 1.

    >>> rdp_gaussian(2.0, 8)
    mpf('1.0')
    """
    check_digits(digits)
    noise, order = exact("sigma", sigma), exact("alpha", alpha)
    require("sigma", noise > 0, "positive", sigma)
    require("alpha", 1 <= order < math.inf, ">= 1 and finite", alpha)
    with mp.workdps(digits + 5):
        return real(order) / (2 * real(noise) ** 2)


def rdp_sampled_gaussian_bound(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    """Closed-form bound 2 q^2 alpha / sigma^2 on the Rényi divergence.

    Mironov, Talwar, Zhang 2019, Theorem 11. With L = log(1 + 1/(q (alpha - 1))) it holds if

    * 0 < q <= 1/5 and sigma >= 4,
    * 1 < alpha <= sigma^2 L / 2 - 2 log sigma,
    * alpha (L + log(q alpha) + 1/(2 sigma^2)) <= sigma^2 L^2 / 2 - log 5 - 2 log sigma.

    The factor of alpha in the last line is positive: e^L q alpha = q alpha + alpha/(alpha - 1) > 1.

    Raises
    ------
    ValueError
        A condition does not hold; the message names it.

    Examples
    --------
    >>> import mpmath
    >>> mpmath.nstr(rdp_sampled_gaussian_bound(0.01, 4.0, 8), 5)
    '0.0001'
    """
    check_digits(digits)
    rate, noise, order = exact("q", q), exact("sigma", sigma), exact("alpha", alpha)
    fifth = Fraction(0.2)  # the double next to 1/5 counts as 1/5
    require("q", 0 < rate <= fifth, "in (0, 1/5] for the closed-form bound", q)
    require("sigma", 4 <= noise < math.inf, "in [4, inf) for the closed-form bound", sigma)
    require("alpha", 1 < order < math.inf, "> 1 and finite", alpha)
    with mp.workdps(digits + 15):
        p, s, a = real(rate), real(noise), real(order)
        log_term = mp.log1p(1 / (p * real(order - 1)))
        first = s**2 * log_term / 2 - 2 * mp.log(s)
        require(
            "alpha", a <= first, "at most sigma^2 L/2 - 2 log sigma = " + mp.nstr(first, 8), alpha
        )
        second = (s**2 * log_term**2 / 2 - mp.log(5) - 2 * mp.log(s)) / (
            log_term + mp.log(p * a) + 1 / (2 * s**2)
        )
        rule = "(sigma^2 L^2/2 - log 5 - 2 log sigma)/(L + log(q alpha) + 1/(2 sigma^2)) = "
        require("alpha", a <= second, "at most " + rule + mp.nstr(second, 8), alpha)
        return 2 * p**2 * a / s**2
