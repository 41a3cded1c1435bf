"""The privacy profile of shuffled reports: certified values of one expectation.

A user sends a report of law R0 or R1. The law of every other user's report is at least w, of sum at
most 1 (the blanket: the common part of all inputs). With g_j = (R0_j - t R1_j)/w_j, t = e^epsilon,
and n users,

    delta(epsilon) <= (1/n) E[(G_1 + ... + G_n)_+] + sum over w_j = 0 of (R0_j - t R1_j)_+ ,     (S)

where the G_i are independent, equal to g_j with probability w_j and else 0 (Balle, Bell, Gascón,
Nissim 2019, arXiv 1903.02837, Lemma 5.3): of Bin(n-1, sum w) + 1 reports within w, one is the
user's. If w is the law R_x of all others, (S) is the delta of that data set, and a lower end.

Let phi be the moment generating function of G, xi ~ N(0, v). On a vertical line through theta > 0,

    U = E(S + xi)_+ = 1/(2 pi) int phi(theta + iy)^n e^{v z^2/2} z^-2 dy ,  E S_+ in [U - v D, U] ,

where D is the density of S + xi at 0, the same integral without z^-2: U rises with v by half the
density at 0, and the density of a smaller variance u is at most sqrt(v/u) D. The trapezoidal sum
with step h is
sum_m e^{theta c} E(S + xi - c)_+ over c = 2 pi m/h: never below U.

Frequencies where |phi|^n is negligible are left out. Let s and r be the standard deviation and the
range of the tilted law. Then |phi(y)/phi(0)|^2 <= 1 - 4 y^2 s^2/pi^2 for |y| r <= pi, since
cos x <= 1 - 2 x^2/pi^2; beyond, |phi/phi(0)| changes by at most s for every unit of y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ETA = 2.0**-44  # relative error of the probabilities of a law, and of sums over 8 types
GAP = 2.0**-17  # smoothing may add this much to delta, relatively
LARGEST_GAP = 0.25
MOST_FREQUENCIES, MOST_TERMS = 2**12, 2**15  # the most frequencies, and the most times types
NEGLIGIBLE = 2.0**-56
MOST_COUNTS = 2**12  # the most counts of types in a sum over all of them
CELL = 0.1  # width of the cells of frequencies that are left out or not, over 1/s
LEAST = 1e-290  # smaller deltas are not computed
RAREST = 1e-90  # chance of a report below which it counts as one that the others never send
UP = 1.0 + 2.0**-44


class Reports(NamedTuple):
    """Laws of a report: of one user with either input, and the common part of all others."""

    one: Array
    other: Array
    common: Array

    def reversed(self) -> Reports:
        """Return the same with both inputs exchanged."""
        return Reports(self.other, self.one, self.common)

    @property
    def variance(self) -> float:
        """Roughly the variance of the loss times the number of users."""
        seen = self.common > RAREST
        return float(((self.one - self.other)[seen] ** 2 / self.common[seen]).sum())


def delta_of(
    reports: Reports, users: int, epsilon: float, enough: float = 0.0
) -> tuple[float, float]:
    """Return ends of (S), certified, for laws that are right to `ETA`; epsilon >= 0.

    If little work proves that ``enough`` is an upper end, the lower end may be trivial.
    """
    t = math.exp(min(epsilon, 700.0))
    seen, never = reports.common > RAREST, reports.common == 0.0
    alone = reports.one - t * reports.other, reports.one + t * reports.other
    hidden = float(np.maximum(alone[0][~seen] + ETA * alone[1][~seen], 0.0).sum())
    revealed = float(np.maximum(alone[0][never] - ETA * alone[1][never], 0.0).sum())
    w = reports.common[seen]
    g, size = (part[seen] / t / w for part in alone)
    unit = float(size.max(initial=0.0)) or 1.0  # losses may be large
    low, high = _mean_excess(
        g / unit, size / unit, w, users, (enough / UP - hidden) * users / t / unit
    )
    low, high = low * t * unit, high * t * unit
    # By convexity delta is at most the delta of the report without the others.
    most = float(np.maximum(alone[0][seen] + ETA * alone[1][seen], 0.0).sum())
    high = min(high / users, most) + hidden
    return max(low / users + revealed, 0.0) / UP, min(high * UP, 1.0)


def _mean_excess(g: Array, size: Array, w: Array, users: int, enough: float) -> tuple[float, float]:
    """Return ends of E[(G_1 + ... + G_n)_+]; g is right to ETA size, |g| <= size."""
    n = float(users)
    if not (g > ETA * size).any():
        return 0.0, math.inf
    if math.comb(users + g.size, g.size) <= MOST_COUNTS:
        return _by_counts(g, size, w, users)
    theta = _saddle(g, w, n)
    if theta is None:
        return 0.0, math.inf
    tilted = w * np.exp(theta * g)
    null = max(1.0 - float(w.sum()), 0.0)
    rise = float(w @ np.expm1(theta * g))
    phi = 1.0 + rise
    p, rest = tilted / phi, null / phi
    mean = float(p @ g)
    s = math.sqrt(float(p @ (g - mean) ** 2) + rest * mean * mean)
    sd, span = s * math.sqrt(n), max(float(g.max()), 0.0) - min(float(g.min()), 0.0)
    # An error of the exponent of the transform at z is at most n |z| `unit`.
    unit = (ETA + 2.0**-50 * g.size) * 8.0 * float((w * np.maximum(np.exp(theta * g), 1.0)) @ size)
    unit /= phi
    log_f = n * math.log1p(rise)
    error_f = n * theta * unit + 2.0**-50 * (8.0 + abs(log_f))
    crude = _exp(log_f + error_f - 1.0) / theta  # since x <= e^(theta x)/(e theta)
    if crude <= enough or not (error_f < 1e-2 and log_f > -650.0 and s > 0.0):
        return 0.0, crude
    shift, factor = _alias(g, w, n, theta, sd, log_f)
    h, gap = 2.0 * math.pi / shift, GAP
    most = min(MOST_FREQUENCIES, MOST_TERMS // g.size)
    first = min(14.4 / sd, math.pi / span)
    while True:
        v = gap / theta**2
        last = math.sqrt(72.0 / v)
        count = (last - math.pi / span) * s / CELL
        if count <= most:
            places, dropped = _frequencies((first, last, h), g, p, n, v, s, span, unit)
            count = sum(b - a + 1.0 for a, b in places)
            if count <= most:
                break
        if gap == LARGEST_GAP:
            return 0.0, crude
        gap = min(gap * max(1.2, (count / most) ** 2), LARGEST_GAP)
    y = h * np.concatenate([np.arange(a, b + 1.0) for a, b in places])
    # (phi(theta + iy)/phi(theta))^n, by the real and imaginary parts of the quotient minus 1.
    real, imaginary = _transform(y, g, p)
    off = (y + theta) * unit
    modulus, angle = np.log1p(real * (2.0 + real) + imaginary**2), np.arctan2(imaginary, 1.0 + real)
    size_ = np.exp(0.5 * n * modulus - 0.5 * v * y * y)
    above = np.exp((n - 1.0) * 0.5 * np.log1p(np.maximum(_squared(modulus, off), -1.0 + 1e-300)))
    wrong = n * off * above * np.exp(-0.5 * v * y * y)
    wrong += 2.0**-50 * size_ * (8.0 + n * (np.abs(modulus) + np.abs(angle)))
    value = size_ * np.exp(1j * np.remainder(n * angle + v * theta * y, 2.0 * math.pi))
    weight = 1.0 / (theta + 1j * y) ** 2
    flat = np.abs(weight)
    density = h / math.pi * (0.5 + float(value.real.sum()) + float(wrong.sum()) + dropped[0])
    total = h / math.pi * (0.5 / theta**2 + float((value * weight).real.sum()))
    error = h / math.pi * (float((wrong + 2.0**-48 * size_) @ flat) + dropped[1])
    f = _exp(log_f + 0.5 * v * theta**2)
    high = f * (total + error) * (1.0 + 2.0 * error_f) * UP
    low = f * (total - error - factor - v * density * UP) * (1.0 - 2.0 * error_f) / UP
    return max(low, 0.0), high


def _by_counts(g: Array, size: Array, w: Array, users: int) -> tuple[float, float]:
    """Return ends of the expectation by its sum over all counts of types."""
    log_factorial = np.append(0.0, np.cumsum(np.log(np.arange(1.0, users + 1.0))))
    left, total, off, log_p = np.array([users]), np.zeros(1), np.zeros(1), log_factorial[-1:]
    for one, error, mass in zip(g.tolist(), (ETA * size).tolist(), w.tolist(), strict=True):
        of = np.repeat(np.arange(left.size), left + 1)
        count = np.arange(of.size) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        left, total, off = left[of] - count, total[of] + count * one, off[of] + count * error
        log_p = log_p[of] + count * math.log(mass) - log_factorial[count]
    null = 1.0 - float(w.sum())
    revealed = null > ETA  # else null is rounding, and the lower end leaves it out
    if revealed:
        log_p += left * math.log(null)
    p = np.exp(log_p - log_factorial[left])
    if not revealed:
        p[left > 0] = 0.0
    error = 8.0 * users * ETA
    low = float(p @ np.maximum(total - off, 0.0)) * (1.0 - error)
    return low, float(p @ np.maximum(total + off, 0.0)) * (1.0 + error)


def _squared(modulus: Array, off: Array) -> Array:
    """Return (|x| + off)^2 - 1 for log |x|^2."""
    size = np.exp(0.5 * modulus)
    return np.expm1(modulus) + off * (2.0 * size + off)


def _transform(y: Array, g: Array, p: Array) -> tuple[Array, Array]:
    """Return sum p (e^{iyg} - 1), real and imaginary, to few ulps of sum p |yg|."""
    real, imaginary = np.zeros(y.size), np.zeros(y.size)
    for loss, mass in zip(g.tolist(), p.tolist(), strict=True):
        real -= 2.0 * mass * np.sin(0.5 * loss * y) ** 2
        imaginary += mass * np.sin(loss * y)
    return real, imaginary


def _frequencies(
    range_: tuple[float, float, float],
    g: Array,
    p: Array,
    n: float,
    v: float,
    s: float,
    span: float,
    unit: float,
) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Return the frequencies of the sum and bounds of the sums over all others.

    The frequencies are multiples of h, given by the first and last multiple of each stretch. The
    bounds are of the sums of |value| and of |value|/y^2.
    """
    first, last, h = range_
    ends = [(1.0, float(math.floor(first / h)))]
    start, plain, squared = math.pi / span, 0.0, 0.0
    if first < start:
        bound = math.exp(-2.0 / math.pi**2 * n * s * s * first * first)
        plain = bound * ((start - first) / h + 1.0)
        squared = bound * (1.0 / h + 1.0 / first) / first
    if last > start:
        edges = np.linspace(start, last, math.ceil((last - start) * s / CELL) + 1)
        half = 0.5 * (edges[1] - edges[0])
        real, imaginary = _transform(edges[:-1] + half, g, p)
        most = np.hypot(1.0 + real, imaginary) + half * s * (1.0 + 2.0**-20) + edges[1:] * unit
        most = np.minimum(most, 1.0)
        with np.errstate(divide="ignore"):
            most = np.exp(n * np.log(most) - 0.5 * v * edges[:-1] ** 2)
        kept = most > NEGLIGIBLE * min(1.0, start * h)
        counts = 2.0 * half / h + 1.0
        plain += counts * float(most[~kept].sum())
        squared += counts * float((most / edges[:-1] ** 2)[~kept].sum())
        turns = np.flatnonzero(np.diff(kept, prepend=False, append=False))
        places = np.floor(edges[turns] / h)
        ends += zip(places[::2] + 1.0, places[1::2], strict=True)
    end = max(last, start, first)
    rest = math.exp(-0.5 * v * end * end)
    plain += rest * (1.0 + 1.0 / (h * v * end))
    squared += rest * (1.0 / end**2 + 1.0 / (h * end))
    return ends, (plain, squared)


