"""Reference values of the derivatives of log A and of complex orders, from ``renyi.reference``.

    python tests/reference/make_derivatives.py      # tests/reference/derivatives.npz, 10 minutes

The points that are there again, 300 random ones of the box of ``make_log_a``. For every point: the
Kullback-Leibler divergence at its (q, sigma), that is the derivative at alpha = 1; the first and
second derivative at alpha; and exp(log A(alpha + i tau) - log A(alpha)) at a tau that turns the
integrand by 0.01 to 30 radians over a standard deviation of the loss.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from mpmath import mp

from renyi import reference
from renyi.reference import _sampled_gaussian

TABLE = Path(__file__).with_name("derivatives.npz")
COLUMNS = ("q", "sigma", "alpha", "kl", "first", "second", "tau", "ratio_real", "ratio_imag")
DIGITS = 22
_sampled_gaussian.MOST = 100_000  # nodes; seconds a point


def ratio(q: float, sigma: float, alpha: float, tau: float) -> complex:
    """A(alpha + i tau)/A(alpha), to 1e-20 absolutely."""
    if q == 1.0:
        with mp.workdps(60):
            s, order = mp.mpf(sigma), mp.mpc(alpha, tau)
            moment = order * (order - 1) - mp.mpf(alpha) * (mp.mpf(alpha) - 1)
            return complex(mp.exp(moment / (2 * s**2)))
    exact = Fraction(q), Fraction(sigma)
    order = Fraction(alpha), Fraction(tau)
    values = []
    for work, variant in ((32, 0), (37, 1)):
        peak, (moment,) = _sampled_gaussian.integrals(*exact, order, lambda _: (1,), work, variant)
        real_peak, (size,) = _sampled_gaussian.integrals(
            *exact, order[:1], lambda _: (1,), work, variant
        )
        with mp.workdps(work):
            values.append(moment / size * mp.exp(peak - real_peak))
    if abs(values[0] - values[1]) > 1e-20:
        raise ArithmeticError(f"{(q, sigma, alpha, tau)}: {values}")
    return complex(values[1])


def row(q: float, sigma: float, alpha: float, tau: float) -> tuple[float, ...]:
    kl = reference.log_a(q, sigma, 1, DIGITS, 1)
    first, second = (reference.log_a(q, sigma, alpha, DIGITS, k) for k in (1, 2))
    z = ratio(q, sigma, alpha, tau)
    return tuple(map(float, (q, sigma, alpha, kl, first, second, tau, z.real, z.imag)))


if __name__ == "__main__":
    table = dict(np.load(TABLE))
    given = zip(*(table[name].tolist() for name in ("q", "sigma", "alpha", "tau")), strict=True)
    columns = np.array([row(*point) for point in given]).T
    np.savez_compressed(TABLE, **dict(zip(COLUMNS, columns, strict=True)))
