"""Conversion of one Rényi guarantee to (epsilon, delta): order alpha > 1, divergence rho.

``kind`` is one of

* "mironov": Mironov 2017, Proposition 3;
* "balle": Balle et al. 2020, Theorem 21 (the delta of Canonne, Kamath, Steinke 2020, Proposition
  12, is the same statement);
* "asoodeh": a second closed form of Asoodeh et al. 2020, or that of Balle where it is smaller;
* "optimal": the best possible conversion. The joint range of two f-divergences is convex and
  spanned by pairs of distributions on two points (Asoodeh et al. 2020), so a pair (p, 1-p), (q,
  1-q) attains the largest delta at a given divergence. It follows from one equation in one unknown,
  with an inner minimum over p.

Results are never below 0, and delta never above 1. ``digits`` is the relative accuracy of the
result; ValueError names an argument outside its range (alpha > 1, rho >= 0, delta in (0, 1),
epsilon >= 0).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, get_args

from renyi.reference._numbers import (
    ABOVE_ONE,
    BETWEEN,
    NOT_NEGATIVE,
    Number,
    agreed,
    check_digits,
    mp,
    real,
    require,
    root,
    within,
)

Kind = Literal["mironov", "balle", "asoodeh", "optimal"]


def _arguments(alpha: Number, rho: Number, kind: str, digits: int) -> tuple[Fraction, Fraction]:
    check_digits(digits)
    require("kind", kind in get_args(Kind), f"one of {', '.join(get_args(Kind))}", kind)
    return within("alpha", alpha, ABOVE_ONE), within("rho", rho, NOT_NEGATIVE)


def _clamped(formula: Callable[[], Any], digits: int, top: Any = mp.inf) -> Any:
    """Evaluate the formula to the requested digits, cut at 0 and, for delta, at 1."""

    def compute(work: int, variant: int) -> Any:
        value = formula()
        return min(value, top) if value > 0 else -mp.one  # -1: cut

    return max(agreed(compute, digits), mp.zero)


def epsilon_from_rdp(
    alpha: Number, rho: Number, delta: Number, kind: Kind = "optimal", digits: int = 50
) -> Any:
    r"""Return epsilon at delta of any mechanism with D_alpha <= rho.

    * "mironov": rho + log(1/delta)/(alpha - 1);
    * "balle": rho + log(1 - 1/alpha) - log(alpha delta)/(alpha - 1);
    * "asoodeh": log(1 + (exp((alpha - 1) rho) - 1)/(alpha delta))/(alpha - 1);
    * "optimal": with q = (p - delta) e^{-epsilon} it solves

    .. math:: \min_{\delta < p \le 1}
              \frac{\log\bigl(p^\alpha q^{1-\alpha} + (1-p)^\alpha (1-q)^{1-\alpha}\bigr)}
              {\alpha - 1} = \rho

    The sum is convex in p (f-divergences are jointly convex and q is linear in p), and its minimum
    rises with epsilon.

    >>> for kind in "mironov", "balle", "asoodeh", "optimal":
    ...     print(kind, round(float(epsilon_from_rdp(2, 0.1, 1e-5, kind)), 4))
    mironov 11.6129
    balle 10.2266
    asoodeh 8.5678
    optimal 7.8748
    """
    a, r = _arguments(alpha, rho, kind, digits)
    d = within("delta", delta, BETWEEN)
    if kind == "optimal":
        return _optimal_epsilon(a, r, d, digits)

    def formula() -> Any:
        if kind == "mironov":
            return real(r) - mp.log(real(d)) / real(a - 1)
        found = _balle(a, r, d)
        if kind == "asoodeh":
            other = mp.log1p(mp.expm1(real((a - 1) * r)) / real(a * d)) / real(a - 1)
            found = min(found, other)
        return found

    return _clamped(formula, digits)


def delta_from_rdp(
    alpha: Number, rho: Number, epsilon: Number, kind: Kind = "optimal", digits: int = 50
) -> Any:
    """Return delta at epsilon of any mechanism with D_alpha <= rho.

    * "mironov": exp((alpha - 1)(rho - epsilon)), at most 1;
    * "balle": exp((alpha-1)(rho-epsilon)) (1-1/alpha)^alpha / (alpha-1), at most 1;
    * "asoodeh": (exp((alpha - 1) rho) - 1)/(alpha (exp((alpha - 1) epsilon) - 1));
    * "optimal": the equation of `epsilon_from_rdp`, solved for delta.

    >>> for kind, at in ("mironov", 11.6129), ("balle", 10.2266), ("asoodeh", 8.5678):
    ...     print(kind, round(float(delta_from_rdp(2, 0.1, at, kind)), 8))
    mironov 1e-05
    balle 1e-05
    asoodeh 1e-05
    """
    a, r = _arguments(alpha, rho, kind, digits)
    e = within("epsilon", epsilon, NOT_NEGATIVE)
    if kind == "optimal":
        return _optimal_delta(a, r, e, digits)

    def formula() -> Any:
        if kind == "mironov":
            return mp.exp(real((a - 1) * (r - e)))
        found = mp.exp(real((a - 1) * (r - e)) + real(a - 1) * mp.log1p(-1 / real(a))) / real(a)
        if kind == "asoodeh" and e > 0:
            other = mp.expm1(real((a - 1) * r)) / (real(a) * mp.expm1(real((a - 1) * e)))
            found = min(found, other)
        return found

    return _clamped(formula, digits, top=1)


def _balle(a: Fraction, r: Fraction, d: Fraction) -> Any:
    return real(r) + mp.log1p(-1 / real(a)) - mp.log(real(d * a)) / real(a - 1)


def _optimal_epsilon(a: Fraction, r: Fraction, d: Fraction, digits: int) -> Any:
    if r == 0:
        return mp.zero

    def compute(work: int, variant: int) -> Any:
        high = max(_balle(a, r, d), mp.one) * (1 + variant)

        def gap(epsilon: Any) -> Any:
            return _least_divergence(real(a), epsilon, real(d), real(1 - d), variant) / real(r) - 1

        if gap(mp.zero) >= 0:
            return -mp.one  # cut at 0
        return root(gap, mp.zero, high, variant, digits + 5)

    return max(agreed(compute, digits, _start(a, r, digits)), mp.zero)


def _optimal_delta(a: Fraction, r: Fraction, e: Fraction, digits: int) -> Any:
    if r == 0:
        return mp.zero

    def compute(work: int, variant: int) -> Any:
        def gap(logit: Any) -> Any:
            delta, rest = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
            return mp.log(_least_divergence(real(a), real(e), delta, rest, variant) / real(r))

        logit = root(gap, -mp.one * (1 + variant), mp.one, variant, digits + 5)
        return 1 / (1 + mp.exp(-logit))

    return agreed(compute, digits, _start(a, r, digits))


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

        logit = root(rise, -mp.one - variant, mp.one, variant, mp.dps // 2 + 2)
        s, t = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
    p, p1, q, q1 = pair(s, t)
    excess = p * mp.expm1((a - 1) * mp.log(p / q))
    if p1:
        excess += p1 * mp.expm1((a - 1) * mp.log(p1 / q1))
    return mp.log1p(excess) / (a - 1)
