"""What a release draws: noise beside numbers, or one of many candidates; what it costs, its tails.

Laplace and Gaussian noise is ideal and then rounded to multiples of a power of two. The exact sum
is split in a multiple of that and a rest: rounding the rest with the noise rounds the whole, so
that a sum of any size is post-processing of the ideal mechanism (Mironov 2012, CCS, is withstood).

A candidate is drawn exactly with probability proportional to e^(-x). Doubles would leave holes:
weights that underflow are never drawn, and sums of weights are rounded (Ilvento 2020, arXiv
1912.04222). Here a candidate is proposed by whole-number weights, somewhat above 2^b e^(-x), and
accepted with probability 2^b e^(-x) over its weight: a uniform number, of which bits are drawn as
needed, is compared with brackets of that, narrower and narrower.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._rounding import above
from renyi._validation import Range, float_above, number_in
from renyi.mechanisms import DiscreteLaplace, Gaussian, Laplace, Mechanism, PureDP
from renyi.noise import (
    SecureGenerator,
    add_discrete_laplace_noise,
    add_gaussian_noise,
    add_laplace_noise,
    noise_lattice,
)

DISCRETE, LAPLACE, GAUSSIAN = "discrete_laplace", "laplace", "gaussian"

MULTIPLIER = Range(2.0**-20, 2.0**24)
EPSILON = Range(2.0**-20, 2.0**20)
RHO = Range(2.0**-40, 2.0**40)

# Shares are priced this much lower, so that those which add up to a budget fit in it: filters
# round every sum up.
REDUCED = 1 - Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class Noise:
    """A law of independent noise for each number released, and what all of them cost."""

    law: str
    scale: float
    mechanism: Mechanism

    @property
    def spacing(self) -> float:
        """The lattice it is rounded to, 0 for noise on whole numbers."""
        return 0.0 if self.law == DISCRETE else noise_lattice(self.scale)

    def add_to_counts(
        self, counts: npt.NDArray[np.int64], generator: SecureGenerator
    ) -> npt.NDArray[np.int64]:
        """Return whole numbers with noise, rounded to whole numbers again."""
        if self.law == DISCRETE:
            return add_discrete_laplace_noise(counts.copy(), self.scale, generator=generator)
        return np.rint(self._added(counts.astype(np.float64), generator)).astype(np.int64)

    def add_to_sum(self, total: int, step: Fraction, generator: SecureGenerator) -> Fraction:
        """Return ``total`` times ``step`` and noise, rounded to the lattice: exactly that."""
        spacing = Fraction(self.spacing)
        whole, rest = divmod(total * step, spacing)
        noisy = self._added(np.array([float(rest)]), generator)  # exact, see `fits`
        return whole * spacing + Fraction(float(noisy[0]))

    def fits(self, step: Fraction) -> bool:
        """Whether every multiple of ``step`` below the spacing is a double."""
        return Fraction(self.spacing) <= step * 2**53

    def _added(
        self, numbers: npt.NDArray[np.float64], generator: SecureGenerator
    ) -> npt.NDArray[np.float64]:
        add = add_gaussian_noise if self.law == GAUSSIAN else add_laplace_noise
        return add(numbers, self.scale, generator=generator)


def noise_of(
    noise: Any,
    epsilon: Any,
    rho: Any,
    *,
    replaced: bool,
    distance: Fraction = Fraction(1),
    parts: int = 1,
    whole: bool = False,
    joint: bool = False,
) -> Noise:
    """Return the noise that was asked for, on numbers which neighbours move.

    Args:
        noise, epsilon, rho: One of them: a mechanism, or what all of the release may cost.
        replaced: Whether neighbours replace a record: accountants then take it that a query moves
            by twice what the presence of a record does, so that this is half of ``distance``.
        distance: How far neighbours move a number.
        parts: How many numbers neighbours move as far, each charged by itself.
        whole: Whether the numbers are whole.
        joint: Whether several numbers are moved by ``distance`` in all, in the L1 norm.
    """
    asked = _asked(noise, epsilon, rho, 2 if replaced else 1, parts, whole)
    if isinstance(asked, DiscreteLaplace):
        # One step apart on whole numbers: losses are 1/scale and -1/scale, those of pure privacy.
        loss = PureDP(float_above(1 / Fraction(asked.scale)))
        return Noise(DISCRETE, asked.scale, _times(loss if replaced else asked, parts))
    multiplier = Fraction(asked.noise_multiplier)
    scale = float_above(multiplier * distance / (2 if replaced else 1))
    charged: Mechanism = asked
    if joint and isinstance(asked, Laplace):
        charged = PureDP(float_above((2 if replaced else 1) / multiplier))
    law = GAUSSIAN if isinstance(asked, Gaussian) else LAPLACE
    return Noise(law, scale, _times(charged, parts))


def _times(mechanism: Mechanism, parts: int) -> Mechanism:
    return mechanism if parts == 1 else mechanism * parts


def _asked(
    noise: Any, epsilon: Any, rho: Any, half: int, parts: int, whole: bool
) -> DiscreteLaplace | Laplace | Gaussian:
    if sum(value is not None for value in (noise, epsilon, rho)) != 1:
        raise ValueError(
            "one of noise, epsilon and rho must be given, got "
            f"noise {noise!r}, epsilon {epsilon!r}, rho {rho!r}"
        )
    if epsilon is not None:
        share = Fraction(number_in(epsilon, "epsilon", EPSILON)) * REDUCED / parts
        return (
            DiscreteLaplace(float_above(1 / share)) if whole else Laplace(float_above(half / share))
        )
    if rho is not None:
        share = Fraction(number_in(rho, "rho", RHO)) * REDUCED / parts
        return Gaussian(above(half * math.sqrt(float_above(1 / (2 * share)))))
    # No subclass: it could tell the accountant another scale than the generator.
    if type(noise) is Gaussian or type(noise) is Laplace:
        number_in(noise.noise_multiplier, "noise_multiplier of noise", MULTIPLIER)
        return noise
    if whole and type(noise) is DiscreteLaplace and noise.sensitivity == 1:
        number_in(noise.scale, "scale of noise", MULTIPLIER)
        return noise
    kinds = (
        "Gaussian, Laplace or DiscreteLaplace of sensitivity 1" if whole else "Gaussian, Laplace"
    )
    raise TypeError(f"noise must be a mechanism, {kinds}, got {noise!r}")


def tail_point(law: str, scale: float, outside: float) -> float:
    """Return t, rounded up, with P(|noise| > t) <= ``outside``, before it is rounded.

    For noise on whole numbers t is the least whole number.
    """
    if law == GAUSSIAN:
        return above(above(-NormalDist().inv_cdf(0.5 * outside) * (1.0 + 1e-9)) * scale)
    if law == LAPLACE:
        return above(above(-math.log(outside)) * scale)
    # P(|Y| > t) = 2 e^(-(t+1)/scale) / (1 + e^(-1/scale))
    depth = math.log(2.0 / outside) - math.log1p(math.exp(-1.0 / scale))
    return max(0.0, math.ceil(depth * scale * (1.0 + 1e-12)) - 1.0)


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
