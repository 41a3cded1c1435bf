"""From one Rényi guarantee to (epsilon, delta): order alpha > 1, divergence rho, no other orders.

Closed forms: Mironov 2017, Proposition 3; Balle et al. 2020, Theorem 21 (the delta of Canonne,
Kamath, Steinke 2020, Proposition 12, is the same statement); Asoodeh et al. 2020. The best possible
conversion is in ``_optimal``. Results are never below 0, and delta never above 1.

In all of them ``digits`` is the relative accuracy of the result; ValueError names an argument
outside its range (alpha > 1, rho >= 0, delta in (0, 1), epsilon >= 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from renyi.reference._numbers import Number, check_digits, exact, mp, real, require, settle


def _arguments(alpha: Number, rho: Number, digits: int) -> tuple[Fraction, Fraction]:
    check_digits(digits)
    order, divergence = exact("alpha", alpha), exact("rho", rho)
    require("alpha", 1 < order < math.inf, "> 1 and finite", alpha)
    require("rho", 0 <= divergence < math.inf, ">= 0 and finite", rho)
    return Fraction(order), Fraction(divergence)


def _delta(delta: Number) -> Fraction:
    value = exact("delta", delta)
    require("delta", 0 < value < 1, "in (0, 1)", delta)
    return Fraction(value)


def _epsilon(epsilon: Number) -> Fraction:
    value = exact("epsilon", epsilon)
    require("epsilon", 0 <= value < math.inf, ">= 0 and finite", epsilon)
    return Fraction(value)


def _clamped(formula: Callable[[], Any], digits: int, top: Any = mp.inf) -> Any:
    """Evaluate the formula to the digits asked for, cut at 0 and, for delta, at 1."""

    def compute(work: int, variant: int) -> Any:
        value = formula()
        return min(value, top) if value > 0 else -mp.one  # -1: cut

    return max(settle(compute, digits), mp.zero)


def epsilon_mironov(alpha: Number, rho: Number, delta: Number, digits: int = 50) -> Any:
    """Mironov 2017, Proposition 3: rho + log(1/delta)/(alpha - 1).

    >>> round(float(epsilon_mironov(2, 0.1, 1e-5)), 4)
    11.6129
    """
    a, r = _arguments(alpha, rho, digits)
    d = _delta(delta)
    return _clamped(lambda: real(r) - mp.log(real(d)) / real(a - 1), digits)


def delta_mironov(alpha: Number, rho: Number, epsilon: Number, digits: int = 50) -> Any:
    """Mironov 2017, Proposition 3: exp((alpha - 1)(rho - epsilon)), at most 1.

    >>> round(float(delta_mironov(2, 0.1, 11.6129)), 8)
    1e-05
    """
    a, r = _arguments(alpha, rho, digits)
    e = _epsilon(epsilon)
    return _clamped(lambda: mp.exp(real((a - 1) * (r - e))), digits, top=1)


def epsilon_balle(alpha: Number, rho: Number, delta: Number, digits: int = 50) -> Any:
    """Balle et al. 2020, Theorem 21: rho + log(1 - 1/alpha) - log(alpha delta)/(alpha - 1).

    >>> round(float(epsilon_balle(2, 0.1, 1e-5)), 4)
    10.2266
    """
    a, r = _arguments(alpha, rho, digits)
    d = _delta(delta)
    return _clamped(lambda: _balle(a, r, d), digits)


def _balle(a: Fraction, r: Fraction, d: Fraction) -> Any:
    return real(r) + mp.log1p(-1 / real(a)) - mp.log(real(d * a)) / real(a - 1)


def delta_balle(alpha: Number, rho: Number, epsilon: Number, digits: int = 50) -> Any:
    """Balle et al. 2020: exp((alpha-1)(rho-epsilon)) (1-1/alpha)^alpha / (alpha-1), at most 1.

    >>> round(float(delta_balle(2, 0.1, 10.2266)), 8)
    1e-05
    """
    a, r = _arguments(alpha, rho, digits)
    e = _epsilon(epsilon)
    return _clamped(lambda: _delta_balle(a, r, e), digits, top=1)


def _delta_balle(a: Fraction, r: Fraction, e: Fraction) -> Any:
    return mp.exp(real((a - 1) * (r - e)) + real(a - 1) * mp.log1p(-1 / real(a))) / real(a)


def epsilon_asoodeh(alpha: Number, rho: Number, delta: Number, digits: int = 50) -> Any:
    """Asoodeh et al. 2020: a second closed form, or that of Balle where it is smaller.

    log(1 + (exp((alpha - 1) rho) - 1)/(alpha delta))/(alpha - 1)

    >>> round(float(epsilon_asoodeh(2, 0.1, 1e-5)), 4)
    8.5678
    >>> round(float(epsilon_asoodeh(5, 0.5, 1e-3)), 4)  # here Balle's is the smaller one
    1.6014
    """
    a, r = _arguments(alpha, rho, digits)
    d = _delta(delta)

    def formula() -> Any:
        other = mp.log1p(mp.expm1(real((a - 1) * r)) / real(a * d)) / real(a - 1)
        return min(_balle(a, r, d), other)

    return _clamped(formula, digits)


def delta_asoodeh(alpha: Number, rho: Number, epsilon: Number, digits: int = 50) -> Any:
    """Asoodeh et al. 2020: a second closed form, or that of Balle where it is smaller.

    (exp((alpha - 1) rho) - 1)/(alpha (exp((alpha - 1) epsilon) - 1))

    >>> round(float(delta_asoodeh(2, 0.1, 8.5678)), 8)
    1e-05
    """
    a, r = _arguments(alpha, rho, digits)
    e = _epsilon(epsilon)

    def formula() -> Any:
        if e == 0:
            return _delta_balle(a, r, e)
        other = mp.expm1(real((a - 1) * r)) / (real(a) * mp.expm1(real((a - 1) * e)))
        return min(_delta_balle(a, r, e), other)

    return _clamped(formula, digits, top=1)


def delta_from_kl(rho: Number, digits: int = 50) -> Any:
    """Return delta = sqrt(1 - exp(-rho)) of a (0, delta) guarantee; rho of any order >= 1.

    Bretagnolle, Huber 1979: a bound on the total variation.

    >>> round(float(delta_from_kl(0.02)), 6)
    0.140717
    """
    _, r = _arguments(2, rho, digits)
    return _clamped(lambda: mp.sqrt(-mp.expm1(-real(r))), digits)
