"""Tables of points of privacy curves, and the making of them, which may be interrupted.

The steps of row i are the entries first[i] to first[i+1] of q, sigma and count.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

Steps = list[tuple[float, float, int]]  # sampling rate, noise multiplier, count
DIRECTIONS = ("remove", "add", "replace")
CACHE = Path(__file__).resolve().parents[2] / "build" / "reference"


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


def load(path: Path) -> list[Point]:
    """Read a table."""
    table = np.load(path)
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


def save(points: list[Point], path: Path) -> None:
    """Write a table."""
    steps = [step for point in points for step in point.steps]
    q, sigma, count = zip(*steps, strict=True)
    columns = {name: np.array([getattr(point, name) for point in points]) for name in NUMBERS}
    np.savez_compressed(
        path,
        kind=np.array([point.kind for point in points]),
        first=np.cumsum([0, *(len(point.steps) for point in points)]),
        direction=np.array([DIRECTIONS.index(point.direction) for point in points]),
        q=np.array(q), sigma=np.array(sigma), count=np.array(count),
        **columns,
    )  # fmt: skip


def in_time(route: Callable[[], Any], seconds: int) -> Any:
    """Return a value, or None if there is none in time."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        return route()
    except (ArithmeticError, ValueError, TimeoutError):
        return None
    finally:
        signal.alarm(0)


def make(
    table: Path,
    points: Callable[[int, int], Iterable[Point]],
    value: Callable[[Point, bool], Point],
) -> None:
    """Make a table, or one part of several for the cache only, from what is in the cache.

    ``value`` takes a point, and whether it is the first one of its curve.
    """
    parser = argparse.ArgumentParser(description=f"make {table.name}")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"))
    part, parts = parser.parse_args().part
    CACHE.mkdir(parents=True, exist_ok=True)
    known: dict[str, Point] = {}
    for file in CACHE.glob(f"{table.stem}*.jsonl"):
        for line in file.read_text().splitlines():
            kind, steps, *rest = json.loads(line)
            point = Point(kind, [tuple(step) for step in steps], *rest)
            known[repr(point[:4])] = point
    rows, before = [], None
    for point in tqdm(points(part, parts), disable=None):
        curve = point.steps, point.direction
        done = known.get(repr(point[:4])) or value(point, curve != before)
        before = curve
        if repr(point[:4]) not in known:
            with (CACHE / f"{table.stem}_{part}.jsonl").open("a") as out:
                out.write(json.dumps(done) + "\n")
        if math.isnan(done.hi):
            print(f"left out: {point[:4]}", file=sys.stderr)
        else:
            rows.append(done)
    if parts == 1:
        save(rows, table)
    print(f"{len(rows)} points")
