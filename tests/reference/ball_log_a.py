"""log A(alpha) of the sampled Gaussian mechanism as a ball (python-flint): midpoint +- proven radius.

The definition, integrated by rigorous adaptive Gauss-Legendre quadrature (``acb.integral``):

    A(alpha) = int exp(G(u)) du / sqrt(2 pi),     G(u) = -u^2/2 + alpha L(u),
    L(u) = log(1 - q + q exp((2 u sigma - 1)/(2 sigma^2))) = log(1-q) + log(1 + e^t),   t = (u - u0)/sigma,
    u0 = 1/(2 sigma) + sigma log((1-q)/q).

L is increasing and convex, 0 < L' < 1/sigma. The line is cut into live stretches (integrated) and dead stretches, where
the integral is bounded from those two facts alone. Nothing here is shared with the engine: no trapezoidal rule, no
series, no split of the integrand.  When A - 1 is tiny the working precision is raised; nothing is rearranged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flint import acb, arb, ctx

DIGITS = 40  # promised relative accuracy of log A, decimal digits


class Integrand:
    """G for one (q, sigma, alpha), 0 < q < 1, in ball arithmetic at the precision current when it was made."""

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
            # Wide ball: mean-value form, G(u) in G(m) + G'(u)(u - m); 1 + e^-t must stay away from 0.
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


def _softplus(t: float) -> float:
    return t + math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t))


def _logistic(t: float) -> float:
    if t > 0:
        return 1 / (1 + math.exp(-t))
    return math.exp(t) / (1 + math.exp(t))


class Landscape:
    """Peaks and live stretches of G in doubles: guesses only, nothing proven depends on them."""

    def __init__(self, q: float, sigma: float, alpha: float) -> None:
        self.sigma, self.alpha = sigma, alpha
        self.rate = alpha / sigma
        self.u0 = 1 / (2 * sigma) + sigma * (math.log1p(-q) - math.log(q))
        self.const = alpha * math.log1p(-q)
        self.valley = None  # between two peaks
        self.peaks = self._peaks()

    def _logit(self, u: float) -> float:
        return (u - self.u0) / self.sigma

    def _slope(self, u: float) -> float:
        return self.rate * _logistic(self._logit(u)) - u

    def _root(self, low: float, high: float, sign: float = 1.0) -> float:
        """Where sign * G' changes from positive to not positive between low and high."""
        for _ in range(200):
            middle = (low + high) / 2
            if high - low < 1e-7 or middle in (low, high):
                break
            if sign * self._slope(middle) > 0:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def _peaks(self) -> list[float]:
        quarter = 4 * self.sigma**2 / self.alpha
        if self.alpha < 0 or quarter >= 1:
            return [self._root(min(0.0, self.rate), max(0.0, self.rate))]
        # G' falls, rises between the two points with p(1-p) = sigma^2/alpha, and falls again
        small = quarter / (2 * (1 + math.sqrt(1 - quarter)))
        logit = math.log(small) - math.log1p(-small)
        first = self.u0 + self.sigma * logit
        second = self.u0 - self.sigma * logit
        peaks = []
        if first > 0 and self._slope(first) < 0:
            peaks.append(self._root(0.0, first))
        if second < self.rate and self._slope(second) > 0:
            peaks.append(self._root(max(second, 0.0), self.rate))
        if len(peaks) == 2:
            self.valley = self._root(first, second, sign=-1.0)
        return peaks or [self._root(0.0, self.rate)]

    def height(self, u: float) -> float:
        """G(u), to double precision of its largest part."""
        return self.const + self.alpha * _softplus(self._logit(u)) - u * u / 2

    def drop(self, c: float, d: float) -> float:
        """G(c + d) - G(c) without the cancellation of the exponents."""
        t = self._logit(c)
        if t < 0:
            return self.alpha * (_softplus(t + d / self.sigma) - _softplus(t)) - d * (c + d / 2)
        rest = d * self.rate * _logistic(-t) + d * (self.rate * _logistic(t) - c)
        return rest - d * d / 2 + self.alpha * (_softplus(-t - d / self.sigma) - _softplus(-t))

    def _edge(self, c: float, depth: float, limit: float) -> float | None:
        """Where G has fallen by ``depth`` on the way from peak c to ``limit``; None: not on the way."""
        sign = 1.0 if limit > c else -1.0
        low, high = 0.0, math.sqrt(2 * depth)
        while self.drop(c, sign * high) > -depth:
            if high > abs(limit - c):
                break
            low, high = high, 2 * high
        if high > abs(limit - c):
            high = abs(limit - c)
            if self.drop(c, sign * high) > -depth:
                return None
        while high - low > 0.02 * high and high - low > 1e-9 * abs(c):
            middle = (low + high) / 2
            if self.drop(c, sign * middle) > -depth:
                low = middle
            else:
                high = middle
        return c + sign * high

    def live(self, depth: float) -> list[tuple[float, float, float]]:
        """(start, peak, end) of the stretches within ``depth`` of the largest peak."""
        top = max(map(self.height, self.peaks))
        stretches: list[tuple[float, float, float]] = []
        open_start = None
        for index, c in enumerate(self.peaks):
            room = depth - (top - self.height(c))
            if room <= 0:
                continue
            left = self.valley if index == 1 and self.valley is not None else -math.inf
            right = self.valley if index == 0 and self.valley is not None else math.inf
            start = self._edge(c, room, left)
            end = self._edge(c, room, right)
            start = open_start if start is None and open_start is not None else start
            if start is None:
                start = left
            if end is None:
                end = right
            stretches.append((start, c, end))
        return stretches


