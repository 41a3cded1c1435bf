"""The draws of a release: noise for numbers, or one of many candidates; costs and tails.

Laplace and Gaussian noise is ideal and then rounded to multiples of a power of two. The exact sum
is split into such a multiple and a rest: rounding the rest with the noise rounds the whole. A
released sum of any size is therefore post-processing of the ideal mechanism, which resists the
attack of Mironov 2012, CCS.

A candidate is drawn exactly with probability proportional to e^(-x). Doubles would leave holes:
weights that underflow are never drawn, and sums of weights are rounded (Ilvento 2020, arXiv
1912.04222). Here a candidate is proposed by whole-number weights, somewhat above 2^b e^(-x), and
accepted with probability 2^b e^(-x) over its weight: a uniform number, whose bits are drawn as
needed, is compared with ever narrower brackets of this probability.
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

# The price of a share is lower by this factor, so that shares which add up to a budget fit into it:
# filters round every sum up.
REDUCED = 1 - Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class Noise:
    """A law of independent noise for each released number, and the cost of all of them."""

    law: str
    scale: float
    mechanism: Mechanism

    @property
    def spacing(self) -> float:
        """The spacing of the lattice of the noise, 0 for noise on whole numbers."""
        return 0.0 if self.law == DISCRETE else noise_lattice(self.scale)

    def add_to_counts(
        self, counts: npt.NDArray[np.int64], generator: SecureGenerator
    ) -> npt.NDArray[np.int64]:
        """Return whole numbers with noise, rounded to whole numbers again."""
        if self.law == DISCRETE:
            return add_discrete_laplace_noise(counts.copy(), self.scale, generator=generator)
        return np.rint(self._added(counts.astype(np.float64), generator)).astype(np.int64)

    def add_to_sum(self, total: int, step: Fraction, generator: SecureGenerator) -> Fraction:
        """Return ``total`` times ``step`` plus noise, rounded to the lattice, else exact."""
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
    """Return the noise that the caller asked for, and its mechanism.

    Args:
        noise, epsilon, rho: One of them: a mechanism, or the cost of the whole release.
        replaced: Whether neighbours replace a record. Accountants then assume that neighbours move
            a query twice as far as the presence of a record, which therefore moves half of
            ``distance``.
        distance: The distance that neighbours move a number.
        parts: The count of numbers that neighbours move this far, each charged by itself.
        whole: Whether the numbers are whole.
        joint: Whether neighbours move several numbers by ``distance`` in total, in the L1 norm.
    """
    asked = _asked(noise, epsilon, rho, 2 if replaced else 1, parts, whole)
    if isinstance(asked, DiscreteLaplace):
        # Neighbours are one step apart: losses are 1/scale and -1/scale, those of pure privacy.
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
    # No subclasses: one could give the accountant another scale than the generator.
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
    """Return t, rounded up, with P(|noise| > t) <= ``outside``, noise before rounding.

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
    """Numbers x_k of candidates k: lower bounds of all, at least -1, and each exactly.

    The bounds should be close to the numbers, and the least number close to 0: few proposals are
    then refused.
    """

    below: npt.NDArray[np.float64]
    at: Callable[[int], Fraction]


def of_ranks(
    below: npt.NDArray[np.int64], upto: npt.NDArray[np.int64], target: Fraction, rate: Fraction
) -> Exponents:
    """Return ``rate`` times the distances of ``target`` from [below, upto], less the least one.

    Ranks and target are below 2^38, the rate is at most 2^10.
    """
    whole = target.numerator // target.denominator
    rest = float(target - whole)
    distances = np.maximum((below - whole) - rest, (whole - upto) + rest).clip(0.0)

    def distance(k: int) -> Fraction:
        return max(Fraction(int(below[k])) - target, target - int(upto[k]), Fraction(0))

    best = distance(int(np.argmin(distances)))
    # Each distance has an error within 2^-52 of itself and of 1.
    error = 2.0**-50 * (1.0 + distances + float(best))
    return Exponents(
        (distances - float(best) - error) * float(rate), lambda k: rate * (distance(k) - best)
    )


def of_utilities(utilities: npt.NDArray[np.float64], rate: Fraction) -> Exponents:
    """Return ``rate`` times the distances of finite utilities below the best."""
    best = float(utilities.max())
    with np.errstate(over="ignore", under="ignore"):
        # Each operation is within 2^-53, relatively, except near 0.
        below = np.nextafter((best - utilities) * float(rate) * (1.0 - 2.0**-50), -1.0)
    return Exponents(below, lambda k: rate * (Fraction(best) - Fraction(float(utilities[k]))))


def chosen(exponents: Exponents, generator: SecureGenerator) -> int:
    """Return a candidate k with probability proportional to e^(-x_k)."""
    below, exponent = exponents
    bits = 60 - len(below).bit_length()  # e 2^60 is below 2^63
    # At least 2^bits e^(-x), the error of exp included, and at least 1: no candidate is lost.
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
    """Return a uniform whole number in [0, total)."""
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
    """Return numbers that enclose e^(-x), about 2^-bits apart."""
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
