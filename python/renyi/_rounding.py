"""Outward rounding of short formulas, by margins for their errors, and of printed numbers.

A margin of sixteen units of 2^-52 covers eight operations, each within two units: IEEE arithmetic,
and exp, log, erfc and similar functions of C libraries.
"""

import math
import sys
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from renyi._validation import decimal_of, float_above, integer_of

MARGIN = 2.0**-48
DIGITS = 4  # of printed numbers
_LARGEST_COUNT = 10**300
_LIMITS = "epsilon {epsilon} at delta {delta}"
_PAIR = "epsilon {epsilon} at this delta (delta {delta} at this epsilon)"


def above(value: float) -> float:
    """Return a number at least the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value + abs(value) * MARGIN, math.inf)


def below(value: float) -> float:
    """Return a number at most the exact value of the formula that gave ``value``."""
    return value if math.isinf(value) else math.nextafter(value - abs(value) * MARGIN, -math.inf)


def exp_above(exponent: float, size: float = 0.0) -> float:
    """Return e^exponent rounded up, at most 1; ``size`` bounds the terms of the exponent."""
    if exponent == -math.inf:  # it has overflowed: the result is never 0
        return 5e-324
    raised = exponent + MARGIN * (1.0 + abs(exponent) + size)
    return 1.0 if raised >= 0.0 else math.nextafter(math.exp(raised), 1.0)


_UP = Context(prec=50, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))


def exact_exp_above(value: Fraction) -> Fraction:
    """Return e^value, one ulp of 50 digits up: `decimal` rounds ln and exp correctly."""
    return Fraction(_UP.exp(_decimal_up(value)).next_plus(_UP))


def exact_log_above(value: Fraction) -> Fraction:
    """Return log(value) rounded up, for a value of at least 1; near 1 it is value - 1."""
    if value - 1 < Fraction(1, 10**40):
        return value - 1
    return Fraction(_UP.ln(_decimal_up(value)).next_plus(_UP))


def _decimal_up(value: Fraction) -> Decimal:
    return _UP.divide(Decimal(value.numerator), Decimal(value.denominator))


def loss_deviations(epsilon: float, distance: float, sigma: float) -> float:
    """Return epsilon/mu - mu/2, mu = distance/sigma, rounded down; epsilon finite.

    The privacy loss of Gaussian noise is normal: ``epsilon`` is above its mean by this many
    standard deviations.
    """
    mu = distance / sigma
    if mu < sys.float_info.min:  # few digits are left
        if epsilon < 0.0:
            return -math.inf
        mu = above(mu)
    ahead, behind = epsilon / mu, 0.5 * mu
    if math.isinf(ahead) or math.isinf(behind):
        return ahead - behind
    return math.nextafter(ahead - behind - MARGIN * (abs(ahead) + behind), -math.inf)


def count_above(value: object, name: str) -> float:
    """Return an integer from 1 to 10^300 as a float, rounded up."""
    count = integer_of(value, name, 1)
    if count > _LARGEST_COUNT:
        raise ValueError(
            f"{name} must be an integer from 1 to 10^300, got one of {count.bit_length()} bits"
        )
    return float_above(count)


# Printed numbers: only here are digits of a guarantee left out.


def round_up(value: float, digits: int = DIGITS) -> str:
    """Return the decimal of ``digits`` significant digits that is not below ``value``.

    >>> round_up(2.08501, 4), round_up(3.15e-7, 2), round_up(0.0, 4)
    ('2.086', '3.2e-7', '0')
    """
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = DIGITS) -> str:
    """Return the decimal of ``digits`` significant digits that is not above ``value``."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    value = float(value)
    if not math.isfinite(value) or value == 0.0:
        return decimal_of(abs(value) if value == 0.0 else value)
    exact = Decimal(value)
    for _ in range(2):  # twice: 9.9996 becomes 10.000, which has a digit too many
        exact = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding)
    if not 1e-3 <= abs(value) < 1e7:
        return f"{exact:e}".replace("e+", "e")
    return f"{exact:f}"


def round_double(value: float, digits: int, rounding: Callable[[float, int], str]) -> str:
    """Round a number that is read back as a double, in the direction of ``rounding``.

    Unlike ``round_up`` alone, this leaves 0.01 alone, whose double is a little above one hundredth.

    >>> round_up(0.01, 4), round_double(0.01, 4, round_up), round_double(0.123456, 4, round_up)
    ('0.01001', '0.01000', '0.1235')
    """
    nearest = _rounded(value, digits, ROUND_HALF_EVEN)
    return nearest if float(nearest) == value else rounding(value, digits)


# The message if a budget would be exceeded.


def refusal(
    subject: str,
    asked: str,
    limits: Mapping[str, float],
    fits: int,
    spent: Mapping[str, float],
    with_all: Mapping[str, float],
    with_fitting: Mapping[str, float],
) -> str:
    r"""Return the message of a refusal: so many uses would fit within the limits.

    ``spent``, ``with_all`` and ``with_fitting`` are upper bounds on the spent budget: epsilon at
    the delta of the budget and delta at its epsilon, or the amount of another unit.

    >>> budget, *spent = [{"rho": amount} for amount in (0.1, 0.0625, 0.125, 0.09375)]
    >>> print(refusal("noise", "4 uses", budget, 2, *spent).replace("; ", "\n"))
    noise must fit in the budget, rho 0.1, got 4 uses, rho 0.1250 with them
    spent is rho 0.06250, left rho 0.03750
    2 would fit, rho 0.09375 with them
    """
    if all(with_all[name] <= limit for name, limit in limits.items()):  # a filter may round more
        with_all = {name: math.nextafter(limit, math.inf) for name, limit in limits.items()}
    spent, with_all, with_fitting = (
        {name: amounts[name] for name in limits} for amounts in (spent, with_all, with_fitting)
    )
    whole = {name: decimal_of(limit) for name, limit in limits.items()}
    left = {name: _less(limit, spent[name]) for name, limit in limits.items()}
    return (
        f"{subject} must fit in the budget, {_words(whole, _LIMITS)}, got {asked}, "
        f"{_upper(with_all)} with them; spent is {_upper(spent)}, left {_words(left)}; "
        f"{fits} would fit" + (f", {_upper(with_fitting)} with them" if fits else "")
    )


def _upper(amounts: Mapping[str, float]) -> str:
    return _words({name: round_double(amount, 4, round_up) for name, amount in amounts.items()})


def _less(limit: float, spent: float) -> str:
    if spent == 0.0:
        return decimal_of(limit)
    exact, less = Fraction(limit) - Fraction(min(spent, limit)), limit - min(spent, limit)
    return round_down(less if less <= exact else math.nextafter(less, 0.0), 4)


def _words(words: Mapping[str, str], pair: str = _PAIR) -> str:
    """Return names and amounts; epsilon and delta describe the same amount."""
    both = [pair.format(**words)] if "delta" in words else []
    rest = [name for name in words if not both or name not in ("epsilon", "delta")]
    return ", ".join(both + [f"{name} {words[name]}" for name in rest])
