"""Exact arguments and correct digits, shared by the reference functions."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import mpmath

mp: Any = mpmath.mp
Number = Any  # int, float, str, Decimal, Fraction, mpmath number, NumPy scalar


def exact(name: str, value: Number) -> Fraction | float:
    """Return the argument as an exact fraction; a float is the binary number it holds, +-inf stays.

    >>> exact("q", 0.1)
    Fraction(3602879701896397, 36028797018963968)
    >>> exact("q", "0.1")
    Fraction(1, 10)
    """
    if isinstance(value, mpmath.mpf):
        sign, mantissa, exponent, _ = value._mpf_
        if mpmath.isfinite(value):
            return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)
        value = float(value)
    if isinstance(value, Rational):  # NumPy integers too, whose own arithmetic overflows
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str | Decimal):
        try:
            return Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            pass  # not a number: refused below
    elif hasattr(value, "__float__"):
        number = float(value)
        if math.isfinite(number):
            return Fraction(number)
        if math.isinf(number):
            return number
    else:
        raise TypeError(f"{name} must be a real number, got {value!r}")
    raise ValueError(f"{name} must be a number, got {value!r}")


def require(name: str, allowed: bool, domain: str, value: Number) -> None:
    """Raise ValueError in the form used by the whole package."""
    if not allowed:
        raise ValueError(f"{name} must be {domain}, got {value!r}")


def check_digits(digits: Any) -> None:
    """Refuse anything but 1 to 10,000 decimal digits."""
    if isinstance(digits, bool) or not isinstance(digits, Integral):
        raise TypeError(f"digits must be an int, got {digits!r}")
    require("digits", 1 <= int(digits) <= 10_000, "in [1, 10000]", digits)


def real(value: Fraction | float) -> Any:
    """Round the exact argument to the working precision."""
    if isinstance(value, float):
        return mp.mpf(value)
    return mp.mpf(value.numerator) / value.denominator


Domain = tuple[str, Callable[[Any], bool]]
POSITIVE: Domain = "positive and finite", lambda x: 0 < x < math.inf
NOT_NEGATIVE: Domain = ">= 0 and finite", lambda x: 0 <= x < math.inf
FINITE: Domain = "finite", lambda x: -math.inf < x < math.inf
BETWEEN: Domain = "in (0, 1)", lambda x: 0 < x < 1
UNIT: Domain = "in [0, 1]", lambda x: 0 <= x <= 1
RATE: Domain = "in (0, 1]", lambda x: 0 < x <= 1
ORDER: Domain = ">= 1 and finite", lambda x: 1 <= x < math.inf
ABOVE_ONE: Domain = "> 1 and finite", lambda x: 1 < x < math.inf


def within(name: str, value: Number, domain: Domain) -> Fraction:
    """Return a number of a domain exactly.

    >>> within("alpha", 1.5, ORDER)
    Fraction(3, 2)
    """
    words, holds = domain
    number = exact(name, value)
    require(name, holds(number), words, value)
    return Fraction(number)


def positive(name: str, value: Number) -> Fraction | float:
    """Return the argument exactly: a positive number, or inf.

    >>> positive("scale", 0.5)
    Fraction(1, 2)
    """
    number = exact(name, value)
    require(name, number > 0, "positive", value)
    return number


def whole(name: str, value: Number, least: int) -> int:
    """Return a whole number that is not below ``least``."""
    number = exact(name, value)
    fits = isinstance(number, Fraction) and number.denominator == 1 and number >= least
    require(name, fits, f"a whole number >= {least}", value)
    return int(number)


def agreed(compute: Callable[[int, int], Any], digits: int, start: int = 0) -> Any:
    """Evaluate until two runs agree to 10^-digits, relatively; this alone decides the accuracy.

    ``compute(work, variant)`` works with ``work`` decimal digits; the second variant must compute
    in another way (other nodes, other brackets); for a closed form more digits are enough. A small
    value costs digits (log A of A = 1 + tiny): the working precision grows to cover them.
    """
    work = max(start, digits + 15)
    patience = 4  # disagreements; those by known lost digits do not count
    while patience:
        with mp.workdps(work):
            first = compute(work, 0)
        size = _decade(first)
        if work < digits + 10 - size:  # digits are lost, or the value is only rounding noise
            work = digits + 12 - size if size > -work + 3 else 2 * work
            continue
        with mp.workdps(work + 7):
            second = compute(work + 7, 1)
            if abs(first - second) <= abs(second) * mp.mpf(10) ** (-digits - 2):
                break
        work += work // 2
        patience -= 1
    else:
        raise ArithmeticError(f"{digits} digits not reached with {work} working digits")
    with mp.workdps(digits + 5):
        return +second


def _decade(value: Any) -> int:
    """Return the decimal exponent of a value below 1, else 0; -10^9 for an exact zero."""
    if value == 0:
        return -(10**9)
    return min(0, int(mp.floor(mp.log10(abs(value)))))


def lowest(value: Callable[[Any], Any], low: Any, high: Any, digits: int) -> Any:
    """Return the place of the minimum in [low, high] to 10^-digits of the interval: golden section.

    >>> round(float(lowest(lambda x: (x - 2) ** 2, mp.zero, mp.mpf(5), 10)), 8)
    2.0
    """
    golden = (mp.sqrt(5) - 1) / 2
    smallest = (high - low) * mp.mpf(10) ** -digits
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = value(left), value(right)
    while high - low > smallest:
        if at_left > at_right:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = value(left)
    return (low + high) / 2


def root(f: Callable[[Any], Any], low: Any, high: Any, variant: int, digits: int) -> Any:
    """Return the root of a rising function to relative 10^-digits.

    The ends, of which only ``low`` may be 0, are doubled until the root lies between them.
    Chandrupatla 1997: bisection until inverse quadratic interpolation is safe.

    >>> round(float(root(lambda x: x**3 - 8, -mp.one, mp.one, 0, 10)), 8)
    2.0
    """
    while (at_low := f(low)) > 0:
        low *= 2
    while (at_high := f(high)) < 0:
        high *= 2
    if at_low == 0:
        return low
    a, b, fa, fb = (low, high, at_low, at_high) if variant == 0 else (high, low, at_high, at_low)
    c, fc = a, fa
    step = mp.mpf(1) / 2
    eps = mp.mpf(10) ** -digits
    for _ in range(60 + 8 * mp.prec):
        x = a + step * (b - a)
        fx = f(x)
        if (fx < 0) == (fa < 0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        tolerance = eps * max(abs(a), abs(b)) / abs(b - a)
        if tolerance > 0.5 or fa == 0:
            return a if abs(fa) < abs(fb) else b
        step = mp.mpf(1) / 2
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:  # inverse interpolation is monotone here
            step = fa / (fb - fa) * fc / (fb - fc)
            step += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            step = min(max(step, tolerance), 1 - tolerance)
    raise ArithmeticError("no convergence of a bracketed root")
