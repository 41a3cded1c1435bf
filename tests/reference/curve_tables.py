"""Points of the exact privacy curve and their reference values: curve.npz and few_steps.npz.

    python tests/reference/curve_tables.py curve        # every value again, an hour or two
    python tests/reference/curve_tables.py few_steps

The steps of row i are the entries first[i] to first[i+1] of q, sigma and count; all arguments are
doubles, taken as exact, and a value is hi + lo, two doubles. Those of curve.npz have 24 digits:
kinds are "random"; "mixed", two to five kinds of step, one of them sometimes not sampled;
"extreme", far outside what training runs use; "listed", reported as wrong or impossible elsewhere.
They were made by contour integrals in ball arithmetic, and are made again by `renyi.reference`.

Those of few_steps.npz have their relative error beside them, and two routes: the moments of
`few_steps`, and its quadrature step by step, with the last step in closed form, for 2 or 3 steps on
two panellings (1e-13), for more on another than that of the moments (1e-12). Kinds are "few",
"mixed", "replace", and "listed", where contours and narrow panels went wrong.
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

Steps = list[tuple[float, float, int]]  # sampling rate, noise multiplier, count
DIRECTIONS = ("remove", "add", "replace")


class Point(NamedTuple):
    """A composition, a point of its curve, where it comes from, and delta = hi + lo."""

    kind: str
    steps: Steps
    epsilon: float
    direction: str
    hi: float = math.nan
    lo: float = math.nan
    error: float = math.nan


NUMBERS = ("epsilon", "hi", "lo", "error")


def file_of(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.npz")


def load(name: str) -> list[Point]:
    """Read a table."""
    table = np.load(file_of(name))
    first, columns = table["first"].tolist(), (table["q"], table["sigma"], table["count"])
    steps = list(zip(*(column.tolist() for column in columns), strict=True))
    rows = {name: table[name].tolist() for name in NUMBERS if name in table}
    ways = table["add" if "add" in table else "direction"].tolist()
    return [
        Point(
            kind, steps[start:end], direction=DIRECTIONS[way], **dict(zip(rows, row, strict=True))
        )
        for kind, (start, end), way, *row in zip(
            table["kind"].tolist(), pairwise(first), ways, *rows.values(), strict=True
        )
    ]


def save(points: list[Point], name: str) -> None:
    """Write a table."""
    steps = [step for point in points for step in point.steps]
    q, sigma, count = zip(*steps, strict=True)
    columns = {name: np.array([getattr(point, name) for point in points]) for name in NUMBERS}
    np.savez_compressed(
        file_of(name),
        kind=np.array([point.kind for point in points]),
        first=np.cumsum([0, *(len(point.steps) for point in points)]),
        direction=np.array([DIRECTIONS.index(point.direction) for point in points]),
        q=np.array(q), sigma=np.array(sigma), count=np.array(count),
        **columns,
    )  # fmt: skip


def of_curve(point: Point) -> Point:
    """Compute hi and lo in multi-precision: one step in closed form, more by two contours."""
    from mpmath import mp

    from renyi import reference

    (q, sigma, count), *more = point.steps
    if count == 1 and not more:
        exact = reference.sampled_gaussian_delta(q, sigma, point.epsilon, point.direction, 33)
    else:
        exact = reference.delta(point.steps, point.epsilon, point.direction, 24)
    with mp.workdps(40):
        return point._replace(hi=float(exact), lo=float(exact - float(exact)))


def of_few_steps(point: Point) -> Point:
    """Compute hi, lo and the error, where two routes agree."""
    from few_steps import OTHER, STANDARD, delta, delta_step_by_step

    arguments = point.steps, point.direction, point.epsilon
    best, few = delta(*arguments), sum(count for *_, count in point.steps) <= 3
    routes = [delta_step_by_step(*arguments, p) for p in ((STANDARD, OTHER) if few else (OTHER,))]
    error = float(max(abs(other / best - 1) for other in routes))
    if error > (1e-13 if few else 1e-12):
        raise ArithmeticError(f"two routes differ by {error} at {point}")
    hi = float(best)
    return point._replace(hi=hi, lo=float(best - np.longdouble(hi)), error=max(1e-15, 4 * error))


if __name__ == "__main__":
    table = sys.argv[1]
    save([{"curve": of_curve, "few_steps": of_few_steps}[table](p) for p in load(table)], table)
