"""Write tables of tests/reference/cpp: privacy curves in closed form for the C++ tests.

    python tests/reference/make_curve_tables.py     # half a minute

Needs renyi.reference and python-flint. Arguments are doubles, taken as exact; a value is an
unevaluated sum hi + lo.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from make_cpp_tables import save
from mpmath import mp

from renyi import reference

DIGITS = 36
Row = tuple[float, ...]


def pair(value: Any) -> tuple[float, float]:
    hi = float(value)
    with mp.workdps(DIGITS + 10):
        return hi, float(value - hi)


def gaussian_arguments(rng: random.Random) -> Iterator[tuple[float, float]]:
    for _ in range(60):
        mu = 10 ** rng.uniform(-8, 2)
        yield mu, mu * rng.uniform(-min(mu / 2, 8), 36) + mu * mu / 2
        yield mu, -(10 ** rng.uniform(-10, 1.7))
    for _ in range(20):  # where the routes change
        mu = 2.0**-12 * (1 + rng.uniform(-1e-9, 1e-9))
        yield mu, mu * rng.uniform(0, 36)
        mu = 10 ** rng.uniform(-1, 1.5)
        yield mu, mu * mu / 2 * (1 + rng.uniform(-1, 1) * 2.0 ** -rng.randrange(60))
    for mu in (1e-100, 1e-12, 1.0, 30.0):
        yield mu, 0.0
        yield mu, mu


def sampled_arguments(rng: random.Random) -> Iterator[tuple[float, float, float]]:
    for _ in range(150):
        q = rng.choice((10 ** rng.uniform(-12, 0), rng.random(), 1 - 10 ** rng.uniform(-12, -1)))
        sigma = rng.choice((10 ** rng.uniform(-1, 5), 10 ** rng.uniform(-0.7, 1)))
        level = (rng.uniform(-9, 36) + 0.5 / sigma) / sigma
        kind = rng.randrange(4)
        if kind == 0:
            epsilon = -(10 ** rng.uniform(-12, 1.5))
        elif kind == 1:
            epsilon = -math.log1p(q * math.expm1(-min(level, 700.0)))
        elif kind == 2:
            epsilon = -math.log1p(-q) * (1 - 10 ** rng.uniform(-15, -1))
        else:
            epsilon = math.log1p(q * math.expm1(min(level, 300.0)))
        if not underflows(q, sigma, epsilon):
            yield q, sigma, epsilon


def underflows(q: float, sigma: float, epsilon: float) -> bool:
    """Whether either direction is positive, but below 1e-300 or so."""
    levels = [math.log1p(math.expm1(epsilon) / q)] if epsilon > 0 else []
    if epsilon > 0 and q + math.expm1(-epsilon) > 0:
        levels.append(-math.log1p(math.expm1(-epsilon) / q))
    return any(sigma * level - 0.5 / sigma > 36.5 for level in levels)


def rows(
    functions: list[Callable[..., Any]], points: Iterator[tuple[float, ...]], smallest: float
) -> list[Row]:
    found = []
    for point in points:
        values = [f(*point, DIGITS) for f in functions]
        if all(value == 0 or value > smallest for value in values):
            found.append((*point, *(part for value in values for part in pair(value))))
    return found


def inverse_arguments(rng: random.Random) -> Iterator[tuple[float, float]]:
    for _ in range(25):
        x = 10 ** rng.uniform(-6, 1.3)
        yield x, 10 ** rng.uniform(-290, -0.01)
        yield x, rng.random()
        yield x, 1 - 10 ** rng.uniform(-14, 0)


def tradeoff_arguments(rng: random.Random) -> Iterator[tuple[float, float]]:
    for _ in range(60):
        x = rng.uniform(-7, 36)
        yield max(x + rng.uniform(-7, 36), 1e-3), 0.5 * math.erfc(x / math.sqrt(2))


def main() -> None:
    rng = random.Random(9)
    save(
        "delta",
        "mu, epsilon, hi, lo",
        rows([reference.gaussian_delta], gaussian_arguments(rng), 1e-300),
    )
    save(
        "epsilon",
        "mu, delta, hi, lo",
        rows([reference.gaussian_epsilon], inverse_arguments(rng), -math.inf),
    )
    save(
        "mu",
        "epsilon, delta, hi, lo",
        rows([reference.gaussian_mu], inverse_arguments(rng), -math.inf),
    )
    save(
        "tradeoff",
        "mu, alpha, hi, lo",
        rows([reference.gaussian_tradeoff], tradeoff_arguments(rng), 1e-300),
    )
    save(
        "step",
        "q, sigma, epsilon, remove_hi, remove_lo, add_hi, add_lo",
        rows(
            [
                lambda q, sigma, e, digits, way=way: reference.sampled_gaussian_delta(
                    q, sigma, e, way, digits
                )
                for way in ("remove", "add")
            ],
            sampled_arguments(rng),
            1e-300,
        ),
    )


if __name__ == "__main__":
    main()
