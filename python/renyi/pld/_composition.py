"""Composition on a lattice: exponentially tilted, by FFT, with every error bounded.

Tilting, see ``_composed_loss``, makes the FFT's rounding relative to the losses that decide delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from renyi.pld._cells import ROUNDING, Array
from renyi.pld._composed_loss import Tilt, Window

Complex = npt.NDArray[np.complex128]

__all__ = ["Complex", "Spectrum", "TiltedPart", "compose", "power_of", "product", "tilted"]

_PER_LEVEL = 8.0 * ROUNDING
"""Relative error of one butterfly level: sum of two, product with a twiddle accurate to an ulp."""


def compose(parts: list[TiltedPart], window: Window, base: int) -> tuple[Array, float]:
    """Return the composition of tilted lattice masses on a window, and the error of each mass.

    Parameters
    ----------
    parts : list of TiltedPart
        Tilted masses from the first node on, and how often each is used.
    window : Window
        Where the composition is wanted; the rest is folded into it.
    base : int
        Node of the composition at which all parts are at their first node.

    Notes
    -----
    Outcomes whose losses are all in the bulk are left out: prod Z^count - prod B^count, where
    Z = B + S is split into bulk and rest. It is summed as S (Z^(count-1) + ... + B^(count-1)), so
    that rounding errors are relative to what remains and not to the bulk.

    Rounding. A radix-2 FFT is a product of log2 n sparse matrices whose moduli multiply to the
    matrix of ones, and each is applied with componentwise relative error; hence every computed
    output differs by at most ((1+eta)^log2(n) - 1) times the l1 norm of the input (the
    componentwise form of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    Theorem 24.2 and its proof). eta = 8 u leaves room for higher radices, which save operations.
    A power multiplies the error by count |z|^(count-1), and adds 4 u per product (ibid., Lemma
    3.5). The inverse averages these over the frequencies, and adds its own error relative to the
    mean modulus.
    """
    size = window.size
    rows = max(-(-part.weights.size // size) for part in parts)
    forward = math.expm1((math.log2(size) + 1.0) * math.log1p(_PER_LEVEL)) + rows * ROUNDING
    whole = any(part.bulk == 0 for part in parts)
    # kept: what counts so far; left_out: the product of the bulks. Values, moduli, errors.
    kept: Spectrum | None = None
    left_out: Spectrum | None = None
    for part in parts:
        bulk, rest = part.weights[: part.bulk], part.weights.copy()
        if not whole:
            rest[: part.bulk] = 0.0
        s = _transform(rest, size, forward)
        if whole:
            power = power_of(s, part.count)
            kept = power if kept is None else product(kept, power)
            continue
        b = _transform(bulk, size, forward)
        z = Spectrum(b.value + s.value, b.reach + s.reach, b.error + s.error)
        new = product(s, _geometric(z, b, part.count))
        bulk_power = power_of(b, part.count)
        if kept is None or left_out is None:
            kept, left_out = new, bulk_power
        else:
            first, second = product(kept, power_of(z, part.count)), product(left_out, new)
            kept = Spectrum(
                first.value + second.value,
                first.reach + second.reach,
                first.error + second.error + 2.0 * ROUNDING * (first.reach + second.reach),
            )
            left_out = product(left_out, bulk_power)
    assert kept is not None
    masses = np.fft.irfft(kept.value, size)
    counted = np.full(size // 2 + 1, 2.0)
    counted[0] = counted[-1] = 1.0
    error = float(np.dot(counted, kept.error)) / size
    error += forward * float(np.dot(counted, kept.reach)) / size
    return np.roll(masses, (base - window.first) % size), error * 1.001


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """Tilted masses of one part; the first ``bulk`` of them never exceed epsilon together."""

    weights: Array
    count: int
    bulk: int


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Computed values, bounds on the moduli of computed and exact ones, bounds on the errors."""

    value: Complex
    reach: Array
    error: Array


