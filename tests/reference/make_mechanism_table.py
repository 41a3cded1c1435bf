"""Write tables of tests/reference/cpp: K of noise and answers, sampled and not, in ball arithmetic.

    python tests/reference/make_mechanism_table.py    # a few seconds

Needs python-flint. Integrals are enclosed by acb.integral; parameters are doubles, taken as exact.
A row with alpha = 1 holds the Kullback-Leibler divergence.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

from flint import acb, arb, ctx
from make_cpp_tables import Rows, pair, save

Atom = tuple[arb, arb]  # loss, mass under P
Density = tuple[arb, arb]  # top, density of the loss under P there


def laplace(scale: float) -> tuple[list[Atom], Density | None]:
    top = 1 / arb(scale)
    return [(top, arb(1) / 2), (-top, (-top).exp() / 2)], (top, arb(1) / 4)


def exponential(epsilon: float) -> tuple[list[Atom], Density | None]:
    top = arb(epsilon)
    return [], (top, 1 / (2 * (1 - (-top).exp())))


def randomized_response(p: float, choices: float) -> tuple[list[Atom], Density | None]:
    right = arb(p)
    wrong = (1 - right) / (arb(choices) - 1)
    loss = (right / wrong).log()
    return [(loss, right), (-loss, wrong), (arb(0), wrong * (arb(choices) - 2))], None


def discrete_laplace(scale: float, sensitivity: float) -> tuple[list[Atom], Density | None]:
    decay = (-1 / arb(scale)).exp()
    atoms = []
    for j in range(int(sensitivity) + 1):
        inside = 0 < j < sensitivity
        mass = decay ** int(sensitivity - j) / (1 + decay) * (1 - decay if inside else 1)
        atoms.append(((arb(2 * j) - arb(sensitivity)) / arb(scale), mass))
    return atoms, None


PAIRS: list[Callable[..., tuple[list[Atom], Density | None]]] = [
    laplace,
    exponential,
    randomized_response,
    discrete_laplace,
]


def excess(x: Any, alpha: float, log: Any) -> Any:
    """(1+x)^alpha - 1 - alpha x, or (1+x) log(1+x) - x at alpha = 1."""
    if alpha == 1.0:
        return (1 + x) * log - x
    return (log * arb(alpha)).exp() - 1 - x * arb(alpha)


def whole_density(density: Density, alpha: float) -> arb:
    """E_Q[e^{alpha l} - 1 - alpha (e^l - 1)] over the density, or its divergence."""
    top, peak = density
    scale = peak * (-top / 2).exp()
    if alpha == 1.0:
        return scale * (4 * top * (top / 2).cosh() - 8 * (top / 2).sinh())
    s = arb(alpha) - arb(1) / 2
    return scale * (2 * (s * top).sinh() / s - 4 * (top / 2).sinh())


def sampled_density(density: Density, q: float, alpha: float) -> arb:
    """The same of x = q (e^l - 1) for e^l - 1, by pieces that halve towards the top."""
    top, peak = density

    def integrand(z: acb, analytic: bool) -> acb:
        x = arb(q) * (z.exp() - 1)
        return (-(z + top) / 2).exp() * excess(x, alpha, (1 + x).log(analytic=analytic))

    ends = [top, *(top * (1 - arb(2) ** -j) for j in range(20, -1, -1)), -top]
    total, tolerance = arb(0), arb(2) ** -ctx.prec
    for high, low in itertools.pairwise(ends):
        part = acb.integral(
            integrand, acb(low), acb(high), rel_tol=arb(2) ** -180, abs_tol=tolerance
        ).real
        total += peak * part
        tolerance = abs(total) * arb(2) ** -180
    return total


def moment(atoms: list[Atom], density: Density | None, q: float, alpha: float) -> arb:
    """K of ((1-q) Q + q P, Q)."""
    total = arb(0)
    for loss, mass in atoms:
        x = arb(q) * loss.expm1()
        total += mass * (-loss).exp() * excess(x, alpha, x.log1p())
    if density is not None:
        whole = q == 1.0
        total += whole_density(density, alpha) if whole else sampled_density(density, q, alpha)
    return total if alpha == 1.0 else total.log1p()


def bounded_range(epsilon: float, alpha: float) -> arb:
    large = arb(epsilon).exp()
    if alpha == 1.0:
        t = ((large - 1) / arb(epsilon)).log()
        return t - (t.exp() - 1) / (large - 1) * arb(epsilon)
    b = arb(alpha) - 1
    small = (-b * arb(epsilon)).exp()
    y = b / (b + 1) * (large - small) / (1 - small)
    return b * y.log() + ((large - small - y * (1 - small)) / (large - 1)).log()


def gumbel(shift: float, alpha: float) -> arb:
    x = arb(shift)
    if alpha == 1.0:
        return x.expm1() - x
    return -arb(alpha) * x - (1 - arb(alpha) * (1 - (-x).exp())).log()


def main() -> None:
    rng = random.Random(8)
    alphas = [1.0, 1 + 2.0**-50, 1 + 1e-6, 1.5, 2.0, 3.0, 17.25, 1000.0, 1e5, 1e6]
    cases = [
        *((0, b, 0.0) for b in (0.0015, 0.02, 0.3, 1.0, 7.0, 1e4, 1e8)),
        *((1, e, 0.0) for e in (1e-6, 0.01, 0.7, 4.0, 60.0, 700.0)),
        *((2, p, k) for p, k in ((0.5000001, 2.0), (0.75, 2.0), (0.1, 2.0), (0.2000001, 5.0))),
        *((2, p, k) for p, k in ((0.9, 10.0), (1 - 2.0**-52, 2.0), (1e-9, 3.0))),
        *((3, s, d) for s, d in ((1.0, 1.0), (0.5, 3.0), (20.0, 2.0), (0.1, 40.0))),
    ]
    rates = [1e-100, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1 - 2.0**-50]
    rows: Rows = []
    for family, first, second in cases:
        ctx.prec = 2000
        atoms, density = PAIRS[family](*([first, second] if family > 1 else [first]))
        whole = [(1.0, alpha) for alpha in [1.0, *rng.sample(alphas[1:], 3)]]
        sampled = [(q, alpha) for q in rates for alpha in alphas]
        for q, alpha in whole + rng.sample(sampled, 8):
            nearness = math.log2(q * q * min(first, 1 / first, 1.0) ** 2 * max(alpha - 1, 2.0**-50))
            ctx.prec = 2000 if q == 1.0 else int(300 - nearness)
            hi, lo = pair(moment(atoms, density, q, alpha))
            rows.append((float(family), first, second, q, alpha, hi, lo))
    ctx.prec = 2000
    other: Rows = []
    for epsilon in (1e-9, 1e-4, 0.1, 1.0, 3.0, 30.0, 400.0, 1000.0):
        for alpha in [1.0, *rng.sample(alphas[1:], 5)]:
            other.append((0.0, epsilon, alpha, *pair(bounded_range(epsilon, alpha))))
    for shift in (1e-9, 1e-3, 0.1, 1.0, 5.0):
        largest = min(1 / -math.expm1(-shift), 1e6)
        for share in (1e-6, 0.01, 0.5, 0.9, 0.999):
            alpha = 1 + share * (largest - 1)
            other.append((1.0, shift, alpha, *pair(gumbel(shift, alpha))))
        other.append((1.0, shift, 1.0, *pair(gumbel(shift, 1.0))))
    save("sampled", "family, first, second, q, alpha, hi, lo", rows)
    save("closed", "family, first, alpha, hi, lo", other)


if __name__ == "__main__":
    main()
