r"""Rényi divergences of random allocation with Gaussian noise ("balls in bins").

Each record takes part in exactly one of t steps, chosen uniformly; every step has Gaussian noise
of this multiplier. With the record the outputs of the t steps are P = (1/t) sum_i N(e_i, sigma^2),
without it Q = N(0, sigma^2), in t dimensions, and

.. math:: \frac{P}{Q} = R = \frac{1}{t} \sum_i X_i, \qquad
          \log X_i \sim N\bigl(-\tfrac{1}{2\sigma^2}, \tfrac{1}{\sigma^2}\bigr)
          \text{ independent under } Q

"remove" is D(P||Q), "add" is D(Q||P).
"""

import math
from fractions import Fraction
from typing import Any

from renyi.reference._bounds import between
from renyi.reference._numbers import (
    ORDER,
    Number,
    agreed,
    check_digits,
    mp,
    positive,
    real,
    require,
    whole,
    within,
)
from renyi.reference._pairs import Direction
from renyi.reference._sampled_gaussian import rdp_sampled_gaussian


def rdp_random_allocation(
    sigma: Number, steps: int, alpha: Number, direction: Direction = "remove", digits: int = 30
) -> Any:
    r"""Return the divergence of order alpha >= 1, for "remove" between whole orders an upper bound.

    "remove" at whole orders uses the exponential generating function of the moments of X:

    .. math:: E[R^\alpha] = \frac{\alpha!}{t^\alpha} [z^\alpha]
              \Bigl(\sum_k \frac{z^k}{k!} e^{k(k-1)/(2\sigma^2)}\Bigr)^t

    with (alpha - 1) D interpolated in between, at most the divergence for t = 1. "add" is computed
    at every real order, with :math:`\varphi(w) = E[e^{-wX}]`:

    .. math:: E[R^{1-\alpha}] = \frac{1}{\Gamma(\alpha)} \int_0^\infty s^{\alpha-1}
              \left|\varphi'(s/t)\right| \varphi(s/t)^{t-1} ds

    >>> round(float(rdp_random_allocation(1, 10, 3)), 12)
    0.251837498305
    >>> round(float(rdp_random_allocation(1, 10, 3, "add", digits=12)), 10)
    0.2110228563
    """
    check_digits(digits)
    noise, t = positive("sigma", sigma), whole("steps", steps, 1)
    order = within("alpha", alpha, ORDER)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    if isinstance(noise, float):
        return mp.zero
    if direction == "remove":
        chord = between(lambda n, work, variant: _power(noise, t, n, variant), order, digits)
        return min(chord, rdp_sampled_gaussian(1, noise, order, digits))

    def compute(work: int, variant: int) -> Any:
        with mp.workdps(work + 10):
            line = Line(noise, t, order - 1, work - 6, 1 - mp.mpf(variant) / 7)
            if order == 1:
                return line.kullback()
            return mp.log(line.moment()) / real(order - 1)

    return agreed(compute, digits)


def _power(sigma: Fraction, t: int, n: int, variant: int) -> Any:
    """Logarithm of E[R^n]: the series to the power t by squaring, or by Miller's recurrence."""
    if n < 2:
        return mp.zero
    with mp.extradps(10 + len(str(t)) * (1 + 4 * variant)):
        rate = 1 / (2 * real(sigma) ** 2)
        series = [mp.exp(k * (k - 1) * rate) / mp.factorial(k) for k in range(n + 1)]
        power = _miller(series, t, n) if variant else _squared(series, t, n)
        return mp.log(power * mp.factorial(n) / mp.mpf(t) ** n)


def _squared(series: list[Any], t: int, n: int) -> Any:
    def times(a: list[Any], b: list[Any]) -> list[Any]:
        return [mp.fdot(a[: k + 1], b[k::-1]) for k in range(n + 1)]

    result = [mp.one] + [mp.zero] * n
    for bit in bin(t)[2:]:
        result = times(result, result)
        if bit == "1":
            result = times(result, series)
    return result[n]


def _miller(series: list[Any], t: int, n: int) -> Any:
    power = [mp.one]
    for k in range(1, n + 1):
        total = mp.fsum((j * (t + 1) - k) * series[j] * power[k - j] for j in range(1, k + 1))
        power.append(total / k)
    return power[n]


