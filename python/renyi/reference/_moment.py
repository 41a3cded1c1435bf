r"""Moments of a complex order that stay accurate where the order turns the integrand very fast.

.. math:: A(\alpha) = \int \frac{e^{-u^2/2}}{\sqrt{2\pi}} \, e^{\alpha L(u)} \, du, \qquad
          L(u) = \log(1-q) + \log(1 + e^{(u - u_0)/\sigma})

A is entire in alpha, L is analytic between the branch points u0 +- i pi sigma, and on the right of
u0 everywhere. The line of integration is lifted: on the left of u0 to the height of the saddle
-sigma W(-alpha odds/sigma^2) (Lambert's W; there L is nearly log(1-q) + odds e^(u/sigma)), on the
right towards the saddle alpha/sigma, or away from it when that one is out of reach. The rule is
composite Gauss-Legendre on straight pieces.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from renyi.reference._integral import gauss_legendre
from renyi.reference._numbers import mp, real

MOST = 20_000  # pieces


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
        if bend > reach and far.real < bend:  # the bend is beyond the live part
            return [*path, complex(bend + reach, low)]
        path.append(complex(bend, low))
        if far.real > bend + abs(far.imag - low):
            return [*path, far, far + reach]
        run = abs(far) + reach
        return [*path, complex(bend + run, low + (0.75 if variant == 0 else 0.65) * run)]

    def pieces(self, alpha: complex, depth: float, variant: int) -> Iterator[tuple[Any, Any]]:
        """(middle, half length), both complex, of the live pieces."""
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
                    break  # dead from here on
                if len(found) > MOST:
                    raise ArithmeticError("the order is too large for these parameters")
                u = after
        for height, u, after in found:
            if height > top - depth:
                yield u, after

    def step(self, alpha: complex, u: complex, along: complex, width: float) -> float:
        """Return a length over which the integrand is tame."""
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
