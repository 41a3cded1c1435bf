"""Write tests/reference/cpp/*.npy: reference values in ball arithmetic for the C++ tests.

    python tests/reference/make_cpp_tables.py            # all tables, a few minutes
    python tests/reference/make_cpp_tables.py kernels    # one of them

Needs python-flint; ``rdp_conversion`` also needs renyi.reference. Arguments are doubles, taken as
exact. A value is an unevaluated sum hi + lo; lo keeps 24 bits where the functions under test are
double functions, 53 elsewhere.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx

HERE = Path(__file__).resolve().parent
LOG2 = math.log(2)
Rows = list[tuple[float, ...]]

# The worst arguments of 2e7 random ones per function, found by comparison with quad precision.
HARD_EXP = (
    "0x1.84305ec0c9df2p+3 0x1.6a791582b2e0ap-4 0x1.636cd69a0c0f6p-2 0x1.4f8b588e368f1p-17 "
    "0x1.8f55f32e20e19p+1 -0x1.70c40d7ef02afp-2 0x1.63ce36f425273p-2 -0x1.42a19ada811fp-1 "
    "0x1.08bcc9c15fdep-7 0x1.63be84a4a68ebp-2 0x1.678d21e63236p-2 -0x1.0a2a6035de7b2p+0"
)
HARD_LOG = (
    "0x1.65ba99e4a89adp+1 0x1.69f3fa6ca6807p-1 0x1.48bd78234284fp+0 0x1.666670c95370dp-1 "
    "0x1.00f35da3e21a4p+23 0x1.69e97d7c2f98bp-1 0x1.6a08c70310a57p+0 0x1.676fc3a2c236dp+1 "
    "0x1.69b36609dfd8fp-1 0x1.49f4a941be74p+0"
)
HARD_LOG1P = (
    "0x1.a886a97f0d662p-2 -0x1.2c9f421e6d7bfp-2 0x1.2bdbbc1ea1dcp-2 0x1.a860ade910a52p-2 "
    "-0x1.2c0ee226955ffp-2 0x1.a7885de545c8cp-2 -0x1.2dd610d00adf3p-2 0x1.aa90cd3947bdap-2"
)


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


def save(name: str, columns: str, rows: Rows) -> None:
    path = HERE / "cpp" / f"{name}.npy"
    np.save(path, np.array(rows, [(column, "<f8") for column in columns.split(", ")]))
    print(f"{path.name}: {len(rows)} rows")


def literals(words: str) -> list[float]:
    return [float.fromhex(word) for word in words.split()]


def around(x: float, steps: int = 1) -> Iterator[float]:
    """x and its neighbours."""
    below = above = x
    yield x
    for _ in range(steps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        yield from (below, above)


def wide(rng: random.Random, low: int, high: int) -> float:
    """Random mantissa, random binary exponent in [low, high)."""
    return math.ldexp(1 + rng.random(), rng.randrange(low, high))


def make_elementary() -> None:
    rng = random.Random(1)
    t = literals(HARD_EXP)
    t += [rng.uniform(-708, 708) for _ in range(70)] + [rng.uniform(-3, 3) for _ in range(40)]
    t += [rng.uniform(-LOG2 / 2, LOG2 / 2) for _ in range(30)]
    t += [math.copysign(wide(rng, -145, -1), rng.random() - 0.5) for _ in range(30)]
    for k in (-1021, -40, -3, -2, -1, 0, 1, 2, 3, 51, 52, 53, 54, 1020):  # the reduction steps here
        t += around((k + 0.5) * LOG2)
        t += [(k + 0.5) * LOG2 + rng.uniform(-1e-3, 1e-3) for _ in range(2)]
    for x in (LOG2, 2 * LOG2, 1.0, 0.5, 36.0, 37.5):
        t += [x, -x]
    t += [708.0, -708.0, 2.0**-1074, -(2.0**-1074), 2.0**-1022, 2.0**-60, -(2.0**-53)]
    exps = []
    for x in t:
        ctx.prec = 400 if abs(x) > 1e-30 else 2500
        a = arb(x)
        phi = pair(a.expm1() - a) if abs(x) > 1e-150 else (0.0, 0.0)
        exps.append((x, *pair(a.exp()), *pair(a.expm1()), *phi))

    ctx.prec = 2500
    y = literals(HARD_LOG)
    y += [wide(rng, -1022, 1024) for _ in range(50)] + [rng.uniform(0.5, 2) for _ in range(40)]
    y += [1 + math.copysign(wide(rng, -50, -3), rng.random() - 0.5) for _ in range(30)]
    for k in (-1021, -2, -1, 0, 1, 2, 1023):
        y += around(math.ldexp(math.sqrt(0.5), k), 2)
        y += [math.ldexp(math.sqrt(0.5) + rng.uniform(-1e-3, 1e-3), k) for _ in range(3)]
    y += [*around(2.0), *around(0.5), 2.0**-1022, math.nextafter(math.inf, 0)]
    y += [math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)]
    logs = []
    for x in y:
        exact = 0.5 <= x <= 2.0**53  # x - 1 is a double
        a = arb(x)
        logs.append(
            (x, *pair(a.log()), *(pair((a - 1).log1p() - (a - 1)) if exact else (0.0, 0.0)))
        )

    z = literals(HARD_LOG1P)
    z += [rng.uniform(-0.999, 3) for _ in range(40)] + [rng.uniform(-0.5, -0.29) for _ in range(20)]
    z += [math.copysign(wide(rng, -145, -2), rng.random() - 0.5) for _ in range(30)]
    z += [wide(rng, 1, 1023) for _ in range(20)] + [wide(rng, -50, -1) - 1 for _ in range(15)]
    z += [math.sqrt(0.5) - 1 + rng.uniform(-0.01, 0.001) for _ in range(15)]
    z += [math.sqrt(2) - 1 + rng.uniform(-0.001, 0.01) for _ in range(15)]
    z += [*around(math.sqrt(0.5) - 1, 2), *around(math.sqrt(2) - 1, 2)]
    log1ps = [(x, *pair(arb(x).log1p()), *pair(arb(x).log1p() - arb(x))) for x in z]
    save("exp", "t, exp_hi, exp_lo, expm1_hi, expm1_lo, phi_hi, phi_lo", exps)
    save("log", "y, log_hi, log_lo, pmx_hi, pmx_lo", logs)
    save("log1p", "x, log1p_hi, log1p_lo, pmx_hi, pmx_lo", log1ps)


def double_double(rng: random.Random, hi: float) -> tuple[float, float]:
    """hi with a random low part of at most half an ulp; now and then a very small one or none."""
    lo = hi * rng.uniform(-1, 1) * 2.0**-54
    lo = rng.choice((lo, lo, lo, lo * 2.0 ** -rng.randrange(60), 0.0))
    return (hi, lo) if hi + lo == hi else (hi, 0.0)


def make_elementary_dd() -> None:
    rng = random.Random(2)
    ctx.prec = 400
    h = [rng.uniform(-700, 700) for _ in range(50)] + [rng.uniform(-1, 1) for _ in range(30)]
    h += [(2 * rng.randrange(-3000, 3000) + 1) * LOG2 / 128 for _ in range(30)]  # |r| is largest
    h += [math.copysign(wide(rng, 9, 45), rng.random() - 0.5) for _ in range(20)]
    h += [math.copysign(wide(rng, -100, -1), rng.random() - 0.5) for _ in range(20)]
    exps: Rows = [(0.0, 0.0, 0.0, 1.0, 0.0)]
    for x in h:
        a = double_double(rng, x)
        exponent = round(a[0] / LOG2)
        exps.append(
            (
                *a,
                float(exponent),
                *pair((arb(a[0]) + arb(a[1]) - arb.log(arb(2)) * exponent).exp(), 53),
            )
        )

    y = [wide(rng, -900, 1000) for _ in range(40)] + [rng.uniform(0.5, 2) for _ in range(40)]
    y += [1 + math.copysign(wide(rng, -60, -3), rng.random() - 0.5) for _ in range(30)]
    y += [(1 + rng.randrange(64) / 64) * (1 + rng.uniform(-1, 1) * 2.0**-45) for _ in range(30)]
    pairs = [double_double(rng, x) for x in y] + [
        (2.0**-1022, 0.0),
        (1.0, -(2.0**-54)),
        (1.0, 2.0**-53),
    ]
    logs = [(*a, *pair((arb(a[0]) + arb(a[1])).log(), 53)) for a in pairs]

    scaled = []
    parts = [(float.fromhex("0x1.037c82aa7b49cp-188"), 0.0, 249.0)]  # exponent and mantissa cancel
    for _ in range(60):  # mantissa within 2^+-199, as normalised() leaves it
        mantissa = double_double(rng, wide(rng, -199, 199))
        sizes = ((-900, 900), (-70, 70), (61, 66), (61, 66), (-3, 3))
        size = rng.uniform(*rng.choice(sizes))
        parts.append((*mantissa, float(round(size - math.log2(mantissa[0])))))
    ctx.prec = 2500
    for *mantissa, exponent in parts:
        x = (arb(mantissa[0]) + arb(mantissa[1])) * arb(2) ** int(exponent)
        scaled.append((*mantissa, exponent, *pair(x.log1p())))
    save("exp_dd", "hi, lo, exponent, exp_hi, exp_lo", exps)
    save("log_dd", "hi, lo, log_hi, log_lo", logs)
    save("log1p_of", "hi, lo, exponent, log1p_hi, log1p_lo", scaled)


def make_double_double() -> None:
    rng = random.Random(3)
    ctx.prec = 600
    rows = []
    for i in range(120):
        a = double_double(rng, math.copysign(wide(rng, -30, 30), rng.random() - 0.5))
        b = double_double(rng, math.copysign(wide(rng, -30, 30), rng.random() - 0.5))
        if i % 3 == 0:  # a sum that cancels
            hi = -a[0] * (1 + rng.uniform(-1, 1) * 2.0 ** -rng.randrange(54))
            b = double_double(rng, hi)
        x, y = arb(a[0]) + arb(a[1]), arb(b[0]) + arb(b[1])
        rows.append((*a, *b, *pair(x + y, 53), *pair(x * y, 53), *pair(x / y, 53)))
    ctx.prec = 80000
    factorial = arb(math.factorial(5000))
    exponent = math.factorial(5000).bit_length()
    hi, lo = pair(factorial / arb(2) ** exponent, 53)
    save(
        "arithmetic",
        "a_hi, a_lo, b_hi, b_lo, sum_hi, sum_lo, product_hi, product_lo, ratio_hi, ratio_lo",
        rows,
    )
    save("factorial5000", "exponent, hi, lo", [(float(exponent), hi, lo)])


def make_erfcx() -> None:
    rng = random.Random(4)
    ctx.prec = 400
    x = [rng.uniform(0, 40) for _ in range(80)] + [rng.uniform(0, 3) for _ in range(60)]
    x += [wide(rng, -60, 0) for _ in range(20)] + [0.0, 2.0**-1022, 40.0]
    x += [*around(2 * math.pi, 3)] + [2 * math.pi + rng.uniform(-0.2, 0.2) for _ in range(20)]
    x += [(n + 0.5) / 2 for n in range(14)]
    save("erfcx", "x, hi, lo", [(v, *pair((arb(v) ** 2).exp() * arb(v).erfc())) for v in x])


def make_kernels() -> None:
    """One node: everything the kernels say about u, exact for the double arguments."""
    rng = random.Random(5)
    rows = []
    while len(rows) < 120:
        q = rng.choice((rng.random(), 10 ** rng.uniform(-12, 0), 1 - 10 ** rng.uniform(-6, -1)))
        sigma = rng.choice((10 ** rng.uniform(-2, 6), 10 ** rng.uniform(-1, 1)))
        h = rng.randrange(2048, 4096) / 2.0 ** rng.randrange(13, 16)
        u = rng.uniform(-15, 30)
        if rng.random() < 0.5:  # next to where the reduction of the logarithm steps
            odds = 1 + rng.choice((math.sqrt(0.5) - 1, math.sqrt(2) - 1)) / q
            u = sigma * math.log(odds) + 0.5 / sigma if odds > 0 else u
        j = round(u / h)
        ctx.prec = 400
        c, node = 1 / arb(sigma), arb(j * h)
        w = node * c - c * c / 2
        if not (-700 < w < 690 and abs(j) < 2**14 and abs(j * h) < 37):
            continue
        x = arb(q) * w.expm1()
        n = (-node * node / 2).exp()
        log = x.log1p()
        if not abs(x) > 1e-100:
            continue
        most = math.log10(min(600 / abs(float(log)), 1e6))
        beta, z = (10 ** rng.uniform(min(-6, most - 1), most) for _ in range(2))
        values = [log, n * ((1 + x) * log - x), n * (x - log), n * (1 + x), n]
        for weight, s in ((n * (1 + x), arb(beta)), (n, -arb(z))):  # m phi(s l)
            values.append(weight * ((s * log).expm1() - s * log))
        rows.append((q, sigma, h, float(j), beta, -z, *(part for v in values for part in pair(v))))
    names = ("l", "g_remove", "g_add", "m", "n", "phi_remove", "phi_add")
    columns = ", ".join(f"{name}_hi, {name}_lo" for name in names)
    save("node", f"q, sigma, h, j, s_remove, s_add, {columns}", rows)


def closed_forms(alpha: float, k: float, at: float, given_delta: bool) -> list[arb]:
    """mironov, balle and asoodeh: epsilon at log delta = at, or log delta at epsilon = at."""
    a, x, y = arb(alpha), arb(k), arb(at)
    b = a - 1
    shrink = (b / a).log()
    if given_delta:
        balle = (x - y - a.log()) / b + shrink
        other = ((x.expm1() / a) * (-y).exp()).log1p() / b
        return [(x - y) / b, balle, balle if balle < other else other]
    balle = x - b * y - a.log() + b * shrink
    other = x.expm1().log() - a.log() - (b * y).expm1().log() if at > 0 else arb(2) ** 60
    return [x - b * y, balle, balle if balle < other else other]


def make_rdp_conversion() -> None:
    from mpmath import mp

    from renyi import reference

    mp.dps = 60
    rng = random.Random(7)
    points = [
        (2.0, 0.1, 1e-5),
        (2.0, 0.001, 1e-5),
        (5.0, 2.0, 1e-3),
        (10.0, 9.0, 1e-5),
        (20.0, 0.95, 1e-3),
        (4.0, 6.0, 0.3),
    ]
    points = [(a, k, math.log(d)) for a, k, d in points]
    for _ in range(70):
        alpha = 1 + 10 ** rng.uniform(-7, 6)
        k = 10 ** rng.uniform(-12, 5)
        log_delta = -(10 ** rng.uniform(-0.5, math.log10(690)))
        points.append((min(alpha, 1e6), k, log_delta))
    points += [
        (1 + 2.0**-23, 1e-12, -690.0),
        (1e6, 1e5, -690.0),
        (1e6, 1e-12, -0.5),
        (1.5, 1e5, -690.0),
        (1 + 2.0**-23, 1e5, -1.0),
    ]

    def number(x: Any) -> arb:
        return arb(mp.nstr(x, 50))

    given_delta, given_epsilon = [], []
    for alpha, k, log_delta in points:
        ctx.prec = 800
        rho = mp.mpf(k) / (mp.mpf(alpha) - 1)
        best = reference.epsilon_from_rdp(alpha, rho, mp.exp(mp.mpf(log_delta)), "optimal", 35)
        forms = closed_forms(alpha, k, log_delta, True)
        if best > 0:
            epsilons = [pair(v, 53) for v in forms] + [pair_of_digits(number(best))]
            given_delta.append((alpha, k, log_delta, *(p for e in epsilons for p in e)))
        epsilon = float(best) if best > 0 else float(abs(forms[2])) * rng.random()
        epsilon *= rng.choice((1.0, 1.0, 0.7, 1.3, 0.0))
        best = mp.log(reference.delta_from_rdp(alpha, rho, epsilon, "optimal", 35))
        deltas = [pair(v, 53) for v in closed_forms(alpha, k, epsilon, False)] + [
            pair_of_digits(number(best))
        ]
        given_epsilon.append((alpha, k, epsilon, *(p for d in deltas for p in d)))
    names = ", ".join(
        f"{name}_{part}"
        for name in ("mironov", "balle", "asoodeh", "optimal")
        for part in ("hi", "lo")
    )
    save("given_delta", f"alpha, k, log_delta, {names}", given_delta)
    save("given_epsilon", f"alpha, k, epsilon, {names}", given_epsilon)


def pair_of_digits(value: arb) -> tuple[float, float]:
    """hi + lo of a value known to 35 digits."""
    hi = float(value)
    return hi, shorter(float(value - hi), 53)


MAKERS: dict[str, Callable[[], None]] = {
    name.removeprefix("make_"): maker
    for name, maker in list(globals().items())
    if name.startswith("make_")
}


def main() -> None:
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()


if __name__ == "__main__":
    main()
