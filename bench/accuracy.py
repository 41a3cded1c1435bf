"""Accuracy of log A over the whole parameter box, beside other libraries, against proven values.

    python bench/accuracy.py                       # everything, writes bench/results/accuracy.md
    python bench/accuracy.py --count 10000 --peer-points 300 --quick   # to the screen only

The reference values are balls of relative radius 1e-40 (tests/reference/ball_log_a.py, needs
python-flint); those of 100,000 points are computed once, in about five minutes, and kept in
build/reference. dp_accounting and Opacus take part if they are installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from guarded import answers
from harness import facts, options_of, publish, table
from numpy.typing import NDArray
from peers import Peer, installed
from tqdm import tqdm

from renyi import special

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "reference"))

REFERENCE = ROOT / "build" / "reference"
SECONDS = 1.0  # a peer that has not answered by then has failed
LARGE = 1e4  # log A from here on: another error bound

Array = NDArray[np.float64]
Table = dict[str, Array]


class Route(NamedTuple):
    """A ufunc of renyi.special and the points it documents an answer for."""

    name: str
    domain: Callable[[Table], NDArray[np.bool_]]


def integer(table: Table) -> NDArray[np.bool_]:
    return (table["alpha"] >= 1) & (table["alpha"] == np.floor(table["alpha"]))


ROUTES = (
    Route("log_a", lambda t: np.ones(len(t["q"]), bool)),
    Route("log_a_quadrature", lambda t: np.ones(len(t["q"]), bool)),
    Route("log_a_binomial", integer),
    Route("log_a_series", lambda t: t["alpha"] >= 1),
)


def relative_error(value: Array, points: Table) -> Array:
    """|value - truth| / truth; exact up to its own rounding, since truth is hi + lo."""
    with np.errstate(all="ignore"):
        return np.abs((value - points["hi"]) - points["lo"]) / np.abs(points["hi"])


def select(table: Table, chosen: NDArray[np.bool_] | Array) -> Table:
    return {name: column[chosen] for name, column in table.items()}


def engine_rows(table: Table) -> Iterator[list[str]]:
    """One row a route and size of log A."""
    for route in ROUTES:
        inside = select(table, route.domain(table))
        q, sigma, alpha, hi, lo = (inside[k] for k in ("q", "sigma", "alpha", "hi", "lo"))
        values = [
            getattr(special, route.name + end)(q, sigma, alpha) for end in ("", "_lower", "_upper")
        ]
        value, lower, upper = values
        declined = np.isnan(value)
        bad = ~declined & ~(np.isfinite(value) & (value > 0))
        error = relative_error(value, inside)
        # differences of neighbouring doubles are exact
        outside = ~declined & ~((lower - hi <= lo) & (upper - hi >= lo))
        width = (upper - lower) / hi
        for title, part in (("< 1e4", hi < LARGE), (">= 1e4", hi >= LARGE)):
            here = part & ~declined
            if not here.any():
                continue
            yield [
                f"`{route.name}`",
                title,
                f"{here.sum():,}",
                f"{(declined & part).sum():,}",
                f"{(bad & part).sum():,}",
                f"{np.nanmax(error[here]):.2e}",
                f"{np.nanmedian(error[here]):.1e}",
                f"{(outside & part).sum():,}",
                f"{np.nanmax(width[here]):.1e}",
                worst(inside, np.where(here, error, -1)),
            ]


def worst(table: Table, error: Array) -> str:
    at = int(np.nanargmax(error))
    return ", ".join(f"{table[k][at]:.6g}" for k in ("q", "sigma", "alpha"))


def answer(log_a: Callable[[float, float, float], float], point: Sequence[float]) -> float:
    q, sigma, alpha = point
    return float(np.real(log_a(q, sigma, int(alpha) if alpha.is_integer() else alpha)))


def peer_values(peer: Peer, points: Table) -> tuple[Array, int]:
    """What a library answers (NaN: nothing usable), and how often it did not answer in time."""
    triples = list(zip(*(points[k].tolist() for k in ("q", "sigma", "alpha")), strict=True))
    found = answers(partial(answer, peer.log_a), triples, SECONDS)
    told = list(tqdm(found, peer.name, len(triples), disable=None))
    values = [np.nan if one.value is None else one.value for one in told]
    return np.array(values), sum(one.reason == "time" for one in told)


def peer_rows(title: str, points: Table, peers: Sequence[Peer]) -> Iterator[list[str]]:
    """Ours and theirs on the same points, orders above 1. A failure counts as off by everything."""
    count = len(points["q"])
    ours = special.log_a(points["q"], points["sigma"], points["alpha"])
    found = [("renyi", (ours, 0))]
    found += [(f"{p.name} {p.version}", peer_values(p, points)) for p in peers]
    for name, (values, late) in found:
        failed = ~(np.isfinite(values) & (values > 0))
        error = np.where(failed, np.inf, relative_error(values, points))
        under = np.isfinite(values) & (values < points["hi"] * (1 - 1e-6))
        counts = [
            *((error > limit).sum() for limit in (1e-6, 0.01, 0.5)),
            under.sum(),
            failed.sum(),
            late,
        ]
        median = np.median(error)
        yield [
            title,
            name,
            f"{count:,}",
            *(f"{100 * n / count:.1f} %" for n in counts),
            f"{median:.1e}",
        ]


def everyday(table: Table) -> NDArray[np.bool_]:
    """The part of the box where most accounting happens."""
    bounds = {"q": (1e-6, 0.5), "sigma": (0.3, 100), "alpha": (1.01, 512)}
    inside = [(low <= table[k]) & (table[k] <= high) for k, (low, high) in bounds.items()]
    return np.logical_and.reduce(inside)


def load(path: Path, count: int) -> Table:
    """Read the table, computing first what is missing."""
    import make_log_a

    have = len(list(path.glob("log_a_*.npz"))) * make_log_a.CHUNK
    if have < count:
        make_log_a.sweep(count, path)
    return select(make_log_a.load(path), np.arange(count))


def report(arguments: argparse.Namespace) -> Iterator[str]:
    points = load(arguments.reference, arguments.count)
    yield "# Accuracy of log A\n"
    yield facts({"Points": f"{arguments.count:,}"})
    yield (
        "Points: log-uniform sampling rate in [1e-12, 1], noise multiplier in [0.01, 1e6] and "
        "distance of the order from 1 in [1e-8, 1e6]; 30 % integers up to 1e6, 25 % negative "
        "orders, 5 % where two peaks of the integrand have about the same height. Reference: ball "
        "arithmetic, relative radius at most 1e-40.\n"
    )
    yield "## The engine\n"
    head = "function|log A|points|declined (NaN)|inf or <= 0|largest relative error|median"
    head += "|outside [lower, upper]|widest bracket|largest error at q, sigma, alpha"
    yield table(head, engine_rows(points))
    peers, missing = installed()
    yield "## Beside other libraries, orders above 1\n"
    if missing:
        yield f"Not installed: {', '.join(missing)}.\n"
    rows: list[list[str]] = []
    above = points["alpha"] > 1
    for title, part in (("whole box", above), ("everyday part", above & everyday(points))):
        chosen = np.flatnonzero(part)[: arguments.peer_points]
        if len(chosen):
            rows += peer_rows(title, select(points, chosen), peers)
    head = "points from|library|points|off > 1e-6|off > 1 %|off > 50 %|below the truth by > 1e-6"
    head += f"|failed|of these not within {SECONDS:g} s|median error"
    yield table(head, rows)
    yield (
        "Failed: infinite, NaN, not positive, an exception, or no answer in time; a failure counts "
        "in every column of errors. Below the truth: privacy loss is under-reported (finite "
        "answers).\n\nEveryday part: sampling rate 1e-6 to 0.5, noise multiplier 0.3 to 100, "
        "order 1.01 to 512.\n"
    )


def main() -> None:
    options = options_of(__doc__, count=100_000, peer_points=3000, reference=REFERENCE, quick=False)
    publish(report(options), None if options.quick else "accuracy")


if __name__ == "__main__":
    main()