def _saddle(g: Array, w: Array, n: float) -> float | None:
    """Return roughly the minimiser of n log phi(theta) - 2 log theta; None: beyond doubles."""
    most, theta = 600.0 / float(np.abs(g).max()), 1.4 / math.sqrt(n * float(w @ (g * g)))
    theta = min(theta, most)
    for _ in range(60):
        tilted = w * np.exp(theta * g)
        phi = 1.0 + float(w @ np.expm1(theta * g))
        mean = float(tilted @ g) / phi
        curvature = n * (float(tilted @ (g * g)) / phi - mean * mean) + 2.0 / theta**2
        found = theta - (n * mean - 2.0 / theta) / curvature
        found = min(max(found, 0.25 * theta), 4.0 * theta, most)
        if abs(found - theta) < 1e-3 * theta:
            return found
        theta = found
    return theta if theta < most else None


def _alias(
    g: Array, w: Array, n: float, theta: float, sd: float, log_f: float
) -> tuple[float, float]:
    """Return a shift c, and a bound of the terms m != 0 of the sum, relative to f(theta).

    For m > 0, e^{theta c} E(S - c)_+ <= e^{-d c} f(theta + d)/(e (theta + d)), and each further
    term is smaller by e^{-d c}; for m < 0, the bound is e^{-theta c} (E|S| + c). Smoothing enters
    by v theta^2, which is at most `LARGEST_GAP`.
    """
    d = min(8.0 / (sd + 1.0 / theta), 60.0 / float(np.abs(g).max()))
    rise = n * math.log1p(float(w @ np.expm1((theta + d) * g))) - log_f
    rise += 0.5 * LARGEST_GAP * (1.0 + d / theta) ** 2
    scale = math.log(theta * theta * sd + theta)  # of f(theta) over the sum
    total = n * float(w @ np.abs(g)) + 1.0 / theta
    back = math.log(max(total, 1.0)) - log_f + 2.0
    c = max((rise + max(scale, 0.0) + 34.0) / d, (back + max(scale, 0.0) + 40.0) / theta, 4.0 * sd)
    added = _exp(rise - d * c) / theta + _exp(back - theta * c) * (1.0 + c)
    return c, 2.0 * added


def _exp(x: float) -> float:
    return math.exp(min(x, 700.0))
