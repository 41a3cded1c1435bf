"""Bregman divergences of the log-gamma function, without cancellation.

For a convex f, B_f(k, h) = f(k + h) - f(k) - h f'(k) >= 0. Here f is

    g(k) = log Gamma(k) - k log k + k = (log(2 pi) - log k)/2 + 1/(12 k) - 1/(360 k^3) + ...

convex because psi'(k) > 1/k. Stirling's series serves for k and k + h >= 10 (DLMF 5.11.1; its error
is below the first term left out, 4e-18 there); log Gamma(k) = log Gamma(k + 1) - log k moves
smaller arguments up, and the Bregman divergence of -log k is h/k - log(1 + h/k).
"""

from __future__ import annotations

import numpy as np

from renyi.theory.divergences._stable import Array, entropy_excess, log_deficit

__all__ = ["gamma_excess"]

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
    far = ~near
    found[far] = _far(k[far], h[far])
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


def _far(k: Array, h: Array) -> Array:
    end = k + h
    return _centred(end) - _centred(k) - h * _slope(k)


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
