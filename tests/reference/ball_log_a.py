"""log A(alpha) of the sampled Gaussian mechanism as a ball (python-flint): midpoint +- radius.

The definition, integrated by rigorous adaptive Gauss-Legendre quadrature (``acb.integral``):

    A(alpha) = int exp(G(u)) du / sqrt(2 pi),     G(u) = -u^2/2 + alpha L(u),
    L(u) = log(1 - q + q exp((2 u sigma - 1)/(2 sigma^2))) = log(1-q) + log(1 + e^t),
    t = (u - u0)/sigma,    u0 = 1/(2 sigma) + sigma log((1-q)/q).

L is increasing and convex, 0 < L' < 1/sigma. The line is cut into live stretches (integrated) and
dead stretches, where the integral is bounded from those two facts alone. Nothing here is shared
with the engine: no trapezoidal rule, no series, no split of the integrand. When A - 1 is tiny the
working precision is raised; nothing is rearranged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx
from landscape import Landscape

DIGITS = 40  # promised relative accuracy of log A, decimal digits


class Integrand:
    """G for 0 < q < 1 in ball arithmetic, at the precision current when it was made."""

    def __init__(self, q: float, sigma: float, alpha: float) -> None:
        self.q, self.sigma, self.alpha = arb(q), arb(sigma), arb(alpha)
        self.rate = self.alpha / self.sigma
        self.log_rest = (1 - self.q).log()
        self.u0 = 1 / (2 * self.sigma) + self.sigma * (self.log_rest - self.q.log())
        self.inv_sigma = 1 / self.sigma
        self.const = self.alpha * self.log_rest
        # acb copies: no conversions inside the loop
        self.c_u0, self.c_inv = acb(self.u0), acb(self.inv_sigma)
        self.c_alpha, self.c_rate = acb(self.alpha), acb(self.rate)

    def exponent(self, u: arb) -> arb:
        """G(u) for real u."""
        t = (u - self.u0) * self.inv_sigma
        soft = t.exp().log1p() if t < 0 else t + (-t).exp().log1p()
        return self.const + self.alpha * soft - u * u / 2

    def convex_part(self, u: arb) -> arb:
        """alpha L(u) for real u."""
        return self.exponent(u) + u * u / 2

    def slope(self, u: arb) -> arb:
        """G'(u) for real u."""
        return -u + self.rate / (1 + (-(u - self.u0) * self.inv_sigma).exp())

    def scaled(self, shift: arb, right: bool) -> Callable[[Any, bool], Any]:
        """u -> exp(G(u) - shift) for complex balls; ``right``: u is on the right of u0.

        Principal logarithms: log(1 + e^t) is analytic for Re t < 0, t + log(1 + e^-t) for Re t > 0.
        """
        base = acb(self.const - shift)
        c_u0, c_inv, c_alpha, c_rate = self.c_u0, self.c_inv, self.c_alpha, self.c_rate
        enough = ctx.prec // 2

        def exponent(u: acb, analytic: bool) -> acb:
            t = (u - c_u0) * c_inv
            if right:
                soft = ((-t).exp() + 1).log(analytic=analytic) + t
            else:
                soft = (t.exp() + 1).log(analytic=analytic)
            return base + c_alpha * soft - u * u / 2

        def integrand(u: acb, analytic: bool) -> acb:
            if u.rel_accuracy_bits() > enough:
                return exponent(u, analytic).exp()
            # Wide ball: mean-value form, G(u) in G(m) + G'(u)(u - m), if the ball meets no cut of L
            slope = c_rate / (1 + ((c_u0 - u) * c_inv).exp()) - u
            if not slope.is_finite():
                return exponent(u, analytic).exp()
            middle = u.mid()
            t = (u - c_u0) * c_inv
            cut = ((-t).exp() + 1) if right else (t.exp() + 1)
            if analytic and not cut.log(analytic=True).is_finite():
                return acb("nan")
            return (exponent(middle, False) + slope * (u - middle)).exp()

        return integrand


def _dead_mass(g: Integrand, start: arb, end: arb, log_budget: arb) -> arb:
    """Upper bound of the integral of exp(G) from start to end, for alpha > 0.

    On a piece [s, t] the convex part alpha L lies below its chord, so G lies below the parabola
    b(u) = chord(u) - u^2/2. Pieces are halved until each adds at most exp(log_budget).
    """
    total = arb(0)
    stack = [(start, g.convex_part(start), end, g.convex_part(end))]
    for _ in range(20000):
        if not stack:
            return total
        s, fs, t, ft = stack.pop()
        length = t - s
        chord = (ft - fs) / length
        at = chord.mid().max(s).min(t)  # about where b is largest on [s, t]
        value = fs + chord * (at - s) - at * at / 2
        slope = chord - at
        if (at == s and slope < 0) or (at == t and slope > 0):
            slope = arb(0)
        value = value + slope * slope / 2  # b'' = -1: b(u) <= b(at) + b'(at)(u-at) - (u-at)^2/2
        if value < log_budget - length.log():
            total += length * value.exp()
            continue
        middle = ((s + t) / 2).mid()
        fm = g.convex_part(middle)
        stack += [(s, fs, middle, fm), (middle, fm, t, ft)]
    raise ArithmeticError("dead stretch not bounded")