class Line:
    """Trapezoidal sums over y = log s and over log X on one grid, so that each exp is shared.

    exp(-e^y X) is analytic and bounded for |Im y| < pi/2. For ``digits`` digits the step h keeps
    exp(-pi^2/h + pi^2 sigma^2/8) and exp(-2 pi^2/(h sigma)^2) (the inner sum) and exp(-2 pi a/h)
    cos(a)^{-beta-1} for a <= 1.2 (the outer one) below 10^-digits.
    """

    def __init__(self, sigma: Fraction, t: int, beta: Fraction, digits: int, shrink: Any) -> None:
        self.sigma, self.t, self.beta = real(sigma), t, real(beta)
        self.depth = digits * mp.log(10) + 5
        a = min(mp.mpf(1.2), mp.sqrt(2 * self.depth / (self.beta + 1)))
        self.h = shrink * min(
            mp.pi**2 / (self.depth + (mp.pi * self.sigma) ** 2 / 8),
            mp.pi * mp.sqrt(2 / self.depth) / self.sigma,
            2 * mp.pi * a / (self.depth - (self.beta + 1) * mp.log(mp.cos(a))),
        )
        self.shift = -1 / (2 * self.sigma**2)
        self.decays: dict[int, Any] = {}
        self.densities: dict[int, tuple[Any, Any]] = {}

    def transform(self, i: int) -> tuple[Any, Any]:
        """(phi(w), |phi'(w)|) at log w = i h - shift.

        The inner integrand falls from its peak faster than a normal density.
        """
        step = float(self.h * self.sigma)
        reach = math.sqrt(2 * float(self.depth)) + 1
        peak = _saddle(i * float(self.h), float(self.sigma))
        places = range(math.floor((peak - reach) / step), math.ceil((peak + reach) / step) + 1)
        densities = [self.density(j) for j in places]
        decays = [self.decay(i + j) for j in places]
        phi = mp.fdot((plain for plain, _ in densities), decays)
        slope = mp.fdot((tilted for _, tilted in densities), decays)
        return phi * self.h * self.sigma, slope * self.h * self.sigma

    def decay(self, m: int) -> Any:
        """exp(-e^{m h})."""
        if m not in self.decays:
            self.decays[m] = mp.exp(-mp.exp(m * self.h))
        return self.decays[m]

    def density(self, j: int) -> tuple[Any, Any]:
        """Density at j h sigma of the normal law, plain and times X, log X = j h + shift."""
        if j not in self.densities:
            z = j * self.h * self.sigma
            plain = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
            self.densities[j] = plain, plain * mp.exp(j * self.h + self.shift)
        return self.densities[j]

    def moment(self) -> Any:
        """E[R^-beta]."""

        def term(i: int) -> Any:
            phi, slope = self.transform(i)
            s = self.t * mp.exp(i * self.h - self.shift)
            return mp.exp((self.beta + 1) * mp.log(s)) * slope * phi ** (self.t - 1)

        return self._sum(term) * self.h / mp.gamma(self.beta + 1)

    def kullback(self) -> Any:
        """E[-log R] = int (phi(s/t)^t - e^{-s}) ds/s."""

        def term(i: int) -> Any:
            phi, _ = self.transform(i)
            return phi**self.t - mp.exp(-self.t * mp.exp(i * self.h - self.shift))

        return self._sum(term) * self.h

    def _sum(self, term: Any) -> Any:
        """Sum over the grid from the middle outwards, until terms no longer change the sum."""
        start = int((mp.log((self.beta + 1) / self.t) + self.shift) / self.h)
        block = max(1, int(1 / self.h))
        total = largest = mp.zero
        for direction in (1, -1):
            i, quiet = start if direction > 0 else start - 1, 0
            while quiet < 2 * block:
                value = term(i)
                total += value
                largest = max(largest, abs(value))
                small = abs(value) < largest * mp.exp(-self.depth)
                quiet = quiet + 1 if small and largest else 0
                i += direction
        return total


def _saddle(v: float, sigma: float) -> float:
    """Root of z + e^{v + z/sigma}/sigma."""
    low, high = -(abs(v) + 40) * sigma - 10, 0.0
    for _ in range(50):
        z = (low + high) / 2
        rises = v + z / sigma > 700 or z + math.exp(v + z / sigma) / sigma > 0
        low, high = (low, z) if rises else (z, high)
    return (low + high) / 2
