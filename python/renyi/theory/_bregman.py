"""Remainders of the logarithm, the exponential, log Gamma and log sinh, without cancellation.

For a convex f, B_f(k, h) = f(k + h) - f(k) - h f'(k) >= 0. Domain, formula and bound stand with
each function; u = 2^-53.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_SPLIT = 2.0**27 + 1.0


def log_deficit(y: Array, one_plus: Array | None = None) -> Array:
    """Return y - log(1 + y) >= 0 for y > -1, with relative error at most 16 u.

    Near 0, with z = y/(2+y), it is y z - 2 z^3 (1/3 + z^2/5 + ...): the second term is less than a
    tenth of the first. ``one_plus`` is 1 + y where it is known better than y near -1.
    """
    y = np.asarray(y, dtype=np.float64)
    z = np.where(np.abs(y) < 0.5, y, 0.0)
    z = z / (2.0 + z)
    square = z * z
    series = np.zeros_like(z)
    for k in range(17, -1, -1):
        series = series * square + 1.0 / (2 * k + 3)
    small = y * z - 2.0 * z * square * series
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log1p(y) if one_plus is None else np.where(y < -0.5, np.log(one_plus), np.log1p(y))
        return np.asarray(np.where(np.abs(y) < 0.5, small, y - log))


def exp_excess(y: Array) -> Array:
    """Return e^y - 1 - y >= 0, with relative error at most 8 u."""
    y = np.asarray(y, dtype=np.float64)
    near = np.where(np.abs(y) < 1.0, y, 0.0)
    series = np.zeros_like(near)
    for k in range(20, 1, -1):
        series = series * near + 1.0 / math.factorial(k)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(np.abs(y) < 1.0, near * near * series, np.expm1(y) - y))


def entropy_excess(y: Array) -> Array:
    """Return (1 + y) log(1 + y) - y >= 0 for y > -1, with relative error at most 64 u."""
    y = np.asarray(y, dtype=np.float64)
    log = np.log1p(y)
    return np.asarray(np.where(np.abs(y) < 0.5, y * log - log_deficit(y), (1.0 + y) * log - y))


def weighted(alpha: Array, x: float, y: float) -> Array:
    """Return alpha x + (1 - alpha) y = y + alpha (x - y), in about twice the working precision.

    The relative error is a few u unless the result is smaller than 2^-40 of its terms: the
    conditions for a finite divergence are decided by its sign.
    """
    first, first_error = _product(alpha, x)
    second, second_error = _product(alpha, -y)
    total, error = _sum(first, second)
    total, more = _sum(total, np.full_like(total, y))
    return total + (error + more + first_error + second_error)


def _product(a: Array, b: float) -> tuple[Array, Array]:
    """Return a b and its rounding error (Dekker); numbers within 2^+-480."""
    product = a * b
    high_a, high_b = a * _SPLIT - (a * _SPLIT - a), b * _SPLIT - (b * _SPLIT - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b and its rounding error (Knuth)."""
    total = a + b
    shift = total - a
    return total, (a - (total - shift)) + (b - shift)


# S(y) = log(sinh(y)/y), convex and even, with the derivative coth(y) - 1/y.


def langevin(y: Array) -> Array:
    """Return coth(y) - 1/y for y >= 0."""
    small = np.minimum(y, 1.0)
    square, top, bottom = small * small, np.zeros_like(y), np.zeros_like(y)
    for k in range(10, 0, -1):  # (y cosh(y) - sinh(y)) / y^2 over sinh(y)/y
        factorial = math.factorial(2 * k + 1)
        top = top * square + 2.0 * k / factorial
        bottom = (bottom + 1.0 / factorial) * square
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, small * top / (1.0 + bottom), 1.0 / np.tanh(large) - 1.0 / large)


def log_sinhc(y: Array) -> Array:
    """Return log(sinh(y)/y) for y >= 0."""
    small = np.minimum(y, 1.0)
    square, series = small * small, np.zeros_like(y)
    for k in range(10, 0, -1):
        series = (1.0 + series) * square / (2.0 * k * (2.0 * k + 1.0))
    large = np.maximum(y, 1.0)
    return np.where(y < 1.0, np.log1p(series), large - sinhc_deficit(large))


