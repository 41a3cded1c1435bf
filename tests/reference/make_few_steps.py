"""Points of the exact curve of few steps: tests/reference/few_steps.npz.

    python tests/reference/make_few_steps.py            # all points, an hour; continues a run

Every value has two routes and is left out unless they agree: 2 and 3 steps
by nested quadrature with the last step in closed form, on two panellings (1e-13); more (1e-12) by
convolved densities and block by block (``few_steps``), or for the first point of a curve by the
contour integral of ``contour_curve`` in ball arithmetic, if that has an answer in time. A value is
hi + lo, two doubles, and error is its relative error; all arguments are doubles, taken as exact.
Finished points are kept in build/reference/few_steps.jsonl.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from step_columns import Steps, columns_of, compositions_of
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
TABLE = HERE / "few_steps.npz"
CACHE = HERE.parents[1] / "build" / "reference" / "few_steps.jsonl"
SEED = 20240229
COMPOSITIONS = 84
DIRECTIONS = ("remove", "add", "replace")
PATIENCE = 10  # seconds for the contour


class Point(NamedTuple):
    """A composition, a point of its curve, and where it comes from."""

    kind: str
    steps: Steps
    epsilon: float
    direction: str
    hi: float = math.nan
    lo: float = math.nan
    error: float = math.nan


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


def load(path: Path = TABLE) -> list[Point]:
    """Read the table."""
    table = np.load(path)
    names = ("kind", "epsilon", "direction", "hi", "lo", "error")
    rows = zip(*(table[name].tolist() for name in names), strict=True)
    return [
        Point(kind, steps, epsilon, DIRECTIONS[way], *value)
        for steps, (kind, epsilon, way, *value) in zip(compositions_of(table), rows, strict=True)
    ]


def save(rows: list[Point], path: Path = TABLE) -> None:
    """Write the table."""
    np.savez_compressed(
        path,
        kind=np.array([row.kind for row in rows]),
        **columns_of([row.steps for row in rows]),
        epsilon=np.array([row.epsilon for row in rows]),
        direction=np.array([DIRECTIONS.index(row.direction) for row in rows]),
        hi=np.array([row.hi for row in rows]),
        lo=np.array([row.lo for row in rows]),
        error=np.array([row.error for row in rows]),
    )


def give_up(*_: object) -> None:
    """Handle the alarm."""
    raise TimeoutError


def guarded(route: Callable[[], Any], seconds: int = 15 * PATIENCE) -> Any:
    """A value, or None if there is none in time."""
    signal.alarm(seconds)
    try:
        return route()
    except (ArithmeticError, ValueError, TimeoutError):
        return None
    finally:
        signal.alarm(0)


def others(point: Point, by_contour: bool) -> list[Any]:
    """Values by other routes; None where a route has no answer."""
    from contour_curve import integral
    from few_steps import OTHER, STANDARD, delta_step_by_step, real

    def nested(panelling: Any) -> Any:
        return delta_step_by_step(point.steps, point.direction, point.epsilon, panelling)

    def contour() -> Any:
        return real(integral(point.steps, point.epsilon, point.direction, 15, 0)[0])

    if sum(count for *_, count in point.steps) <= 3:
        return [guarded(lambda p=p: nested(p)) for p in (STANDARD, OTHER)]
    found = guarded(contour, PATIENCE) if by_contour and point.direction != "replace" else None
    return [guarded(lambda: nested(OTHER)) if found is None else found]


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


def read_cache() -> dict[str, Point]:
    """Finished points by their arguments."""
    known: dict[str, Point] = {}
    for line in CACHE.read_text().splitlines() if CACHE.exists() else ():
        kind, steps, *rest = json.loads(line)
        point = Point(kind, [tuple(step) for step in steps], *rest)
        known[repr(point[:4])] = point
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"))
    part, parts = parser.parse_args().part  # of several: to the cache only
    signal.signal(signal.SIGALRM, give_up)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    known, rows, before = read_cache(), [], None
    for point in tqdm(points(part, parts), disable=None):
        curve = point.steps, point.direction
        done = known.get(repr(point[:4])) or value(point, by_contour=curve != before)
        before = curve
        if repr(point[:4]) not in known:
            with CACHE.open("a") as out:
                out.write(json.dumps(done) + "\n")
        if math.isnan(done.hi):
            print(f"left out: {point[:4]}", file=sys.stderr)
        else:
            rows.append(done)
    if parts == 1:
        save(rows)
    print(f"{len(rows)} points, largest error {max(row.error for row in rows):.1e}")


if __name__ == "__main__":
    main()
