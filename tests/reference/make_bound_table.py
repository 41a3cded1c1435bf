"""Write tables of tests/reference/cpp: bounds on samples and random allocation, as balls.

    python tests/reference/make_bound_table.py    # a minute

Needs python-flint. Sums are written out term by term as the theorems have them; parameters are
doubles, taken as exact. Allocation: the remove direction from the power of an exponential
generating function, the add direction for two steps by a double sum over a grid.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx
from make_cpp_tables import Rows, pair, save

K = Callable[[int], arb]  # (j-1) D_j
Bounds = tuple[arb, arb]


def linear(rho: float) -> K:
    return lambda j: arb(rho) * j * (j - 1)


def pure(epsilon: float) -> K:
    e = arb(epsilon)
    return lambda j: (((j * e).exp() + ((1 - j) * e).exp()) / (e.exp() + 1)).log()


BASES = [linear, pure]


def poisson(k: K, q: float, n: int) -> Bounds:
    """General and tight."""
    rate = arb(q)
    w = (1 - rate) ** n
    tight, rest = arb(0), arb(0)
    for j in range(n + 1):
        if j >= 2:
            tight += w * k(j).expm1()
            if j >= 3:
                rest += 2 * w * k(j).exp()
        w *= rate * (n - j) / ((1 - rate) * (j + 1))
    return (tight + rest).log1p(), tight.log1p()


def fixed_size(k: K, most: arb | None, gamma: float, n: int) -> Bounds:
    """Theorems 9 and 27."""
    rate = arb(gamma)
    spread = None if most is None else most.expm1()
    central: dict[int, arb] = {}

    def moment(m: int) -> arb:
        if m not in central:
            terms = [(-1) ** i * arb(m).bin(i) * k(i).exp() for i in range(2, m + 1)]
            central[m] = sum(terms, arb(1 - m))
        return central[m]

    def smaller(a: arb, b: arb) -> arb:
        return a if a < b else b

    plain, tight = arb(0), arb(0)
    w = arb(1)
    for j in range(n + 1):
        if j >= 2:
            growth = k(j).exp()
            factor = arb(2) if spread is None else smaller(arb(2), spread**j)
            term = growth * factor
            if j == 2:
                term = smaller(4 * k(2).expm1(), term)
            plain += w * term
            if j >= 3 and j < 256:
                low, high = moment(2 * (j // 2)), moment(2 * ((j + 1) // 2))
                term = smaller(term, 4 * (low * high).sqrt())
            tight += w * term
        w *= rate * (n - j) / (j + 1)
    return plain.log1p(), tight.log1p()


def remove(c: float, steps: int, n: int) -> arb:
    """log of n!/t^n [x^n] (sum_k e^{c^2 k(k-1)/2} x^k/k!)^t."""
    half = arb(c) ** 2 / 2
    base = [(half * k * (k - 1)).exp() / arb(k).fac() for k in range(n + 1)]
    power = [arb(1)] + [arb(0)] * n

    def times(a: list[arb], b: list[arb]) -> list[arb]:
        return [sum((a[k] * b[m - k] for k in range(m + 1)), arb(0)) for m in range(n + 1)]

    for bit in bin(steps)[2:]:
        power = times(power, power)
        if bit == "1":
            power = times(power, base)
    return (power[n] * arb(n).fac() / arb(steps) ** n).log()


def add(c: float, b: int) -> arb:
    """log E[r^-b] for two steps: a trapezoidal double sum, certain to 1e-60."""
    step, reach = arb(1) / 20, 360
    size = arb(c)
    nodes = []
    for i in range(-reach, reach + 1):
        z = step * i
        nodes.append(((-z * z / 2).exp(), (size * z - size * size / 2).exp()))
    total = arb(0)
    for i, (p, x) in enumerate(nodes):
        total += p * p * x**-b / 2
        for w, y in nodes[:i]:
            total += p * w * ((x + y) / 2) ** -b
    return (2 * total * step * step / (2 * arb.pi())).log()


def main() -> None:
    ctx.prec = 1600
    poissons: Rows = []
    for family, parameter in ((0, 0.5), (0, 0.02), (0, 1e-6), (1, 0.1), (1, 2.0)):
        k = BASES[family](parameter)
        for q in (1e-9, 1e-3, 0.1, 0.5, 1 - 1e-12):
            for n in (2, 3, 4, 10, 40, 300, 3000):
                general, tight = poisson(k, q, n)
                row = (*pair(general), *pair(tight))
                poissons.append((float(family), parameter, q, float(n), *row))
    for family, parameter, q in (
        (0, 0.02, 1e-3),
        (0, 1e-6, 1e-9),
        (0, 1e-9, 0.3),
        (1, 0.1, 1e-3),
        (1, 2.0, 0.9),
    ):
        general, tight = poisson(BASES[family](parameter), q, 100000)
        row = (*pair(general), *pair(tight))
        poissons.append((float(family), parameter, q, 1e5, *row))
    sizes: Rows = []
    for family, parameter in ((0, 0.5), (0, 0.02), (0, 1e-4), (1, 0.1), (1, 2.0)):
        k = BASES[family](parameter)
        most = arb(parameter) if family == 1 else None
        for gamma in (1e-9, 1e-3, 0.1, 0.9):
            for n in (2, 3, 4, 10, 35, 200):
                plain, tight = fixed_size(k, most, gamma, n)
                row = (*pair(plain), *pair(tight))
                sizes.append((float(family), parameter, gamma, float(n), *row))
    allocations: Rows = []
    for c in (0.02, 0.2, 0.5, 1.0, 3.0):
        for steps in (2, 3, 7, 1000, 10**9):
            for n in (2, 3, 10, 40):
                allocations.append((c, float(steps), float(n), *pair(remove(c, steps, n))))
    ctx.prec = 300
    adds: Rows = []
    for c in (0.2, 0.5, 1.0):
        for b in (1, 2, 5, 9):
            adds.append((c, float(b), *pair(add(c, b))))
    save(
        "poisson",
        "family, parameter, q, n, general_hi, general_lo, tight_hi, tight_lo",
        poissons,
    )
    save(
        "fixed_size",
        "family, parameter, gamma, n, plain_hi, plain_lo, tight_hi, tight_lo",
        sizes,
    )
    save("remove", "c, steps, n, hi, lo", allocations)
    save("add", "c, b, hi, lo", adds)


if __name__ == "__main__":
    main()
