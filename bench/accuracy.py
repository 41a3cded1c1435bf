"""Accuracy of log A over the whole parameter box, beside other libraries, against proven values.

    python bench/accuracy.py                       # everything, writes bench/results/accuracy.md
    python bench/accuracy.py --count 10000 --peer-points 300 --output -

The reference values are balls of relative radius 1e-40 (tests/reference/ball_log_a.py, needs
python-flint); those of 100,000 points are computed once, in about five minutes, and kept in
build/reference. dp_accounting and Opacus take part if they are installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from facts import cpu
from numpy.typing import NDArray
from peers import Peer, installed, quiet
from tqdm import tqdm

from renyi import special

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "reference"))

OUTPUT = ROOT / "bench" / "results" / "accuracy.md"
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


def relative_error(value: Array, table: Table) -> Array:
    """|value - truth| / truth; exact up to its own rounding, since truth is hi + lo."""
    with np.errstate(all="ignore"):
        return np.abs((value - table["hi"]) - table["lo"]) / np.abs(table["hi"])


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


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupt a call that does not return (POSIX, main thread)."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peer_values(
    log_a: Callable[[float, float, float], float], points: Table, name: str
) -> tuple[Array, int]:
    """What a library answers (NaN: nothing usable), and how often it did not answer in time."""
    values = np.full(len(points["q"]), np.nan)
    late = 0
    columns = (points[k].tolist() for k in ("q", "sigma", "alpha"))
    with quiet(), np.errstate(all="ignore"):
        for i, (q, sigma, alpha) in enumerate(
            tqdm(zip(*columns, strict=True), name, len(values), disable=None)
        ):
            try:
                with deadline(SECONDS):
                    values[i] = float(
                        np.real(log_a(q, sigma, int(alpha) if alpha.is_integer() else alpha))
                    )
            except TimeoutError:
                late += 1
            except Exception:  # whatever it is: no answer
                continue
    return values, late


def peer_rows(title: str, points: Table, peers: Sequence[Peer]) -> Iterator[list[str]]:
    """Ours and theirs on the same points, orders above 1. A failure counts as off by everything."""
    count = len(points["q"])
    ours = special.log_a(points["q"], points["sigma"], points["alpha"])
    answers = [("renyi", (ours, 0))]
    answers += [(f"{p.name} {p.version}", peer_values(p.log_a, points, p.name)) for p in peers]
    for name, (values, late) in answers:
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
    q, sigma, alpha = table["q"], table["sigma"], table["alpha"]
    return (
        (q >= 1e-6)
        & (q <= 0.5)
        & (sigma >= 0.3)
        & (sigma <= 100)
        & (alpha >= 1.01)
        & (alpha <= 512)
    )


def markdown(head: str, rows: Sequence[Sequence[str]]) -> str:
    titles = head.split("|")
    lines = ["| " + " | ".join(row) + " |" for row in (titles, ["---"] * len(titles), *rows)]
    return "\n".join(lines)


def machine(command: str, table: Table) -> str:
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("renyi", "numpy"))
    lines = {
        "Command": f"`{command}`",
        "Points": f"{len(table['q']):,}",
        "Processor": f"{cpu()}, {os.cpu_count()} cores",
        "System": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "Versions": versions,
    }
    return "\n".join(f"* {name}: {value}" for name, value in lines.items())


def load(path: Path, count: int) -> Table:
    """Read the table, computing first what is missing."""
    import make_log_a

    have = len(list(path.glob("log_a_*.npz"))) * make_log_a.CHUNK
    if have < count:
        make_log_a.sweep(count, path)
    return select(make_log_a.load(path), np.arange(count))


def report(arguments: argparse.Namespace) -> Iterator[str]:
    table = load(arguments.reference, arguments.count)
    yield "# Accuracy of log A\n"
    command = "python bench/accuracy.py " + " ".join(sys.argv[1:])
    yield machine(command.strip(), table) + "\n"
    yield (
        "Points: log-uniform sampling rate in [1e-12, 1], noise multiplier in [0.01, 1e6] and "
        "distance of the order from 1 in [1e-8, 1e6]; 30 % integers up to 1e6, 25 % negative "
        "orders, 5 % where two peaks of the integrand have about the same height. Reference: ball "
        "arithmetic, relative radius at most 1e-40.\n"
    )
    yield "## The engine\n"
    head = "function|log A|points|declined (NaN)|inf or <= 0|largest relative error|median"
    head += "|outside [lower, upper]|widest bracket|largest error at q, sigma, alpha"
    yield markdown(head, list(engine_rows(table))) + "\n"
    peers, missing = installed()
    yield "## Beside other libraries, orders above 1\n"
    if missing:
        yield f"Not installed: {', '.join(missing)}.\n"
    rows: list[list[str]] = []
    above = table["alpha"] > 1
    for title, part in (("whole box", above), ("everyday part", above & everyday(table))):
        chosen = np.flatnonzero(part)[: arguments.peer_points]
        if len(chosen):
            rows += peer_rows(title, select(table, chosen), peers)
    head = "points from|library|points|off > 1e-6|off > 1 %|off > 50 %|below the truth by > 1e-6"
    head += f"|failed|of these not within {SECONDS:g} s|median error"
    yield markdown(head, rows) + "\n"
    yield (
        "Failed: infinite, NaN, not positive, an exception, or no answer in time; a failure counts "
        "in every column of errors. Below the truth: privacy loss is under-reported (finite "
        "answers).\n\nEveryday part: sampling rate 1e-6 to 0.5, noise multiplier 0.3 to 100, "
        "order 1.01 to 512.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000, help="points of the sweep")
    parser.add_argument(
        "--peer-points", type=int, default=3000, help="points of each part for peers"
    )
    parser.add_argument("--reference", type=Path, default=REFERENCE, help="directory of the table")
    parser.add_argument(
        "--output", default=str(OUTPUT), help="markdown file; - for the terminal only"
    )
    arguments = parser.parse_args()
    text = "\n".join(report(arguments))
    print(text)
    if arguments.output != "-":
        Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