def _transform(weights: Array, size: int, forward: float) -> Spectrum:
    value = np.fft.rfft(_fold(weights, size))
    error = forward * float(weights.sum()) * (1.0 + 1e-9)
    return Spectrum(
        value, np.abs(value) * (1.0 + 4.0 * ROUNDING) + error, np.full(value.size, error)
    )


def product(a: Spectrum, b: Spectrum) -> Spectrum:
    with np.errstate(under="ignore"):
        reach = a.reach * b.reach
        error = a.error * b.reach + a.reach * b.error + 4.0 * ROUNDING * reach
        return Spectrum(a.value * b.value, reach * (1.0 + 4.0 * ROUNDING), error)


def power_of(z: Spectrum, count: int) -> Spectrum:
    """Return z^count; its error is count reach^(count-1) error, and 4 u for each factor."""
    if count == 1:
        return z
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        reach = z.reach ** float(count)
        relative = np.where(z.reach > 0.0, z.error / z.reach, 0.0) + 4.0 * ROUNDING
        return Spectrum(_power(z.value, count), reach, count * relative * reach)


def _geometric(z: Spectrum, b: Spectrum, count: int) -> Spectrum:
    """Return z^(count-1) + z^(count-2) b + ... + b^(count-1).

    By doubling, G_2m = G_m (z^m + b^m) and G_m+1 = z G_m + b^m. With r the larger of both moduli
    the sum is at most count r^(count-1), and count^2 r^(count-2) bounds the effect of the errors.
    """
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        value, power_z, power_b, m = np.ones_like(z.value), z.value, b.value, 1
        for digit in bin(count)[3:]:
            value = value * (power_z + power_b)
            power_z, power_b, m = power_z * power_z, power_b * power_b, 2 * m
            if digit == "1":
                value = z.value * value + power_b
                power_z, power_b, m = power_z * z.value, power_b * b.value, m + 1
        larger = np.maximum(z.reach, b.reach)
        reach = count * larger ** (count - 1.0)
        relative = np.where(larger > 0.0, z.error / larger, 0.0) + 8.0 * ROUNDING
        return Spectrum(value, reach, count * relative * reach)


def tilted(masses: Array, first: int, tilt: Tilt) -> tuple[Array, Fraction]:
    """Return masses e^(theta i - c), i = 0, 1, ..., and c + theta first; c makes the sum about 1.

    Two exponentials of at most 2 ulp and their products: relative error below 24 u.
    """
    theta = tilt.theta
    index = np.arange(masses.size, dtype=np.float64)
    exponents = theta * index
    with np.errstate(divide="ignore"):
        logs = np.where(masses > 0.0, np.log(masses), -np.inf) + exponents
    top = float(logs.max())
    with np.errstate(under="ignore"):
        total = top + math.log(float(np.exp(logs - top).sum()))
    unit = 2.0**-tilt.bits
    centre = math.ceil(total / unit)
    exponents -= math.ldexp(float(centre), -tilt.bits)
    with np.errstate(under="ignore"):
        # c makes the exponents of positive masses at most 745.
        part = np.exp(np.minimum(0.5 * exponents, 400.0))
        weights = masses * part * part
    # The index counts from the first node: e^(theta first) belongs to the scale.
    return weights, Fraction(centre + tilt.numerator * first, 2**tilt.bits)


def _fold(weights: Array, size: int) -> Array:
    if weights.size <= size:
        return np.pad(weights, (0, size - weights.size))
    rows = -(-weights.size // size)
    padded = np.pad(weights, (0, rows * size - weights.size))
    return np.asarray(padded.reshape(rows, size).sum(axis=0))


def _power(base: Complex, count: int) -> Complex:
    result = None
    while True:
        if count & 1:
            result = base if result is None else result * base
        count >>= 1
        if not count:
            assert result is not None
            return result
        base = base * base
