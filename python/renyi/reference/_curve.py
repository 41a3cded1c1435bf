r"""The exact privacy curve of a composition of Poisson-sampled Gaussian steps, real epsilon.

.. math:: I(\epsilon) = \frac{1}{2 \pi i} \int
          \frac{\prod_i A_i(1 + z)^{k_i} \, e^{-z \epsilon}}{z (z + 1)} \, dz

delta_remove(eps) = I(eps) on a line that crosses the real axis at z > 0 (Alghamdi et al. 2023,
Theorem 3.1), and delta_add(eps) = e^eps I(-eps) on one that crosses it at z < -1: the residues at 0
and -1 are the 1 and the -e^eps of delta_add(eps) = 1 - e^eps + e^eps delta_remove(-eps). The line
is a hyperbola that opens to the right, where e^{-z eps} decays against (1-q)^{k z}; more than 45
degrees away from the real axis exp(z^2/(2 sigma^2)) decays too. It is parametrised by
y = w sinh s, so that a trapezoidal sum sees all scales and converges geometrically.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from renyi.reference._moment import Moment
from renyi.reference._numbers import Number, check_digits, exact, mp, real, require

Steps = Sequence[tuple[Number, Number, int]]


class Valley:
    """F(z) = sum k log A(1+z) - z eps - log|z (1+z)| on the real axis, in doubles.

    ``distance`` is measured from 0 to the right (remove) or from -1 to the left (add).
    """

    def __init__(
        self, sampled: list[tuple[Moment, int]], plain: float, epsilon: float, remove: bool
    ) -> None:
        self.sampled, self.plain, self.epsilon, self.remove = sampled, plain, epsilon, remove

    def point(self, distance: float) -> float:
        """Return the point of the real axis."""
        return distance if self.remove else -1 - distance

    def at(self, distance: float) -> tuple[float, float, float]:
        """F, its derivative away from the pole, its second derivative."""
        z = self.point(distance)
        parts = [(k, moment.cumulants(1 + z)) for moment, k in self.sampled]
        k0, k1, k2 = (sum(k * part[i] for k, part in parts) for i in range(3))
        k0 += self.plain * z * (z + 1)
        k1 += self.plain * (2 * z + 1) - self.epsilon - 1 / z - 1 / (1 + z)
        k2 += 2 * self.plain + 1 / z**2 + 1 / (1 + z) ** 2
        value = k0 - z * self.epsilon - math.log(abs(z * (1 + z)))
        return value, k1 if self.remove else -k1, k2

    def crossing(self) -> float:
        """Find the minimum, or where that is narrow the wide part of the valley before it."""
        low, high = 1e-12, 1.0
        while self.at(high)[1] < 0 and high < 1e12:
            low, high = high, 8 * high
        while high / low > 1.01 or high - low > 0.1 / math.sqrt(self.at(low)[2]):
            middle = math.sqrt(low * high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.at(middle)[1] < 0 else (low, middle)
        bottom, _, curvature = self.at(low)
        for part in (0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.995, 0.998, 0.999):
            value, _, flatter = self.at(part * low)
            if value < bottom + 6 and flatter < curvature / 9:
                return part * low
        return low


class Line:
    """The integrand on the hyperbola, and its trapezoidal sums."""

    def __init__(self, valley: Valley, epsilon: Fraction, plain: Fraction, variant: int) -> None:
        self.valley, self.epsilon, self.plain, self.variant = valley, epsilon, plain, variant
        distance = valley.crossing()
        width = 1 / math.sqrt(valley.at(distance)[2])
        if variant:
            distance -= 0.3 * min(width, distance)
            width *= 0.9
        self.point, self.width = mp.mpf(valley.point(distance)), mp.mpf(width)
        self.radius = mp.mpf(max(width, distance))
        self.bend = mp.mpf(2) / 5 if variant == 0 else mp.mpf(1) / 3
        self.scale = valley.at(distance)[0]  # log of about the largest value

    def term(self, s: Any, work: int) -> Any:
        """Imaginary part and modulus of f(z(s)) z'(s)."""
        y, rate = self.width * mp.sinh(s), self.width * mp.cosh(s)
        root = mp.sqrt(self.radius**2 + y * y)
        z = mp.mpc(self.point + self.bend * (root - self.radius), y)
        value = mp.exp(real(self.plain) * z * (z + 1) - z * real(self.epsilon)) / (z * (z + 1))
        for moment, k in self.valley.sampled:
            value *= moment(1 + z, work + math.ceil(math.log10(k)), self.variant) ** k
        value *= mp.mpc(self.bend * y / root, 1) * rate
        return value.imag, abs(value)

    def sum(self, work: int) -> tuple[Any, Any]:
        """I, with ``work`` digits of its largest term, and that term."""
        h = mp.mpf(1) / 4 if self.variant == 0 else mp.mpf(1) / 5
        first, largest = self.term(mp.zero, work)[0] / 2, self.term(mp.zero, work)[1]
        total, count, quiet, floor = first, 0, 0, mp.mpf(10) ** -work
        while quiet < 4:
            count += 1
            value, size = self.term(count * h, work)
            total, largest = total + value, max(largest, size)
            quiet = quiet + 1 if size < floor * largest else 0
            if count * h > 80:
                raise ArithmeticError("the transform does not decay")
        total *= h
        for _ in range(9):
            between = sum(
                (self.term((n + mp.mpf(0.5)) * h, work)[0] for n in range(count)), mp.zero
            )
            fine = (total + h * between) / 2
            h, count = h / 2, 2 * count
            if abs(fine - total) < max(abs(fine) * mp.mpf(10) ** (-0.56 * work), floor * largest):
                return fine / mp.pi, largest
            total = fine
        raise ArithmeticError("the contour integral does not converge")


