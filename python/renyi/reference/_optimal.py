r"""The best possible conversion of one Rényi guarantee to (epsilon, delta).

The joint range of two f-divergences is convex and spanned by pairs of distributions on two points
(Asoodeh et al. 2020), so the largest delta at a given divergence is reached by a pair (p, 1-p),
(q, 1-q). One equation in one unknown is left, with an inner minimum over p.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from renyi.reference._conversion import _arguments, _balle, _delta, _epsilon
from renyi.reference._numbers import Number, mp, real, settle


def epsilon_optimal(alpha: Number, rho: Number, delta: Number, digits: int = 50) -> Any:
    r"""Smallest epsilon for which D_alpha(P||Q) <= rho implies P(S) <= e^epsilon Q(S) + delta.

    It solves, with q = (p - delta) e^{-epsilon},

    .. math:: \min_{\delta < p \le 1}
              \frac{\log\bigl(p^\alpha q^{1-\alpha} + (1-p)^\alpha (1-q)^{1-\alpha}\bigr)}
              {\alpha - 1} = \rho

    The sum is convex in p (f-divergences are jointly convex and q is linear in p), and its minimum
    rises with epsilon.

    >>> round(float(epsilon_optimal(2, 0.1, 1e-5)), 4)
    7.8748
    >>> round(float(epsilon_optimal(4, 2, 0.3)), 4)
    1.6433
    """
    a, r = _arguments(alpha, rho, digits)
    d = _delta(delta)
    if r == 0:
        return mp.zero

    def compute(work: int, variant: int) -> Any:
        high = max(_balle(a, r, d), mp.one) * (1 + variant)

        def gap(epsilon: Any) -> Any:
            return _least_divergence(real(a), epsilon, real(d), real(1 - d), variant) / real(r) - 1

        while gap(high) < 0:  # the closed form is an upper bound, up to rounding
            high *= 2
        if gap(mp.zero) >= 0:
            return -mp.one  # cut at 0
        return _crossing(gap, mp.zero, high, variant, digits + 5)

    return max(settle(compute, digits, _start(a, r, digits)), mp.zero)


def delta_optimal(alpha: Number, rho: Number, epsilon: Number, digits: int = 50) -> Any:
    """Smallest delta for which D_alpha(P||Q) <= rho implies P(S) <= e^epsilon Q(S) + delta.

    The equation is that of ``epsilon_optimal``, solved for delta.

    >>> round(float(delta_optimal(2, 0.1, 7.8748)), 8)
    1e-05
    """
    a, r = _arguments(alpha, rho, digits)
    e = _epsilon(epsilon)
    if r == 0:
        return mp.zero

    def compute(work: int, variant: int) -> Any:
        def gap(logit: Any) -> Any:
            delta, rest = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
            return mp.log(_least_divergence(real(a), real(e), delta, rest, variant) / real(r))

        low, high = -mp.one * (1 + variant), mp.one
        while gap(low) > 0:
            low *= 2
        while gap(high) < 0:
            high *= 2
        return 1 / (1 + mp.exp(-_crossing(gap, low, high, variant, digits + 5)))

    return settle(compute, digits, _start(a, r, digits))


def _start(a: Fraction, r: Fraction, digits: int) -> int:
    """First working precision: the sum is 1 + O((alpha - 1) rho)."""
    with mp.workdps(20):
        lost = -mp.log10(real((a - 1) * r)) if r else mp.zero
        return digits + 20 + max(0, int(lost))


def _least_divergence(a: Any, epsilon: Any, delta: Any, rest: Any, variant: int) -> Any:
    """Min over p in (delta, 1] of the divergence of the two-point pair; rest = 1 - delta.

    p = delta + rest s, so p - delta = rest s and 1 - p = rest (1 - s), with s given by its
    log-odds: nothing cancels.
    """
    shrink, gain = mp.exp(-epsilon), -mp.expm1(-epsilon)

    def pair(s: Any, t: Any) -> tuple[Any, Any, Any, Any]:
        """p, 1-p, q, 1-q for s and t = 1 - s."""
        q = rest * s * shrink
        return delta + rest * s, rest * t, q, gain + (delta + rest * t) * shrink

    def slope(s: Any, t: Any) -> Any:
        """d/dp of the sum; increasing."""
        p, p1, q, q1 = pair(s, t)
        x, y = mp.log(p / q), mp.log(p1 / q1) if p1 else -mp.inf
        u, v = mp.exp((a - 1) * x), mp.exp((a - 1) * y)
        return a * (u - v) - (a - 1) * shrink * (u * p / q - v * p1 / q1)

    if slope(mp.one, mp.zero) <= 0:
        s, t = mp.one, mp.zero
    else:

        def rise(logit: Any) -> Any:
            return slope(1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit)))

        low, high = -mp.one - variant, mp.one
        while rise(low) > 0:
            low *= 2
        while rise(high) < 0:
            high *= 2
        logit = _crossing(rise, low, high, variant, mp.dps // 2 + 2)
        s, t = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
    p, p1, q, q1 = pair(s, t)
    excess = p * mp.expm1((a - 1) * mp.log(p / q))
    if p1:
        excess += p1 * mp.expm1((a - 1) * mp.log(p1 / q1))
    return mp.log1p(excess) / (a - 1)


def _crossing(f: Callable[[Any], Any], low: Any, high: Any, variant: int, digits: int) -> Any:
    """Root of f between low (f < 0) and high (f >= 0), to relative 10^-digits.

    Chandrupatla 1997: bisection until inverse quadratic interpolation is safe.
    """
    a, b = (low, high) if variant == 0 else (high, low)
    fa, fb = f(a), f(b)
    c, fc = a, fa
    step = mp.mpf(1) / 2
    eps = mp.mpf(10) ** -digits
    for _ in range(60 + 8 * mp.prec):
        x = a + step * (b - a)
        fx = f(x)
        if (fx < 0) == (fa < 0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        tolerance = eps * max(abs(a), abs(b)) / abs(b - a)
        if tolerance > 0.5 or fa == 0:
            return a if abs(fa) < abs(fb) else b
        step = mp.mpf(1) / 2
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if (
            phi**2 < xi and (1 - phi) ** 2 < 1 - xi
        ):  # inverse quadratic interpolation is monotone here
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
            step = min(max(step, tolerance), 1 - tolerance)
    raise ArithmeticError("no convergence of a bracketed root")
