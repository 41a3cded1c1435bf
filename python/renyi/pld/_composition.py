"""Composition on a lattice: exponentially tilted, by FFT, with every error bounded.

Tilting multiplies the mass at node i by e^(theta i - c), which makes its sum about 1 and moves the
mean of the composition to the losses that decide delta(epsilon); the FFT's rounding is then
relative to them, and delta may be as small as a double can hold. theta and c are short dyadic
fractions, so that theta i, c count and their differences are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from renyi.pld._cells import ROUNDING, Array

Complex = npt.NDArray[np.complex128]

__all__ = [
    "ComposedLoss",
    "NodeMasses",
    "Spectrum",
    "TailSums",
    "Tilt",
    "TiltedPart",
    "Window",
    "compose",
    "largest_weight",
    "power_of",
    "product",
    "tilted",
    "weights_sum",
]

_PER_LEVEL = 8.0 * ROUNDING
"""Relative error of one butterfly level: sum of two, product with a twiddle accurate to an ulp."""


@dataclass(frozen=True, slots=True)
class Tilt:
    """theta = numerator / 2^bits per node; slope is theta over the step."""

    numerator: int
    bits: int

    @property
    def theta(self) -> float:
        """Exponent per node."""
        return math.ldexp(float(self.numerator), -self.bits)


@dataclass(frozen=True, slots=True)
class Window:
    """Nodes first ... first + size - 1 of the composition; size is a power of two."""

    first: int
    size: int


@dataclass(frozen=True, slots=True)
class ComposedLoss:
    """The composition of one side's lattice losses, tilted, on a window.

    delta(epsilon) = infinite + scale * sum of weights(n) masses(n), see ``delta``.

    Attributes
    ----------
    law : TailSums
        The tilted masses n: sums of them beyond a node.
    log_scale : Fraction
        Undoes the tilt: the true mass of node n is masses(n) e^(log_scale - theta n).
    outside : float
        Bound on the tilted mass outside the window.
    relative_error : float
        Of the masses put in, beyond their own outward rounding.
    left_out : (float, float), optional
        log c and s: what outcomes all in the bulk give to delta is at most c e^(-s epsilon).
    """

    step: float
    offset: Fraction
    tilt: Tilt
    window: Window
    law: TailSums
    log_scale: Fraction
    outside: float
    relative_error: float
    infinite: float
    drift: float
    left_out: tuple[float, float] | None
    upper: bool

    def delta(self, epsilon: float) -> float:
        """Bound delta(epsilon) on this side.

        The sum over nodes above epsilon of (1 - e^-x) e^(-theta j) masses, x the distance to
        epsilon, is of non-negative terms. The bound adds, or subtracts, the errors of the masses
        times the sum of the weights, at most 1/(h t (t+1)) + max, and the mass that the window
        does not hold or holds twice times the largest weight.
        """
        if epsilon == math.inf:
            return self.infinite
        epsilon += -self.drift if self.upper else self.drift
        if epsilon == -math.inf:
            return 1.0 if self.upper else self.infinite
        h, theta = self.step, self.tilt.theta
        step = Fraction(h)
        target = (Fraction(epsilon) - self.offset) / step
        start = max(math.floor(target) + 1, self.window.first)
        distance = float((start - target) * step)
        index = start - self.window.first
        total = error = 0.0
        if index < self.window.size:
            length = self.window.size - index
            total, error = self.law.sum_from(start, length, distance, h, theta)
        peak = largest_weight(theta / h)
        # Weights are relative to the first node above epsilon; the bounds to epsilon itself.
        from_start = self._scale(start)
        spread = theta / h * distance
        from_epsilon = from_start * math.exp(spread) * (1.0 + 1e-12) if spread < 700.0 else math.inf
        lost = from_epsilon * self.outside * peak if self.outside else 0.0
        lost += from_start * error if error else 0.0
        room = self.relative_error + (64.0 + math.log2(self.window.size)) * ROUNDING
        if self.upper:
            value = from_start * total * (1.0 + room) + lost * (1.0 + room)
            if self.left_out is not None:
                exponent = self.left_out[0] - self.left_out[1] * epsilon
                value += math.exp(min(exponent, 1.0)) * (1.0 + 1e-12)
            bound = (self.infinite + value) * (1.0 + 4.0 * ROUNDING)
            return min(bound, 1.0) if bound == bound else 1.0
        value = from_start * total * (1.0 - room) - lost * (1.0 + room)
        kept = value if value > 0.0 else 0.0  # NaN, out of reach of this tilt, says nothing
        return min((self.infinite + kept) * (1.0 - 4.0 * ROUNDING), 1.0)

    def _scale(self, node: int) -> float:
        exponent = self.log_scale - Fraction(self.tilt.numerator, 2**self.tilt.bits) * node
        try:
            value = math.exp(float(exponent))
        except OverflowError:
            return math.inf
        room = ROUNDING * (abs(float(exponent)) + 4.0)
        return value * (1.0 + room) if self.upper else value * (1.0 - room)


class TailSums(Protocol):
    """The tilted masses at the nodes of a window."""

    def sum_from(
        self, start: int, length: int, distance: float, step: float, theta: float
    ) -> tuple[float, float]:
        """Return a weighted sum of masses and a bound on its error beyond rounding.

        The mass at node start + k, k < length, has the weight
        (1 - e^-(distance + step k)) e^(-theta k).
        """


@dataclass(frozen=True, slots=True)
class NodeMasses:
    """Tilted masses from node ``first`` on, with error at most ``point_error`` each."""

    first: int
    masses: Array
    point_error: float

    def sum_from(
        self, start: int, length: int, distance: float, step: float, theta: float
    ) -> tuple[float, float]:
        k = np.arange(length, dtype=np.float64)
        with np.errstate(under="ignore"):
            weights = -np.expm1(-(distance + step * k)) * np.exp(-theta * k)
        index = start - self.first
        total = float(np.dot(weights, np.maximum(self.masses[index : index + length], 0.0)))
        return total, self.point_error * weights_sum(theta, step, distance)


def weights_sum(theta: float, step: float, distance: float) -> float:
    """Bound the sum of the weights (1 - e^-x) e^(-theta k) at x = distance + step k > 0.

    As (1 - e^-x) e^(-t x), t = theta/step, times e^(t distance): at most its integral 1/(t (t+1))
    over the step, plus its maximum.
    """
    slope = theta / step
    if slope * distance > 700.0:
        return math.inf
    return (
        math.exp(slope * distance)
        * (1.0 / (theta * (slope + 1.0)) + largest_weight(slope))
        * (1.0 + 1e-12)
    )


def largest_weight(slope: float) -> float:
    """Return the largest value of (1 - e^-x) e^(-slope x) over x > 0."""
    if slope == 0.0:
        return 1.0
    return math.exp(-slope * math.log1p(1.0 / slope)) / (1.0 + slope)


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
