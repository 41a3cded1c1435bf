"""Write tests/reference/cpp/*.npy again: reference values in ball arithmetic for the C++ tests.

    python tests/reference/make_cpp_tables.py          # all tables, a minute
    python tests/reference/make_cpp_tables.py node     # one of them

Arguments are those that are there, doubles, taken as exact: random ones of all sizes, the ends of
ranges and of reductions with their neighbours, and the worst of 2e7 for each function. A value is
an unevaluated sum hi + lo; lo keeps 24 bits where the functions under test are double functions,
53 elsewhere. Needs python-flint; conversions also need renyi.reference.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx

HERE = Path(__file__).resolve().parent


def shorter(x: float, bits: int) -> float:
    """Keep the leading bits."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)


def pair(value: Any, bits: int = 24) -> tuple[float, float]:
    """hi + lo of a ball; refuses one that is too wide to know them."""
    hi = float(value)
    rest = value - hi
    if not (float(value.rad()) <= abs(hi) * 2.0**-120 or math.isinf(hi)):
        raise ArithmeticError(f"precision lost: {value}")
    return hi, shorter(float(rest), bits)


def pairs(values: Iterable[Any], bits: int = 24) -> list[float]:
    return [part for value in values for part in pair(value, bits)]


def exp(t: float) -> list[float]:
    ctx.prec = 400 if abs(t) > 1e-30 else 2500
    a = arb(t)
    phi = pair(a.expm1() - a) if abs(t) > 1e-150 else (0.0, 0.0)
    return [*pairs((a.exp(), a.expm1())), *phi]


def log(y: float) -> list[float]:
    a, exact = arb(y), 0.5 <= y <= 2.0**53  # y - 1 is a double
    return [*pair(a.log()), *(pair((a - 1).log1p() - (a - 1)) if exact else (0.0, 0.0))]


def log1p(x: float) -> list[float]:
    return pairs((arb(x).log1p(), arb(x).log1p() - arb(x)))


def exp_dd(hi: float, lo: float, exponent: float) -> list[float]:
    return pairs([(arb(hi) + arb(lo) - arb.log(arb(2)) * int(exponent)).exp()], 53)


def log_dd(hi: float, lo: float) -> list[float]:
    return pairs([(arb(hi) + arb(lo)).log()], 53)


def log1p_of(hi: float, lo: float, exponent: float) -> list[float]:
    return pairs([((arb(hi) + arb(lo)) * arb(2) ** int(exponent)).log1p()])


def arithmetic(a_hi: float, a_lo: float, b_hi: float, b_lo: float) -> list[float]:
    x, y = arb(a_hi) + arb(a_lo), arb(b_hi) + arb(b_lo)
    return pairs((x + y, x * y, x / y), 53)


def factorial5000(exponent: float) -> list[float]:
    return pairs([arb(math.factorial(5000)) / arb(2) ** int(exponent)], 53)


def erfcx(x: float) -> list[float]:
    return pairs([(arb(x) ** 2).exp() * arb(x).erfc()])


def node(q: float, sigma: float, h: float, j: float, *exponents: float) -> list[float]:
    """Everything the kernels say about u = j h."""
    c, at = 1 / arb(sigma), arb(j * h)
    x = arb(q) * (at * c - c * c / 2).expm1()
    n, ratio = (-at * at / 2).exp(), x.log1p()
    values = [ratio, n * ((1 + x) * ratio - x), n * (x - ratio), n * (1 + x), n]
    for weight, s in zip((n * (1 + x), n), map(arb, exponents), strict=True):  # m phi(s l)
        values.append(weight * ((s * ratio).expm1() - s * ratio))
    return pairs(values)


def of_digits(value: Any) -> tuple[float, float]:
    """hi + lo of a value known to 35 digits."""
    from mpmath import mp

    known = arb(mp.nstr(value, 50))
    hi = float(known)
    return hi, shorter(float(known - hi), 53)


def given_delta(alpha: float, k: float, log_delta: float) -> list[float]:
    """Epsilon of mironov, balle, asoodeh and the optimal conversion."""
    from mpmath import mp

    from renyi import reference

    a, x, y = arb(alpha), arb(k), arb(log_delta)
    balle = (x - y - a.log()) / (a - 1) + ((a - 1) / a).log()
    other = ((x.expm1() / a) * (-y).exp()).log1p() / (a - 1)
    forms = [(x - y) / (a - 1), balle, balle if balle < other else other]
    with mp.workdps(60):
        rho, delta = mp.mpf(k) / (mp.mpf(alpha) - 1), mp.exp(mp.mpf(log_delta))
        best = reference.epsilon_from_rdp(alpha, rho, delta, "optimal", 35)
        return [*pairs(forms, 53), *of_digits(best)]


def given_epsilon(alpha: float, k: float, epsilon: float) -> list[float]:
    """Log delta of the same, not cut at 0."""
    from mpmath import mp

    from renyi import reference

    a, x, y = arb(alpha), arb(k), arb(epsilon)
    b = a - 1
    balle = x - b * y - a.log() + b * (b / a).log()
    other = arb(2) ** 60
    if epsilon > 0:
        other = x.expm1().log() - a.log() - (b * y).expm1().log()
    forms = [x - b * y, balle, balle if balle < other else other]
    with mp.workdps(60):
        rho = mp.mpf(k) / (mp.mpf(alpha) - 1)
        best = mp.log(reference.delta_from_rdp(alpha, rho, epsilon, "optimal", 35))
        return [*pairs(forms, 53), *of_digits(best)]


TABLES: dict[str, tuple[int, int, Callable[..., list[float]]]] = {  # arguments, bits of a ball
    "exp": (1, 400, exp),
    "log": (1, 2500, log),
    "log1p": (1, 2500, log1p),
    "exp_dd": (3, 400, exp_dd),
    "log_dd": (2, 400, log_dd),
    "log1p_of": (3, 2500, log1p_of),
    "arithmetic": (4, 600, arithmetic),
    "factorial5000": (1, 80000, factorial5000),
    "erfcx": (1, 400, erfcx),
    "node": (6, 400, node),
    "given_delta": (3, 800, given_delta),
    "given_epsilon": (3, 800, given_epsilon),
}


def main() -> None:
    for name in sys.argv[1:] or TABLES:
        arguments, ctx.prec, values = TABLES[name]
        path = HERE / "cpp" / f"{name}.npy"
        table = np.load(path)
        given = [row[:arguments] for row in table.tolist()]
        np.save(path, np.array([(*row, *values(*row)) for row in given], table.dtype))
        print(f"{path.name}: {len(given)} rows")


if __name__ == "__main__":
    main()
