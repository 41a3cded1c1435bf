"""Print the polynomial of src/renyi/special/normal.hpp; needs mpmath.

(1 + 2x) erfcx(x), t = (x - k)/(x + k), interpolated at Chebyshev nodes in t and written in powers
of t. The powers are safe here: the sizes of the coefficients add up to 1.8.

    python tools/make_erfcx_polynomial.py
"""

from __future__ import annotations

import mpmath as mp

NODES, DEGREE, K = 64, 25, mp.mpf(15) / 4


def scaled(t: mp.mpf) -> mp.mpf:
    """Return (1 + 2x) erfcx(x) at x = k (1 + t)/(1 - t)."""
    x = K * (1 + t) / (1 - t)
    if x < 200:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    series, term = mp.mpf(0), mp.mpf(1)
    for n in range(30):
        series += term
        term *= -(2 * n + 1) / (2 * x * x)
    return (1 + 2 * x) * series / (x * mp.sqrt(mp.pi))


def coefficients() -> list[mp.mpf]:
    """Return the coefficients of the powers of t."""
    angles = [mp.pi * (j + mp.mpf(1) / 2) / NODES for j in range(NODES)]
    values = [scaled(mp.cos(angle)) for angle in angles]
    powers = [mp.mpf(0)] * (DEGREE + 1)
    before, here = [mp.mpf(0), mp.mpf(1)], [mp.mpf(1)]  # T_-1 = T_1 = t and T_0
    for n in range(DEGREE + 1):
        weight = mp.mpf(2 if n else 1) / NODES
        c = weight * sum(v * mp.cos(n * angle) for v, angle in zip(values, angles, strict=True))
        for i, power in enumerate(here):
            powers[i] += c * power
        following = [mp.mpf(0)] + [2 * power for power in here]
        for i, power in enumerate(before):
            following[i] -= power
        before, here = here, following
    return powers


if __name__ == "__main__":
    mp.mp.dps = 50
    for power in coefficients():
        print(f"{float(power).hex()},")
