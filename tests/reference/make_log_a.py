"""Points and reference values of log A: the table of the tests and the large one of the sweep.

    python tests/reference/make_log_a.py table      # values of tests/reference/log_a.npz again
    python tests/reference/make_log_a.py sweep --count 100000 --out build/reference

Every value is a ball of ``ball_log_a`` with relative radius <= 1e-40, stored as an unevaluated sum
hi + lo of two doubles (relative rounding <= 2^-106). The arguments are doubles, taken as exact: of
the table corners of the box, rates next to 1 and orders a step away from an integer, and random
ones. The sweep is written in chunks of 5,000 points; a second run computes the missing chunks only.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Mapping
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from tqdm import tqdm

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
CHUNK = 5000
SEED = 20190830

Point = tuple[float, float, float]


def random_point(rng: random.Random) -> Point:
    """One point of the box, log-uniform in q, sigma and the distance of alpha from 1 (or 0)."""
    q = min(10 ** rng.uniform(-12, 0), 1.0)
    sigma = 10 ** rng.uniform(-2, 6)
    kind = rng.random()
    if kind < 0.25:  # the add direction, log A(-z)
        alpha = -(10 ** rng.uniform(-8, 6))
    elif kind < 0.55:
        alpha = float(round(10 ** rng.uniform(math.log10(2), 6)))
    elif kind < 0.60:  # two peaks of about the same height
        balance = 1 + 2 * sigma**2 * math.log(1 / q)
        alpha = balance * (1 + rng.uniform(-0.2, 0.2))
    else:
        alpha = 1 + 10 ** rng.uniform(-8, 6)
    if alpha > 0:
        alpha = min(max(alpha, 1 + 1e-8), 1e6)
    return q, sigma, alpha


def points_of(table: Mapping[str, np.ndarray]) -> list[Point]:
    return list(zip(*(table[name].tolist() for name in ("q", "sigma", "alpha")), strict=True))


def chunk_points(chunk: int) -> list[Point]:
    """The points of one chunk. The generator is the same in every version of Python."""
    rng = random.Random(SEED + chunk)
    return [random_point(rng) for _ in range(CHUNK)]


def split(ball: object) -> tuple[float, float]:
    """hi + lo of the midpoint."""
    hi = float(ball)  # type: ignore[arg-type]
    return hi, float(ball - hi)  # type: ignore[operator]


def valued(points: list[Point]) -> dict[str, np.ndarray]:
    """A table of these points."""
    from ball_log_a import log_a_ball  # needs python-flint; reading a table does not

    columns = np.array([(*point, *split(log_a_ball(*point))) for point in points]).T
    return dict(zip(("q", "sigma", "alpha", "hi", "lo"), columns, strict=True))


def compute(chunk: int) -> tuple[int, dict[str, np.ndarray]]:
    return chunk, valued(chunk_points(chunk))


def load(path: Path) -> dict[str, np.ndarray]:
    """One table, or all the chunks of a directory in order."""
    files = sorted(path.glob("log_a_*.npz")) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"no reference table in {path}")
    tables = [np.load(f) for f in files]
    return {
        name: np.concatenate([t[name] for t in tables])
        for name in ("q", "sigma", "alpha", "hi", "lo")
    }


def sweep(count: int, out: Path, jobs: int = 1) -> None:
    """Compute the missing chunks of the sweep."""
    out.mkdir(parents=True, exist_ok=True)
    chunks = range(-(-count // CHUNK))
    todo = [c for c in chunks if not (out / f"log_a_{c:04d}.npz").exists()]
    with Pool(jobs) as pool:
        results = map(compute, todo) if jobs == 1 else pool.imap_unordered(compute, todo)
        for chunk, table in tqdm(results, total=len(todo), unit="chunk", disable=None):
            part = out / f"part_{chunk:04d}.npz"
            np.savez_compressed(part, **table)
            part.rename(out / f"log_a_{chunk:04d}.npz")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("table", "sweep"))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build" / "reference")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.what == "table":
        table = HERE / "log_a.npz"
        np.savez_compressed(table, **valued(points_of(load(table))))
    else:
        sweep(arguments.count, arguments.out, arguments.jobs)


if __name__ == "__main__":
    main()