def delta(steps: Steps, epsilon: Number, direction: str = "remove", digits: int = 20) -> Any:
    r"""Smallest delta of a composition of Poisson-sampled Gaussian steps, one direction.

    .. math:: \delta(\epsilon) = \sup_S P(S) - e^\epsilon Q(S)

    with P and Q the joint distributions of all outputs: P that of the larger data set for "remove",
    that of the smaller one for "add". Sensitivity 1, neighbours differ by one record.

    Parameters
    ----------
    steps
        Triples (sampling rate in [0, 1], noise multiplier > 0, count >= 1). Floats are exact binary
        numbers; strings and fractions are taken as written.
    epsilon
        Any finite real number, below zero too.
    direction
        "remove" or "add".
    digits
        Relative accuracy of the result, in decimal digits.

    Returns
    -------
    mpmath.mpf

    Raises
    ------
    ValueError
        An argument is outside its range.
    ArithmeticError
        Two contours with two discretisations did not agree to the digits asked for.

    Notes
    -----
    Seconds a value; minutes where few steps with small q make the transform decay slowly.

    Examples
    --------
    >>> import mpmath
    >>> mpmath.nstr(delta([(1, 1, 1)], 1, digits=15), 15)
    '0.126936737506644'
    """
    check_digits(digits)
    require("direction", direction in ("remove", "add"), '"remove" or "add"', direction)
    limit = exact("epsilon", epsilon)
    require("epsilon", isinstance(limit, Fraction), "finite", epsilon)
    remove = direction == "remove"
    shifted = Fraction(limit) if remove else -Fraction(limit)
    sampled, plain, lowest = _sorted(steps, digits)
    with mp.workdps(digits + 30):
        if (not plain and real(shifted) <= real_sum(lowest)) or not (sampled or plain):
            return max(1 - mp.exp(real(Fraction(limit))), mp.zero) if remove else mp.zero
    valley = Valley(sampled, float(plain), float(shifted), remove)

    def compute(work: int, variant: int) -> Any:
        line = Line(valley, shifted, plain, variant)
        lost = 0
        while True:  # until the digits lost against the largest term are made up for
            need = work + lost
            with mp.workdps(need + 10 + _guard(valley, float(line.point))):
                value, largest = line.sum(need)
                gone = float(mp.log10(largest / abs(value))) if value else math.inf
                if gone <= lost + 3:
                    return value if remove else value * mp.exp(real(Fraction(limit)))
                lost = min(math.ceil(gone), lost + 40)

    work = digits + 4
    for _ in range(3):
        with mp.workdps(3 * work):
            first, second = compute(work, 0), compute(work + 4, 1)
            if abs(first - second) <= abs(second) * mp.mpf(10) ** (-digits - 1):
                with mp.workdps(digits + 5):
                    return +second
        work += work // 2
    raise ArithmeticError(f"{digits} digits not reached")


def real_sum(terms: Sequence[tuple[int, Fraction]]) -> Any:
    """Sum of k log(1-q) at the working precision."""
    return sum((k * mp.log(real(1 - q)) for k, q in terms), mp.zero)


def _sorted(
    steps: Steps, digits: int
) -> tuple[list[tuple[Moment, int]], Fraction, list[tuple[int, Fraction]]]:
    """Return sampled steps; sum k/(2 sigma^2) of those with q = 1; (k, q) of the sampled ones."""
    sampled, plain, lowest = [], Fraction(0), []
    for q, sigma, count in steps:
        rate, noise, k = exact("q", q), exact("sigma", sigma), exact("count", count)
        require("q", 0 <= rate <= 1, "in [0, 1]", q)
        require("sigma", noise > 0, "positive", sigma)
        whole = isinstance(k, Fraction) and k.denominator == 1 and k >= 1
        require("count", whole, "a positive integer", count)
        if rate == 0 or isinstance(noise, float):  # infinite noise
            continue
        if rate == 1:
            plain += Fraction(k) / (2 * noise * noise)
        else:
            sampled.append((Moment(Fraction(rate), noise), int(k)))
            lowest.append((int(k), Fraction(rate)))
    return sampled, plain, lowest


def _guard(valley: Valley, z: float) -> int:
    """Digits taken by the integer parts of exponents, and by the powers."""
    sizes = [abs(k * moment.cumulants(1 + z)[0]) + k for moment, k in valley.sampled]
    return math.ceil(math.log10(sum(sizes) + abs(z * valley.epsilon) + 10))
