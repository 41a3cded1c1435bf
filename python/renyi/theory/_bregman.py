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


def sinhc_deficit(y: Array) -> Array:
    """Return y - log(sinh(y)/y) for y >= 0, with an absolute error of a few u (1 + |log y|)."""
    y = np.maximum(y, 1e-300)
    return np.asarray(np.log(2.0 * y) - np.log(-np.expm1(-2.0 * y)))


_STEP = 0.2  # the integrand is analytic for |Im s| < pi/2: off by e^(-pi^2/_STEP), about
_AT_ONCE = 1000  # integrals, for the size of the arrays


def gamma_excess(k: Array, h: Array) -> Array:
    """Return B_g(k, h) of g(k) = log Gamma(k) - k log k + k, for k > 0 and k + h > 0.

    Binet's formula (DLMF 5.9.10) makes it an integral of non-negative terms over s, t = e^s:

        B_g(k, h) = d(h/k)/2 + integral of L(t/2)/2 e^(-kt) (e^(-ht) - 1 + ht) ds

    with d = `log_deficit` and L = `langevin`. The relative error is below 100 u.
    """
    k, h = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(h, dtype=np.float64))
    count = max(-(-k.size // _AT_ONCE), 1)
    parts = zip(np.array_split(k.ravel(), count), np.array_split(h.ravel(), count), strict=True)
    return np.concatenate([_gamma_excess(*part) for part in parts]).reshape(k.shape)


def _gamma_excess(k: Array, h: Array) -> Array:
    end = np.maximum(k + h, 2.0**-60 * k)
    found = 0.5 * log_deficit(h / k, end / k)
    k, h, end = k[:, None], h[:, None], end[:, None]
    large, small = np.maximum(k, end), np.minimum(k, end)
    spread = float(np.max(np.log(large) - np.log(small)))
    t = np.exp(np.arange(-20.0, spread + 4.0, _STEP)) / large  # beyond, terms are below u
    y = -h * t
    near = np.exp(-k * t) * exp_excess(np.clip(y, -1.0, 1.0))
    terms = np.where(np.abs(y) < 1.0, near, np.exp(-end * t) - np.exp(-k * t) * (1.0 + y))
    return np.asarray(found + 0.5 * _STEP * np.sum(langevin(0.5 * t) * terms, axis=1))
