"""Privacy curves of the Gaussian mechanism and of one sampled Gaussian step, by their closed forms.

Balle, Wang 2018, Theorem 8; Balle, Barthe, Gaboardi 2018, Theorem 2. Every value is a difference of
normal tails at enough digits to survive it, every inverse a bisection of such values.

In all of them ``digits`` is the relative accuracy of the result; ValueError names an argument
outside its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from renyi.reference._numbers import Number, check_digits, exact, mp, real, require, settle

Curve = Callable[[Any], Any]


def _positive(name: str, value: Number) -> Fraction:
    number = exact(name, value)
    require(name, 0 < number < math.inf, "positive and finite", value)
    return Fraction(number)


def _finite(name: str, value: Number) -> Fraction:
    number = exact(name, value)
    require(name, -math.inf < number < math.inf, "finite", value)
    return Fraction(number)


def _probability(name: str, value: Number) -> Fraction:
    number = exact(name, value)
    require(name, 0 < number < 1, "in (0, 1)", value)
    return Fraction(number)


def _tail(x: Any) -> Any:
    """Return P(N > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def _gaussian(mu: Any, epsilon: Any) -> Any:
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return _tail(a) - mp.exp(epsilon) * _tail(b)


def _sampled(q: Any, sigma: Any, epsilon: Any, add: bool) -> Any:
    """Compare the two laws beyond the point where their ratio is e^epsilon."""
    odds = (mp.exp(-epsilon if add else epsilon) - 1 + q) / q
    if odds <= 0:
        return mp.zero if add else 1 - mp.exp(epsilon)
    x = sigma * mp.log(odds) + 1 / (2 * sigma)
    if add:
        without, present = _tail(-x), _tail(1 / sigma - x)
        return without - mp.exp(epsilon) * ((1 - q) * without + q * present)
    without, present = _tail(x), _tail(x - 1 / sigma)
    return (1 - q) * without + q * present - mp.exp(epsilon) * without


def gaussian_delta(mu: Number, epsilon: Number, digits: int = 50) -> Any:
    """Return Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), epsilon of either sign.

    >>> round(float(gaussian_delta(1, 2)), 10)
    0.0209236358
    """
    m, e = _positive("mu", mu), _finite("epsilon", epsilon)
    check_digits(digits)
    return settle(lambda work, variant: _gaussian(real(m), real(e)), digits)


def gaussian_tradeoff(mu: Number, alpha: Number, digits: int = 50) -> Any:
    """Return Phi(Phi^-1(1 - alpha) - mu): Dong, Roth, Su 2022, Definition 2.6.

    >>> round(float(gaussian_tradeoff(1, 0.05)), 10)
    0.7404889772
    """
    m, a = _positive("mu", mu), _probability("alpha", alpha)
    check_digits(digits)
    return settle(lambda work, variant: _tail(real(m) - _quantile(real(a), work)), digits)


def _quantile(p: Any, work: int) -> Any:
    """Return x with P(N > x) = p, by Newton's method on the logarithm of the smaller tail."""
    if p > 0.5:
        return -_quantile(1 - p, work)
    with mp.workdps(work + 10 - int(mp.log10(p))):
        x = mp.sqrt(-2 * mp.log(p))
        for _ in range(200):
            tail = _tail(x)
            step = mp.log(tail / p) * tail / mp.npdf(x)
            x += step
            if abs(step) < mp.mpf(10) ** (-work - 5):
                return x
    raise ArithmeticError(f"{work} digits of a normal quantile not reached")


def gaussian_epsilon(mu: Number, delta: Number, digits: int = 50) -> Any:
    """Return the epsilon at which `gaussian_delta` is delta.

    >>> round(float(gaussian_epsilon(1, 1e-5)), 9)
    4.377178096
    """
    m, d = _positive("mu", mu), _probability("delta", delta)
    return _root(lambda x: _gaussian(real(m), x), d, digits)


def gaussian_mu(epsilon: Number, delta: Number, digits: int = 50) -> Any:
    """Return the mu for which `gaussian_delta` is delta at epsilon; ValueError where none is.

    >>> round(float(gaussian_mu(1, 1e-5)), 10)
    0.2680511232
    """
    e, d = _finite("epsilon", epsilon), _probability("delta", delta)
    with mp.workdps(digits + 30):
        require("delta", real(d) > -mp.expm1(real(e)), "above 1 - e^epsilon", delta)
    # As a function of -log mu the curve falls.
    root = _root(lambda x: _gaussian(mp.exp(-x), real(e)), d, digits + 5)
    with mp.workdps(digits + 5):
        return mp.exp(-root)


def sampled_gaussian_delta_remove(
    q: Number, sigma: Number, epsilon: Number, digits: int = 50
) -> Any:
    """Return delta at epsilon of one sampled step, P the law with the record.

    >>> round(float(sampled_gaussian_delta_remove(0.1, 1, 0.5)), 12)
    0.00203253692
    """
    return _sampled_delta(q, sigma, epsilon, digits, add=False)


def sampled_gaussian_delta_add(q: Number, sigma: Number, epsilon: Number, digits: int = 50) -> Any:
    """Return delta at epsilon of one sampled step, Q the law with the record.

    >>> round(float(sampled_gaussian_delta_add(0.01, 0.8, 0.005)), 12)
    0.001463409002
    """
    return _sampled_delta(q, sigma, epsilon, digits, add=True)


def sampled_gaussian_epsilon_remove(
    q: Number, sigma: Number, delta: Number, digits: int = 50
) -> Any:
    """Return the epsilon at which `sampled_gaussian_delta_remove` is delta.

    >>> round(float(sampled_gaussian_epsilon_remove(0.01, 1, 1e-5)), 10)
    0.1994504478
    """
    r, s, d = _rate(q), _positive("sigma", sigma), _probability("delta", delta)
    return _root(lambda x: _sampled(real(r), real(s), x, False), d, digits)


def sampled_gaussian_epsilon_add(q: Number, sigma: Number, delta: Number, digits: int = 50) -> Any:
    """Return the epsilon at which `sampled_gaussian_delta_add` is delta.

    >>> round(float(sampled_gaussian_epsilon_add(0.01, 1, 1e-5)), 12)
    0.009054199658
    """
    r, s, d = _rate(q), _positive("sigma", sigma), _probability("delta", delta)
    return _root(lambda x: _sampled(real(r), real(s), x, True), d, digits)


def _rate(q: Number) -> Fraction:
    rate = exact("q", q)
    require("q", 0 < rate <= 1, "in (0, 1]", q)
    return Fraction(rate)


def _sampled_delta(q: Number, sigma: Number, epsilon: Number, digits: int, add: bool) -> Any:
    r, s, e = _rate(q), _positive("sigma", sigma), _finite("epsilon", epsilon)
    check_digits(digits)
    if add and r < 1:
        with mp.workdps(60 + digits):
            if mp.exp(-real(e)) <= 1 - real(r):
                return mp.zero
    return settle(lambda work, variant: _sampled(real(r), real(s), real(e), add), digits)


def _root(curve: Curve, delta: Fraction, digits: int) -> Any:
    """Solve curve = delta, falling: a bracket, then secants that end where the sign changes."""
    check_digits(digits)
    target = min(delta, 1 - delta)
    lost = max(0, math.ceil(math.log10(target.denominator) - math.log10(target.numerator)))

    def compute(work: int, variant: int) -> Any:
        with mp.workdps(work + lost + 10):
            goal = real(delta)
            low, high = _bracket(curve, goal, mp.mpf(1 if variant == 0 else 1.5))
            here, last = (low + high) / 2, low
            value, last_value = curve(here) - goal, curve(last) - goal
            tolerance = mp.mpf(10) ** -work
            for _ in range(1000):
                low, high = (here, high) if value > 0 else (low, here)
                flat = value == last_value
                following = (low + high) / 2
                if not flat:
                    step = -value * (here - last) / (value - last_value)
                    if abs(step) <= tolerance * abs(here):
                        return here + step
                    following = here + step if low < here + step < high else following
                last, last_value = here, value
                here, value = following, curve(following) - goal
            raise ArithmeticError(f"{digits} digits of a root not reached")

    return settle(compute, digits)


def _bracket(curve: Curve, goal: Any, width: Any) -> tuple[Any, Any]:
    """Return two points around the root, less than a factor of 1 + 2^-9 apart or 2^-60 from 0."""
    low, high = -width, width
    while curve(low) < goal:
        low *= 2
    while curve(high) > goal:
        high *= 2
    while high - low > max(abs(low), abs(high)) / 512 and high - low > mp.mpf(2) ** -60:
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > goal else (low, middle)
    return low, high