def sinhc_deficit(y: Array) -> Array:
    """Return y - log(sinh(y)/y) for y >= 1/2; smaller y give the value there."""
    y = np.maximum(y, 0.5)
    return np.asarray(np.log(2.0 * y) - np.log(-np.expm1(-2.0 * y)))


# The log-gamma function less its leading part,
#
#     g(k) = log Gamma(k) - k log k + k = (log(2 pi) - log k)/2 + 1/(12 k) - 1/(360 k^3) + ...,
#
# convex because psi'(k) > 1/k. Stirling's series serves for k and k + h >= 10 (DLMF 5.11.1; the
# error is below the first term left out, 4e-18 there); log Gamma(k) = log Gamma(k + 1) - log k
# moves smaller arguments up, and the Bregman divergence of -log k is h/k - log(1 + h/k).

_LARGE = 10.0
_SHIFTS = 10

# B_2n / (2n (2n-1)), the coefficients of k^(1-2n).
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
    43867 / 244188,
)


def gamma_excess(k: Array, h: Array) -> Array:
    """Return B_g(k, h) for k > 0 and k + h > 0.

    The relative error is below 200 u where |h| <= k/2; elsewhere below about 50 u (1 + log k), the
    terms of g being added as they are.
    """
    k, h = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(h, dtype=np.float64))
    near = np.abs(h) <= 0.5 * k
    found = np.empty(k.shape)
    found[near] = _near(k[near], h[near])
    k, h = k[~near], h[~near]
    found[~near] = _centred(k + h) - _centred(k) - h * _slope(k)
    return found


def _near(k: Array, h: Array) -> Array:
    large = np.minimum(k, k + h) >= _LARGE
    up = np.where(large, k, k + _SHIFTS)
    ratio = h / up
    found = 0.5 * log_deficit(ratio) + _tail_excess(up, ratio)
    small = ~large
    k, h, up = k[small], h[small], up[small]
    steps = sum(log_deficit(h / (k + i)) for i in range(_SHIFTS))
    # From log Gamma at k + 10 back to g at k: Bregman divergences of x log x.
    moved = up * entropy_excess(h / up) - k * entropy_excess(h / k)
    found[small] += steps + moved
    return found


def _tail_excess(k: Array, y: Array) -> Array:
    """Return the sum of c_n B(k^-m), m = 2n - 1, of which 1/k gives k^-1 y^2/(1 + y).

    With s = 1/(1+y): (1+y)^-m - 1 + m y = y^2 s (m + (m-1) s + ... + s^(m-1)).
    """
    s, total = 1.0 / (1.0 + y), np.zeros_like(k)
    for n, coefficient in enumerate(_STIRLING, start=1):
        inner = np.zeros_like(k)
        for j in range(1, 2 * n):
            inner = inner * s + j
        total += coefficient * inner * k ** (1.0 - 2 * n)
    return np.asarray(y * y * s * total)


def _centred(k: Array) -> Array:
    """Return g(k) - log(2 pi)/2."""
    up = np.where(k >= _LARGE, k, k + _SHIFTS)
    found = -0.5 * np.log(up)
    for n, coefficient in enumerate(_STIRLING, start=1):
        found += coefficient * up ** (1.0 - 2 * n)
    small = k < _LARGE
    k, up = k[small], up[small]
    steps = sum(np.log(k + i) for i in range(_SHIFTS))
    found[small] += (up * np.log(up) - up) - steps - (k * np.log(k) - k)
    return found


def _slope(k: Array) -> Array:
    """Return g'(k) = psi(k) - log k."""
    up = np.where(k >= _LARGE, k, k + _SHIFTS)
    found = -0.5 / up
    for n, coefficient in enumerate(_STIRLING, start=1):
        found += coefficient * (1.0 - 2 * n) * up ** (-2.0 * n)
    small = k < _LARGE
    k, up = k[small], up[small]
    steps = sum(1.0 / (k + i) for i in range(_SHIFTS))
    found[small] += np.log(up / k) - steps
    return found
