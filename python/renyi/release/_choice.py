"""One of many candidates, drawn exactly with probability proportional to e^(-x).

Doubles would leave holes: weights that underflow are never drawn, and sums of weights are rounded
(Ilvento 2020, arXiv 1912.04222). Here a candidate is proposed by whole-number weights, somewhat
above 2^b e^(-x), and accepted with probability 2^b e^(-x) over its weight: a uniform number, of
which bits are drawn as needed, is compared with brackets of that, narrower and narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi.noise import SecureGenerator

FIRST_BITS = 64


class Exponents(NamedTuple):
    """Numbers x_k of candidates k: bounds of all from below, at least -1, and each exactly.

    The bounds should be next to the numbers, and one of these next to 0: proposals that are refused
    are few then.
    """

    below: npt.NDArray[np.float64]
    at: Callable[[int], Fraction]


def of_ranks(
    below: npt.NDArray[np.int64], upto: npt.NDArray[np.int64], target: Fraction, rate: Fraction
) -> Exponents:
    """Return ``rate`` times the distances of ``target`` from [below, upto], less that of the best.

    Ranks and target are below 2^38, the rate is at most 2^10.
    """
    whole = target.numerator // target.denominator
    rest = float(target - whole)
    distances = np.maximum((below - whole) - rest, (whole - upto) + rest).clip(0.0)

    def distance(k: int) -> Fraction:
        return max(Fraction(int(below[k])) - target, target - int(upto[k]), Fraction(0))

    best = distance(int(np.argmin(distances)))
    # Each is within 2^-52 of itself and of 1.
    error = 2.0**-50 * (1.0 + distances + float(best))
    return Exponents(
        (distances - float(best) - error) * float(rate), lambda k: rate * (distance(k) - best)
    )


def of_utilities(utilities: npt.NDArray[np.float64], rate: Fraction) -> Exponents:
    """Return ``rate`` times how far utilities, finite, are below the best."""
    best = float(utilities.max())
    with np.errstate(over="ignore", under="ignore"):
        # Each operation is within 2^-53, but where there is next to nothing.
        below = np.nextafter((best - utilities) * float(rate) * (1.0 - 2.0**-50), -1.0)
    return Exponents(below, lambda k: rate * (Fraction(best) - Fraction(float(utilities[k]))))


def chosen(exponents: Exponents, generator: SecureGenerator) -> int:
    """Return a candidate k with probability proportional to e^(-x_k)."""
    below, exponent = exponents
    bits = 60 - len(below).bit_length()  # e 2^60 is below 2^63
    # Within 2^-40 of e^(-x) or more, the error of exp included, and at least 1: nothing is lost.
    with np.errstate(under="ignore"):
        scaled = np.exp(-below) * (2.0**bits * (1.0 + 2.0**-40))
    weights = scaled.astype(np.int64) + 1
    sums = np.cumsum(weights)
    total = int(sums[-1])
    while True:
        place = int(np.searchsorted(sums, _uniform(total, generator), side="right"))
        if _accepted(exponent(place), bits, int(weights[place]), generator):
            return place


def _uniform(total: int, generator: SecureGenerator) -> int:
    """Return a whole number in [0, total), each as likely."""
    bits = total.bit_length()
    while True:
        number = _bits(bits, generator)
        if number < total:
            return number


def _bits(count: int, generator: SecureGenerator) -> int:
    size = -(-count // 8)
    return int.from_bytes(generator.bytes(size), "big") >> (8 * size - count)


def _accepted(x: Fraction, shift: int, weight: int, generator: SecureGenerator) -> bool:
    """Return True with probability 2^shift e^(-x) / weight, which is at most 1."""
    bits = FIRST_BITS
    number = _bits(bits, generator)
    while True:
        low, high = _exp_bracket(x, bits)
        if (number + 1) * weight <= low * 2 ** (bits + shift):
            return True
        if number * weight >= high * 2 ** (bits + shift):
            return False
        number = (number << bits) | _bits(bits, generator)
        bits *= 2


def _exp_bracket(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return numbers that enclose e^(-x), some 2^-bits apart."""
    if x > bits:
        return Fraction(0), Fraction(1, 2**bits)
    digits = 10 + bits // 3
    ends = []
    for rounding in (ROUND_CEILING, ROUND_FLOOR):
        context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        exponent = context.divide(Decimal(x.numerator), Decimal(x.denominator))
        value = context.exp(exponent.copy_negate())  # correctly rounded to nearest in any mode
        away = context.next_minus if rounding == ROUND_CEILING else context.next_plus
        ends.append(Fraction(away(value)))
    return max(ends[0], Fraction(0)), ends[1]
