"""Points of the exact privacy curve and their reference values: tests/reference/curve.npz.

    python tests/reference/make_curve.py            # all points, about an hour; continues a run

Values by ``contour_curve`` (one step: closed form; otherwise two contours, two discretisations,
agreement to 24 digits), stored as
hi + lo of two doubles; all arguments are doubles, taken as exact. Finished points are kept in
build/reference, where a second run takes them from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import curve_tables
from curve_tables import Point, Steps, in_time, make

TABLE = Path(__file__).with_name("curve.npz")
load = partial(curve_tables.load, TABLE)
SEED = 20210602
DIRECTIONS = ("remove", "add")
PATIENCE = 240  # seconds for one point


def random_steps(rng: random.Random) -> Steps:
    """One kind of step; few steps come often, because they are hard."""
    q = 10 ** rng.uniform(-4, math.log10(0.5))
    sigma = math.exp(rng.uniform(math.log(0.5), math.log(10)))
    if rng.random() < 0.4:
        return [(q, sigma, rng.choice((1, 2, 3, 5, 10, 50)))]
    return [(q, sigma, round(10 ** rng.uniform(0, 6)))]


def mixed_steps(rng: random.Random) -> Steps:
    """Two to five kinds of step, one of them sometimes not sampled."""
    steps = []
    for _ in range(rng.randint(2, 5)):
        q = 10 ** rng.uniform(-4, math.log10(0.5))
        sigma = math.exp(rng.uniform(math.log(0.5), math.log(10)))
        steps.append((q, sigma, round(10 ** rng.uniform(0, 4))))
    if rng.random() < 0.3:
        steps[0] = (1.0, rng.uniform(1, 20), rng.randint(1, 20))
    return steps


# sampling rate, noise multiplier, counts: far outside what training runs use
EXTREME = (
    (1e-8, 1.0, (1, 1000, 10**6, 10**9)),
    (1e-7, 1.0, (1000,)),
    (0.01, 0.1, (1, 100, 10**4, 10**6)),
    (1e-4, 0.1, (1000,)),
    (0.5, 1e4, (1, 10**4, 10**9)),
    (0.01, 1e4, (100, 10**9)),
    (1e-4, 1.0, (10**9,)),
    (1e-6, 0.7, (10**9,)),
    (0.3, 0.2, (30,)),
)

# (q, sigma, k, epsilons remove, epsilons add): reported as wrong or impossible elsewhere. In the
# order of the lines delta is about 1.1e-18 and 1.13e-18; 1e-6; 1e-5, 1e-15 and 1e-30; 1e-5; 1e-5;
# tiny, without any floor; then small epsilon, and much noise.
LISTED = (
    (0.00033, 4.0, 10_000, (0.06721357, 0.06718544), (0.06582283, 0.06579577)),
    (0.125, 0.8, 1000, (56.72594,), (37.01788,)),
    (0.01, 1.0, 10_000, (6.18771, 11.75997, 17.63506), (5.611505, 9.94139, 13.8141)),
    (0.01, 0.1, 10_000, (6547.492,), (100.5033,)),
    (0.01, 0.1, 10**6, (463869.19,), (10050.335,)),
    (1e-7, 1.0, 1000, (0.0, 1e-7, 1e-6, 1e-5), (0.0, 1e-7, 1e-6, 1e-5)),
    (0.001, 1.0, 1000, (0.1, 2.5), (0.1, 0.2)),
    (0.01, 2.0, 1000, (0.01,), (0.01,)),
    (0.01, 50.0, 1000, (0.01, 0.02), (0.01, 0.02)),
    (0.5, 1e4, 1000, (1e-3,), (1e-3,)),
)


def aimed(steps: Steps, direction: str, log_delta: float) -> float:
    """An epsilon >= 0 with about this log delta, or less if the whole curve lies below."""
    from contour_curve import Saddle

    saddle = Saddle(steps, direction)
    start = saddle.distance(0.0)
    low, high = start, max(1e6, 2 * start)
    top = saddle.log_delta(start)
    if top < log_delta:  # then this much below the top, and not always at the same place
        low_bound = top - 10 ** (-2 + 2 * (log_delta % 1.0))
        log_delta = low_bound
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        if saddle.log_delta(middle) > log_delta:
            low = middle
        else:
            high = middle
    sign = 1 if direction == "remove" else -1
    return max(0.0, sign * saddle.epsilon(math.sqrt(low * high)))


def random_target(rng: random.Random) -> float:
    """Log delta: half of them where people look, half down to 1e-290."""
    exponent = rng.uniform(-20, -0.1) if rng.random() < 0.5 else rng.uniform(-290, -20)
    return exponent * math.log(10)


def points() -> Iterator[Point]:
    """All points without values, in the order of the table."""
    rng = random.Random(SEED)
    extreme = [(q, sigma, k) for q, sigma, counts in EXTREME for k in counts]
    for number in range(430):
        direction = DIRECTIONS[number % 2]
        kind, steps = "random", random_steps(rng)
        if number % 9 == 4:
            kind, steps = "mixed", mixed_steps(rng)
        elif number % 9 == 8:
            kind, steps = "extreme", [extreme[number // 9 % len(extreme)]]
        target, at_zero = random_target(rng), rng.random() < 0.03
        epsilon = 0.0 if at_zero else aimed(steps, direction, target)
        yield Point(kind, steps, epsilon, direction)
    for q, sigma, k, *epsilons in LISTED:
        for direction, values in zip(DIRECTIONS, epsilons, strict=True):
            for epsilon in values:
                yield Point("listed", [(q, sigma, k)], epsilon, direction)


def value(point: Point, _: bool) -> Point:
    """Compute hi and lo; NaN as they were if there is no value in time."""
    from contour_curve import delta, single  # needs python-flint; reading the table does not
    from flint import ctx

    if len(point.steps) == 1 and point.steps[0][2] == 1:
        q, sigma, _ = point.steps[0]
        exact = single(q, sigma, point.epsilon, point.direction, 33)
    else:
        exact = in_time(lambda: delta(point.steps, point.epsilon, point.direction), PATIENCE)
    if exact is None:
        return point
    with ctx.workprec(200):
        hi = float(exact)
        return point._replace(hi=hi, lo=float(exact - hi))


if __name__ == "__main__":
    make(TABLE, lambda part, parts: islice(points(), part, None, parts), value)
