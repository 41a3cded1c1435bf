r"""The exact privacy curve of a composition of Poisson-sampled Gaussian steps, real epsilon.

.. math:: I(\epsilon) = \frac{1}{2 \pi i} \int
          \frac{\prod_i A_i(1 + z)^{k_i} \, e^{-z \epsilon}}{z (z + 1)} \, dz

delta_remove(eps) = I(eps) on a line that crosses the real axis at z > 0 (Alghamdi et al. 2023,
Theorem 3.1), and delta_add(eps) = e^eps I(-eps) on one that crosses it at z < -1: the residues at 0
and -1 are the 1 and the -e^eps of delta_add(eps) = 1 - e^eps + e^eps delta_remove(-eps). The line
is a hyperbola that opens to the right, where e^{-z eps} decays against (1-q)^{k z}; more than 45
degrees away from the real axis exp(z^2/(2 sigma^2)) decays too. It is parametrised by
y = w sinh s, so that a trapezoidal sum sees all scales and converges geometrically.

The curves of plain Gaussian noise and of one sampled step are closed forms (Balle, Wang 2018,
Theorem 8; Balle, Barthe, Gaboardi 2018, Theorem 2): every value is a difference of normal tails
with enough digits for the cancellation, every inverse a root of such values. ``digits`` is the
relative accuracy of a result; ValueError names an argument outside its range.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from renyi.reference._numbers import (
    BETWEEN,
    FINITE,
    POSITIVE,
    RATE,
    UNIT,
    Number,
    agreed,
    check_digits,
    exact,
    mp,
    real,
    require,
    root,
    whole,
    within,
)
from renyi.reference._sampled_gaussian import gauss_legendre

Steps = Sequence[tuple[Number, Number, int]]
Curve = Callable[[Any], Any]
Direction = Literal["remove", "add"]

MOST = 20_000  # the most pieces


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


def delta(steps: Steps, epsilon: Number, direction: Direction = "remove", digits: int = 20) -> Any:
    r"""Smallest delta of a composition of Poisson-sampled Gaussian steps, one direction.

    .. math:: \delta(\epsilon) = \sup_S P(S) - e^\epsilon Q(S)

    with P and Q the joint distributions of all outputs: P that of the larger data set for "remove",
    that of the smaller one for "add". Sensitivity 1, neighbours differ by one record.

    Args:
        steps: Triples (sampling rate in [0, 1], noise multiplier > 0, count >= 1). Floats are exact
            binary numbers; strings and fractions are taken as written.
        epsilon: Any finite real number, below zero too.
        direction: "remove" or "add".
        digits: Relative accuracy of the result, in decimal digits.

    Returns:
        mpmath.mpf.

    Raises:
        ArithmeticError: Two contours with two discretisations did not agree to the requested
            digits.

    A value takes seconds, or minutes where few steps with small q make the transform decay slowly.

    >>> import mpmath
    >>> mpmath.nstr(delta([(1, 1, 1)], 1, digits=15), 15)
    '0.126936737506644'
    """
    check_digits(digits)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
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
        while True:  # until the precision covers the digits lost against the largest term
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
        rate, noise, k = within("q", q, UNIT), exact("sigma", sigma), whole("count", count, 1)
        require("sigma", noise > 0, "positive", sigma)
        if rate == 0 or isinstance(noise, float):  # infinite noise
            continue
        if rate == 1:
            plain += Fraction(k) / (2 * noise * noise)
        else:
            sampled.append((Moment(rate, noise), k))
            lowest.append((k, rate))
    return sampled, plain, lowest


def _guard(valley: Valley, z: float) -> int:
    """Return the digits that integer parts of exponents and the powers take."""
    sizes = [abs(k * moment.cumulants(1 + z)[0]) + k for moment, k in valley.sampled]
    return math.ceil(math.log10(sum(sizes) + abs(z * valley.epsilon) + 10))


# Moments of a complex order that stay accurate where the order turns the integrand very fast.
#
# A is entire in alpha, L is analytic between the branch points u0 +- i pi sigma, and on the right
# of u0 everywhere. The line of integration is lifted: on the left of u0 to the height of the saddle
# -sigma W(-alpha odds/sigma^2) (Lambert's W; there L is nearly log(1-q) + odds e^(u/sigma)), on the
# right towards the saddle alpha/sigma, or away from it when that one is out of reach. The rule is
# composite Gauss-Legendre on straight pieces.


class Moment:
    """A(alpha) for complex alpha; 0 < q < 1. Paths are planned in doubles."""

    def __init__(self, q: Fraction, sigma: Fraction) -> None:
        self.q, self.sigma = q, sigma
        self.s = float(sigma)
        with mp.workdps(30):
            log_odds = mp.log(real((1 - q) / q))
            self.u0 = float(1 / (2 * real(sigma)) + real(sigma) * log_odds)
            self.odds = float(mp.exp(-self.u0 / real(sigma)))
            self.log_rest = float(mp.log1p(real(-q)))

    def exponent(self, alpha: complex, u: complex) -> float:
        """Re(alpha (L(u) - log(1-q)) - u^2/2)."""
        t = (u - self.u0) / self.s
        soft = t + cmath.log(1 + cmath.exp(-t)) if t.real > 0 else cmath.log(1 + cmath.exp(t))
        return (alpha * soft - u * u / 2).real

    def slope(self, alpha: complex, u: complex) -> complex:
        """Differentiate alpha L(u) - u^2/2."""
        t = (u - self.u0) / self.s
        share = 1 / (1 + cmath.exp(-t)) if t.real > 0 else 1 - 1 / (1 + cmath.exp(t))
        return alpha / self.s * share - u

    def cumulants(self, alpha: float) -> tuple[float, float, float]:
        """Return log A and its first two derivatives at a real order, to plan with."""
        reach = 9.0
        left, right = self.left(alpha, 40.0), max(alpha, 0.0) / self.s + reach
        coarse = [left + (right - left) * i / 2000 for i in range(2001)]
        sizes = [self.exponent(alpha, u) for u in coarse]
        top = max(sizes)
        live = [u for u, size in zip(coarse, sizes, strict=True) if size > top - 60]
        gap = (right - left) / 2000
        start, end = live[0] - gap, live[-1] + gap
        h = max(0.2 * min(1.0, self.s), (end - start) / 200_000)
        total = first = second = 0.0
        for i in range(int((end - start) / h) + 2):
            u = start + i * h
            height = math.exp(min(self.exponent(alpha, u) - top, 50.0))
            t = (u - self.u0) / self.s
            loss = self.log_rest + max(t, 0.0) + math.log1p(math.exp(-abs(t)))
            total += height
            first += height * loss
            second += height * loss * loss
        mean = first / total
        log_a = top + math.log(total * h / math.sqrt(2 * math.pi)) + alpha * self.log_rest
        return log_a, mean, max(second / total - mean * mean, 0.0)

    def left(self, alpha: complex, depth: float) -> float:
        """Left of this the integrand is negligible."""
        far = math.log1p(abs(alpha) / self.s**2 * self.odds)
        return -1.2 * self.s * far - math.sqrt(2 * depth) - 2

    def corners(self, alpha: complex, depth: float, variant: int) -> list[complex]:
        """Return the corners of the path, from left to right."""
        s, reach = self.s, math.sqrt(2 * depth) + 2
        start, far = self.left(alpha, depth), alpha / s
        if alpha.imag == 0:
            return [complex(start), complex(max(far.real, 0.0) + reach)]
        low = -(mp.lambertw(-alpha * self.odds / s**2).imag if self.odds else 0.0) * s
        low = min(max(float(low), 0.0), 0.8 * math.pi * s, max(far.imag, 0.0))
        low *= 1.0 if variant == 0 else 0.9
        path = [complex(start, low)]
        bend = self.u0 + (0.2 if variant == 0 else 0.5) * s
        if bend > reach and far.real < bend:  # the bend is beyond the part that matters
            return [*path, complex(bend + reach, low)]
        path.append(complex(bend, low))
        if far.real > bend + abs(far.imag - low):
            return [*path, far, far + reach]
        run = abs(far) + reach
        return [*path, complex(bend + run, low + (0.75 if variant == 0 else 0.65) * run)]

    def pieces(self, alpha: complex, depth: float, variant: int) -> Iterator[tuple[Any, Any]]:
        """Yield (middle, half length), both complex, of the pieces that matter."""
        path = self.corners(alpha, depth, variant)
        width = 5.0 if variant == 0 else 4.0
        found: list[tuple[float, complex, complex]] = []
        top = -math.inf
        for start, end in pairwise(path):
            along, u = (end - start) / abs(end - start), start
            while abs(u - start) < abs(end - start):
                step = self.step(alpha, u, along, width)
                step = min(step, abs(end - u))
                after = u + step * along
                if abs(end - after) < 1e-9 * step:
                    after = end
                middle = (u + after) / 2
                height = max(self.exponent(alpha, x) for x in (u, middle, after))
                found.append((height, u, after))
                top = max(top, height)
                away = (alpha * along).real < 0 or u.real > alpha.real / self.s
                if height < top - 2 * depth and end is path[-1] and away:
                    break  # negligible from here on
                if len(found) > MOST:
                    raise ArithmeticError("the order is too large for these parameters")
                u = after
        for height, u, after in found:
            if height > top - depth:
                yield u, after

    def step(self, alpha: complex, u: complex, along: complex, width: float) -> float:
        """Return a length over which the integrand is smooth enough for one rule."""
        branch = abs(u - complex(self.u0, math.copysign(math.pi * self.s, u.imag)))
        step = min(width, 0.7 * branch)
        while True:
            ends = (u, u + step * along)
            fastest = max(abs(self.slope(alpha, x)) for x in ends)
            if step * fastest <= 3 * width or step < 1e-9 * width:
                return step
            step *= 0.6

    def __call__(self, alpha: Any, work: int, variant: int) -> Any:
        """A(alpha) with about ``work`` digits, at the current precision."""
        rough = complex(alpha)
        depth = work * math.log(10) + 20
        sigma, u0 = real(self.sigma), 1 / (2 * real(self.sigma))
        u0 += sigma * mp.log(real((1 - self.q) / self.q))
        nodes = gauss_legendre(int(0.6 * work) + 14, -(-mp.prec // 64) * 64)
        total = mp.mpc(0)
        for start, end in self.pieces(rough, depth, variant):
            a, b = mp.mpc(start), mp.mpc(end)
            middle, half = (a + b) / 2, (b - a) / 2
            part = mp.mpc(0)
            for x, weight in nodes:
                u = middle + half * x
                t = (u - u0) / sigma
                soft = t + mp.log(1 + mp.exp(-t)) if t.real > 0 else mp.log(1 + mp.exp(t))
                part += weight * mp.exp(alpha * soft - u * u / 2)
            total += part * half
        return total * mp.exp(alpha * mp.log(real(1 - self.q))) / mp.sqrt(2 * mp.pi)


def _tail(x: Any) -> Any:
    """Return P(N > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def _sampled(q: Any, sigma: Any, epsilon: Any, add: bool) -> Any:
    """Return delta from the two laws beyond the point where their ratio is e^epsilon."""
    odds = (mp.exp(-epsilon if add else epsilon) - (1 - q)) / q
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
    return sampled_gaussian_delta(1, 1 / within("mu", mu, POSITIVE), epsilon, digits=digits)


def gaussian_tradeoff(mu: Number, alpha: Number, digits: int = 50) -> Any:
    """Return Phi(Phi^-1(1 - alpha) - mu): Dong, Roth, Su 2022, Definition 2.6.

    >>> round(float(gaussian_tradeoff(1, 0.05)), 10)
    0.7404889772
    """
    m, a = within("mu", mu, POSITIVE), within("alpha", alpha, BETWEEN)
    check_digits(digits)
    return agreed(lambda work, variant: _tail(real(m) - _quantile(real(a), work)), digits)


def _quantile(p: Any, work: int) -> Any:
    """Return x with P(N > x) = p."""
    if p > 0.5:
        return -_quantile(1 - p, work)
    with mp.workdps(work + 10 - int(mp.log10(p))):
        return root(lambda x: mp.log(p / _tail(x)), mp.zero, mp.one, 0, work + 5)


def gaussian_epsilon(mu: Number, delta: Number, digits: int = 50) -> Any:
    """Return the epsilon at which `gaussian_delta` is delta.

    >>> round(float(gaussian_epsilon(1, 1e-5)), 9)
    4.377178096
    """
    return sampled_gaussian_epsilon(1, 1 / within("mu", mu, POSITIVE), delta, digits=digits)


def gaussian_mu(epsilon: Number, delta: Number, digits: int = 50) -> Any:
    """Return the mu for which `gaussian_delta` is delta at epsilon; ValueError where none is.

    >>> round(float(gaussian_mu(1, 1e-5)), 10)
    0.2680511232
    """
    e, d = within("epsilon", epsilon, FINITE), within("delta", delta, BETWEEN)
    with mp.workdps(digits + 30):
        require("delta", real(d) > -mp.expm1(real(e)), "above 1 - e^epsilon", delta)
    # The curve decreases in log sigma.
    found = _root(lambda x: _sampled(mp.one, mp.exp(x), real(e), False), d, digits + 5)
    with mp.workdps(digits + 5):
        return mp.exp(-found)


def sampled_gaussian_delta(
    q: Number, sigma: Number, epsilon: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Return delta at epsilon of one sampled step, P the law with the record, or Q for "add".

    >>> round(float(sampled_gaussian_delta(0.1, 1, 0.5)), 12)
    0.00203253692
    """
    r, s = within("q", q, RATE), within("sigma", sigma, POSITIVE)
    e = within("epsilon", epsilon, FINITE)
    check_digits(digits)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    add = direction == "add"
    if add and r < 1:
        with mp.workdps(60 + digits):
            if mp.exp(-real(e)) <= 1 - real(r):
                return mp.zero
    return agreed(lambda work, variant: _sampled(real(r), real(s), real(e), add), digits)


def sampled_gaussian_epsilon(
    q: Number, sigma: Number, delta: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Return the epsilon at which `sampled_gaussian_delta` is delta.

    >>> round(float(sampled_gaussian_epsilon(0.01, 1, 1e-5)), 10)
    0.1994504478
    """
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    r, s = within("q", q, RATE), within("sigma", sigma, POSITIVE)
    d = within("delta", delta, BETWEEN)
    return _root(lambda x: _sampled(real(r), real(s), x, direction == "add"), d, digits)


def _root(curve: Curve, delta: Fraction, digits: int) -> Any:
    """Solve curve = delta for a decreasing curve."""
    check_digits(digits)
    target = min(delta, 1 - delta)
    lost = max(0, math.ceil(math.log10(target.denominator) - math.log10(target.numerator)))

    def compute(work: int, variant: int) -> Any:
        with mp.workdps(work + lost + 10):
            goal, width = real(delta), mp.mpf(1 if variant == 0 else 1.5)
            return root(lambda x: goal - curve(x), -width, width, variant, work)

    return agreed(compute, digits)
