"""Reference values of the derivatives of log A and of complex orders, from ``renyi.reference``.

    python tests/reference/make_derivatives.py      # tests/reference/derivatives.npz, 10 minutes

300 points of the box of ``make_log_a``. For every point: the Kullback-Leibler divergence at its
(q, sigma), that is the derivative at alpha = 1; the first and second derivative at alpha; and
exp(log A(alpha + i tau) - log A(alpha)) at a tau that turns the integrand by 0.01 to 30 radians
over a standard deviation of the loss. Points where that takes too many nodes are left out.
"""

from __future__ import annotations

import importlib
import random
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from mpmath import mp
from tqdm import tqdm

from renyi import reference
from renyi.reference import _sampled_gaussian

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
random_point = importlib.import_module("make_log_a").random_point

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


def rows(count: int) -> list[tuple[float, ...]]:
    rng = random.Random(271828)
    found: list[tuple[float, ...]] = []
    with tqdm(total=count) as progress:
        while len(found) < count:
            q, sigma, alpha = random_point(rng)
            kl = reference.log_a(q, sigma, 1, DIGITS, 1)
            first = reference.log_a(q, sigma, alpha, DIGITS, 1)
            second = reference.log_a(q, sigma, alpha, DIGITS, 2)
            tau = min(10 ** rng.uniform(-2, 1.5) / float(mp.sqrt(second)), 1e4)
            try:
                z = ratio(q, sigma, alpha, tau)
            except ArithmeticError:
                continue
            exact = map(float, (q, sigma, alpha, kl, first, second, tau, z.real, z.imag))
            found.append(tuple(exact))
            progress.update()
    return found


if __name__ == "__main__":
    columns = np.array(rows(300)).T
    np.savez_compressed(HERE / "derivatives.npz", **dict(zip(COLUMNS, columns, strict=True)))