def log_a_ball(q: float, sigma: float, alpha: float, digits: int = DIGITS) -> arb:
    """log A(alpha) as a ball of relative radius <= 10^-digits; the arguments are exact.

    Domain: q in [0, 1], sigma > 0, real alpha. Raises ArithmeticError if the accuracy is not
    reached.

    >>> print(log_a_ball(0.01, 1.0, 2.0).str(30, radius=False))
    0.000171813422074547938143213451067
    """
    if q == 0 or alpha in (0.0, 1.0):
        return arb(0)
    with ctx.workprec(256):
        if q == 1:
            return arb(alpha) * (arb(alpha) - 1) / (2 * arb(sigma) ** 2)
    shape = Landscape(q, sigma, alpha)
    top = max(map(shape.height, shape.peaks))
    # log A is about this large or larger (Jensen; the far peak): sets the first working precision
    size = math.log(q * q * abs(alpha) / (2 * sigma**2)) + math.log(abs(alpha - 1))
    size = max(size, *(shape.height(c) - 3 for c in shape.peaks if abs(c) > 1), -1e9)
    size = min(size, math.log(max(top, 1.0)))
    goal = -(digits + 2) * math.log(10)
    for _ in range(6):
        log_tol = min(goal + size, -25.0)
        result = _attempt(q, sigma, alpha, shape, log_tol)
        if result.is_finite() and result.rad() <= abs(result.mid()) * arb(10) ** -digits:
            return result
        size -= 12
    raise ArithmeticError(f"log A({q!r}, {sigma!r}, {alpha!r}) not certified to {digits} digits")


def _attempt(q: float, sigma: float, alpha: float, shape: Landscape, log_tol: float) -> arb:
    """One evaluation with the absolute error of log A aimed at exp(log_tol)."""
    depth = -log_tol + 12
    stretches = shape.live(depth)
    largest = max(shape.size(u) for stretch in stretches for u in stretch)
    precision = int(-log_tol / math.log(2) + math.log2(2 + largest)) + 30
    with ctx.workprec(precision):
        g = Integrand(q, sigma, alpha)
        tallest = max(stretches, key=lambda s: shape.height(s[1]))[1]
        top = g.exponent(arb(tallest)).mid()
        tolerance = arb(log_tol).exp()
        budget = top + log_tol
        total = arb(0)
        dead = arb(0)
        u0 = float(shape.u0)
        previous = None
        for start, peak, end in stretches:
            if previous is not None:
                start = max(start, previous)  # never counted twice
                if previous < start:
                    dead += _dead_mass(g, arb(previous), arb(start), budget)
            points = sorted({start, end, *(p for p in (peak, u0) if start < p < end)})
            for a, b in pairwise(points):
                piece = acb.integral(
                    g.scaled(top, right=a >= u0),
                    acb(a),
                    acb(b),
                    rel_tol=arb(2) ** -precision,
                    abs_tol=tolerance / 16,
                )
                total += piece.real
            previous = end
        dead += _tails(g, stretches[0][0], stretches[-1][2], budget)
        dead = (dead * (-top).exp()).upper()
        total = total + dead * arb("0.5 +/- 0.5")
        return (total / (2 * arb.pi()).sqrt()).log() + top


def _tails(g: Integrand, start: float, end: float, budget: arb) -> arb:
    """Upper bound of the integral of exp(G) outside [start, end]."""
    a, b = arb(start), arb(end)
    left, right = g.slope(a), g.slope(b)
    if g.alpha < 0:  # G is concave: exp(G) decays at least as fast as at the edge
        if not (left > 0 and right < 0):
            raise ArithmeticError("edge on the wrong side of the peak")
        return g.exponent(a).exp() / left - g.exponent(b).exp() / right
    # left of c < 0: L <= L(c), Gaussian tail; right of d > alpha/sigma: G' <= alpha/sigma - u
    far_left = min(start, 0.0) - 16
    far_right = max(end, float(g.rate) * (1 + 1e-15)) + 16
    mass = _dead_mass(g, arb(far_left), a, budget) + _dead_mass(g, b, arb(far_right), budget)
    c, d = arb(far_left), arb(far_right)
    if not d > g.rate:
        raise ArithmeticError("right edge not beyond alpha/sigma")
    return mass + g.exponent(c).exp() / -c + g.exponent(d).exp() / (d - g.rate)