def _dead_mass(g: Integrand, start: arb, end: arb, log_budget: arb) -> arb:
    """Upper bound of int_start^end exp(G): on a piece [s, t] the convex part of G lies below its chord (alpha > 0).

    For alpha < 0, G is concave and monotone on a dead stretch: its largest value is at the end nearer to the peak.
    Pieces are halved until each bound is below exp(log_budget) * length or they are too many to be sensible.
    """
    total = arb(0)
    stack = [(start, g.convex_part(start), end, g.convex_part(end))]
    for _ in range(20000):
        if not stack:
            return total
        s, fs, t, ft = stack.pop()
        length = t - s
        chord = (ft - fs) / length
        at = chord.mid().max(s).min(t)  # any point near the maximum of the concave bound: correct below
        # max over [s, t] of b(u) = fs + chord (u - s) - u^2/2 is at most b(at) + |b'(at)| * (distance left to go)
        value = fs + chord * (at - s) - at * at / 2
        slope = chord - at
        if at == s and slope < 0 or at == t and slope > 0:
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
    """log A(alpha) as a ball of relative radius <= 10^-digits; the arguments are exact binary numbers.

    Domain: q in [0, 1], sigma > 0, real alpha (alpha in (0, 1) too, where log A < 0). Raises ArithmeticError if the
    accuracy is not reached.

    >>> print(log_a_ball(0.01, 1.0, 2.0).str(30, radius=False))
    0.000171813422074547853653842466577
    """
    if q == 0 or alpha in (0.0, 1.0):
        return arb(0)
    with ctx.workprec(256):
        if q == 1:
            return arb(alpha) * (arb(alpha) - 1) / (2 * arb(sigma) ** 2)
    shape = Landscape(q, sigma, alpha)
    top = max(map(shape.height, shape.peaks))
    # log A is at least about this large (Jensen; the far peak): only sets the first working precision
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
    largest = max(
        abs(shape.const) + abs(alpha * _softplus(shape._logit(u))) + u * u
        for stretch in stretches
        for u in stretch
    )
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
            for a, b in zip(points, points[1:], strict=False):
                piece = acb.integral(
                    g.scaled(top, right=a >= u0), acb(a), acb(b), rel_tol=arb(2) ** -precision, abs_tol=tolerance / 16
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
    # u < a', a' < 0: L <= L(a') and the Gaussian tail; u > b', b' > alpha/sigma: G' <= alpha/sigma - u
    far_left = min(start, 0.0) - 16
    far_right = max(end, float(g.rate) * (1 + 1e-15)) + 16
    mass = _dead_mass(g, arb(far_left), a, budget) + _dead_mass(g, b, arb(far_right), budget)
    c, d = arb(far_left), arb(far_right)
    if not d > g.rate:
        raise ArithmeticError("right edge not beyond alpha/sigma")
    return mass + g.exponent(c).exp() / -c + g.exponent(d).exp() / (d - g.rate)
