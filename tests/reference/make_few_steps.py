"""Points of the exact curve of few steps: tests/reference/few_steps.npz.

    python tests/reference/make_few_steps.py            # all points, an hour; continues a run

Every value has two routes and is left out unless they agree: 2 and 3 steps
by nested quadrature with the last step in closed form, on two panellings (1e-13); more (1e-12) by
convolved densities and block by block (``few_steps``), or for the first point of a curve by the
contour integral of ``contour_curve`` in ball arithmetic, if that has an answer in time. A value is
hi + lo, two doubles, and error is its relative error; all arguments are doubles, taken as exact.
Finished points are kept in build/reference.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import curve_tables
import numpy as np
from curve_tables import DIRECTIONS, Point, Steps, in_time, make

TABLE = Path(__file__).with_name("few_steps.npz")
load = partial(curve_tables.load, TABLE)
SEED = 20240229
COMPOSITIONS = 84
PATIENCE = 10  # seconds for the contour


# (q, sigma, k, epsilon), remove: where contours and narrow panels went wrong
LISTED = (
    (0.000261028946053477, 5.122157028097081, 2, 0.00033443252703029057),
    (0.0011726739825827406, 3.6332482766178984, 2, 0.021605486105687875),
    (0.0044887152429683545, 6.114481026257149, 12, 0.011120674344864204),
    (0.0003065990528861243, 3.925810494847076, 15, 0.004446161017283897),
    (0.0015852365344544423, 3.5138435059815416, 2, 0.018769441049015737),
)


# more compositions: rates near 1
NEAR_ONE = ((0.7, 0.6, 2), (0.9, 1.5, 3), (0.99, 3.0, 5), (0.999, 0.5, 2), (0.9999, 8.0, 12))


def random_step(rng: random.Random) -> tuple[float, float]:
    """Sampling rate and noise multiplier; a few rates near 1."""
    q = 10 ** rng.uniform(-9, math.log10(0.5))
    if rng.random() < 0.05:
        q = 1 - 10 ** rng.uniform(-4, -0.5)
    return q, math.exp(rng.uniform(math.log(0.3), math.log(8)))


def compositions(rng: random.Random) -> Iterator[tuple[str, Steps]]:
    """All compositions, each for several points."""
    for number in range(COMPOSITIONS):
        if number % 7 == 6:
            first = (*random_step(rng), rng.randint(1, 5))
            second = (*random_step(rng), rng.randint(1, 5))
            if number % 2:
                second = (1.0, math.exp(rng.uniform(math.log(0.3), math.log(8))), rng.randint(1, 3))
            yield "mixed", [first, second]
        elif number % 7 == 5:
            q, sigma = random_step(rng)
            yield "replace", [(min(q, 0.5), sigma, rng.choice((2, 2, 3, 4, 6, 10, 20)))]
        else:
            more = round(10 ** rng.uniform(math.log10(4), math.log10(50)))
            yield "few", [(*random_step(rng), (2, 2, 3, more, more)[number % 7])]
    for step in NEAR_ONE:
        yield "few", [step]


def aimed(steps: Steps, direction: str, rng: random.Random) -> Iterator[float]:
    """Epsilons inside the bulk, where people look, and far out; delta(0) > delta > 1e-250."""
    from few_steps import FLOOR, STANDARD, Real, composed, distance, listed, log_delta

    law, put = composed(listed(steps, direction), Real(FLOOR), STANDARD), direction == "add"
    zero = distance(steps, direction, 0.0)

    def value(v: Any) -> float:
        return float(log_delta(law, put, np.array([law.offset(v)]), STANDARD)[0]) / math.log(10)

    start, end = law.place(zero), law.low if put else law.high
    top = value(start)
    targets = [top + math.log10(rng.uniform(0.2, 0.999))]
    targets += [rng.uniform(-20, top), rng.uniform(-250, -20)]
    targets += [top + math.log10(rng.uniform(0.2, 0.999)), rng.uniform(-250, top)]
    for target in targets:
        low, high = start, end
        while abs(high - low) > 1e-7 * (1 + abs(low)):
            middle = (low + high) / 2
            low, high = (middle, high) if value(middle) > target else (low, middle)
        yield float(abs(law.offset(low) - zero))


def points(part: int = 0, parts: int = 1) -> Iterator[Point]:
    """Points without values, in the order of the table: all, or some of the compositions."""
    if part == 0:
        for q, sigma, count, epsilon in LISTED:
            yield Point("listed", [(q, sigma, count)], epsilon, "remove")
    for number, (kind, steps) in enumerate(compositions(random.Random(SEED))):
        if number % parts == part:
            rng = random.Random(SEED + number)
            for direction in ("replace",) if kind == "replace" else DIRECTIONS[:2]:
                for epsilon in aimed(steps, direction, rng):
                    yield Point(kind, steps, epsilon, direction)


def others(point: Point, by_contour: bool) -> list[Any]:
    """Values by other routes; None where a route has no answer."""
    from contour_curve import integral
    from few_steps import OTHER, STANDARD, delta_step_by_step, real

    def nested(panelling: Any) -> Any:
        return delta_step_by_step(point.steps, point.direction, point.epsilon, panelling)

    def contour() -> Any:
        return real(integral(point.steps, point.epsilon, point.direction, 15, 0)[0])

    if sum(count for *_, count in point.steps) <= 3:
        return [in_time(lambda p=p: nested(p), 15 * PATIENCE) for p in (STANDARD, OTHER)]
    found = in_time(contour, PATIENCE) if by_contour and point.direction != "replace" else None
    return [in_time(lambda: nested(OTHER), 15 * PATIENCE) if found is None else found]


def value(point: Point, by_contour: bool) -> Point:
    """Compute hi, lo and the error; NaN as they were if two routes do not agree."""
    from few_steps import delta

    best = delta(point.steps, point.direction, point.epsilon)
    found = others(point, by_contour)
    if best < 1e-260 or any(other is None for other in found):
        return point
    error = float(max(abs(other / best - 1) for other in found))
    hi = float(best)
    done = point._replace(hi=hi, lo=float(best - np.longdouble(hi)), error=max(1e-15, 4 * error))
    return done if error < (1e-13 if len(found) > 1 else 1e-12) else point


if __name__ == "__main__":
    make(TABLE, points, value)
