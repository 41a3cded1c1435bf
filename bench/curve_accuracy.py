"""Accuracy of the privacy curve at every reference point, beside other libraries.

    python bench/curve_accuracy.py                     # writes bench/results/curve_accuracy.md
    python bench/curve_accuracy.py --peer-points 30 --output -

The reference values (tests/reference/curve.npz) have 24 digits and more. Peers take part if they
are installed; a call that needs more than SECONDS or MEMORY has failed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers import CurvePeer, Training, installed_curves
from tqdm import tqdm

from renyi import Gaussian, PLDAccountant, PoissonSampled

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "reference"), str(ROOT / "bench")]
from accuracy import machine, markdown  # noqa: E402
from curve_tables import Point, load  # noqa: E402
from guarded import MEMORY, answers  # noqa: E402

OUTPUT = ROOT / "bench" / "results" / "curve_accuracy.md"
SECONDS = 20


def accountant(point: Point) -> Any:
    ledger = PLDAccountant()
    for q, sigma, count in point.steps:
        step = Gaussian(sigma)
        ledger.compose(step if q == 1 else PoissonSampled(step, q), count)
    return ledger


def effective(point: Point) -> bool:
    """Many steps that are often taken: where double precision is promised."""
    return sum(k for *_, k in point.steps) >= 50 and sum(q * k for q, _, k in point.steps) >= 1


def error(value: float, point: Point) -> float:
    """Relative; where the truth is 0, anything else is wrong."""
    if point.hi == 0:
        return 0.0 if value == 0 else math.inf
    return abs((value - point.hi) - point.lo) / point.hi


def engine_rows(points: Sequence[Point]) -> Iterator[list[str]]:
    """Plain value, and the bracket, by kind of point."""
    found = []
    for point in tqdm(points, "renyi", disable=None):
        ledger, start = accountant(point), time.perf_counter()
        value = float(ledger.get_delta(point.epsilon, direction=point.direction))
        plain = time.perf_counter() - start
        start = time.perf_counter()
        lower, upper = ledger.get_delta_bounds(point.epsilon, direction=point.direction)
        bracket = time.perf_counter() - start
        inside = lower - point.hi <= point.lo <= upper - point.hi
        width = (upper - lower) / point.hi if point.hi else upper - lower
        below = value - point.hi < point.lo
        found.append((error(value, point), below, not inside, width, plain, bracket))
    table = np.array(found)
    kinds = np.array([point.kind for point in points])
    often = np.array([effective(point) for point in points])
    small = np.array([point.hi < 1e-15 for point in points])
    parts = {
        "k q >= 1, k >= 50": (kinds == "random") & often,
        "fewer": (kinds == "random") & ~often,
        "delta < 1e-15": small,
        **{kind: kinds == kind for kind in ("mixed", "extreme", "listed")},
        "all": np.full(len(points), True),
    }
    for name, part in parts.items():
        errors, below, outside, width, plain, bracket = table[part].T
        yield [
            name,
            f"{part.sum():,}",
            *(f"{np.quantile(errors, level):.1e}" for level in (0.5, 0.9, 0.99, 1.0)),
            f"{int(below.sum())}",
            f"{int(outside.sum())}",
            f"{np.median(width):.1e}",
            f"{width.max():.1e}",
            *(f"{1e3 * part:.2g} ms" for part in (np.median(plain), plain.max())),
            *(f"{1e3 * part:.2g} ms" for part in (np.median(bracket), bracket.max())),
        ]


def theirs(peer: CurvePeer, point: Point) -> float:
    steps = [Training(*step) for step in point.steps]
    return float(peer.delta(steps, point.epsilon, max(point.hi, 1e-300)))


def peer_rows(points: Sequence[Point]) -> Iterator[list[str]]:
    """Delta of the libraries at the same points; a failure counts as wrong by everything."""
    peers, _ = installed_curves()
    for peer in peers:
        errors, below, failed, reasons = [], 0, 0, dict[str, int]()
        turn = answers(partial(theirs, peer), points, SECONDS)
        for point, answer in zip(tqdm(points, peer.name, disable=None), turn, strict=True):
            value = math.nan if answer.value is None else answer.value
            bad = not (math.isfinite(value) and value >= 0)
            failed += bad
            if bad:
                reason = answer.reason or "not a probability"
                reasons[reason] = reasons.get(reason, 0) + 1
            errors.append(math.inf if bad else error(value, point))
            below += not bad and value < point.hi * (1 - 1e-6)
        count = len(points)
        shares = [sum(e > limit for e in errors) for limit in (1e-9, 1e-3, 0.5)]
        yield [
            f"{peer.name} {peer.version}",
            f"{count:,}",
            *(f"{100 * n / count:.0f} %" for n in (*shares, below, failed)),
            f"{np.median(errors):.1e}",
            ", ".join(f"{name} {n}" for name, n in sorted(reasons.items())),
        ]


def report(options: argparse.Namespace) -> Iterator[str]:
    points = load("curve")
    yield "# Accuracy of the privacy curve\n"
    command = " ".join(["python bench/curve_accuracy.py", *sys.argv[1:]])
    yield machine(command, {"q": np.empty(len(points))}) + "\n"
    yield (
        "Random compositions: sampling rate 1e-4 to 0.5, noise multiplier 0.5 to 10, 1 to 1e6 "
        "steps, many of them with 1, 2, 3, 5, 10 or 50; delta from 1 to 1e-290; both directions. "
        "Mixed: two to five kinds of step. Extreme and listed: tests/reference/curve_tables.py. "
        "Relative errors of delta against multi-precision contour integrals.\n"
    )
    if not options.peers_only:
        yield "## The engine\n"
        head = "points|number|median error|90 %|99 %|largest|plain value below the truth"
        head += "|outside the bracket|median width|widest|median time|longest"
        head += "|median time of the bracket|longest"
        yield markdown(head, list(engine_rows(points))) + "\n"
    yield "## Beside other libraries\n"
    removed = [p for p in points if p.direction == "remove" and p.kind in ("random", "listed")]
    chosen = removed[:: max(1, len(removed) // options.peer_points)]
    head = "library|points|off > 1e-9|off > 1e-3|off > 50 %|below the truth|failed|median error"
    yield markdown(head + "|reasons", list(peer_rows(chosen))) + "\n"
    yield (
        f"Direction remove, the worse one of these mechanisms. Failed: no number in [0, 1], "
        f"an exception, more than {SECONDS} s or {MEMORY >> 30} GiB. dp_accounting: grid 1e-4; the "
        "others: eps_error 0.01, delta_error a thousandth of the true delta, their estimate.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer-points", type=int, default=120)
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--output", default=str(OUTPUT), help="markdown file; - for none")
    options = parser.parse_args()
    text = "\n".join(report(options))
    print(text)
    if options.output != "-":
        Path(options.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
