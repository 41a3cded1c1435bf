"""renyi check, verify and info: checks of certificates and of this copy, and its build."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from renyi.cli import output, runs
from renyi.cli.options import UsageError
from renyi.cli.output import Column, plain

if TYPE_CHECKING:
    from renyi.verify import Check, Verification


Point = tuple[float, float, float]
Record = dict[str, Any]

POINT_OPTIONS = {
    "sample_rate": "--sample-rate",
    "noise_multiplier": "--noise-multiplier",
    "order": "--order",
}


# The curves of the other mechanisms cost seconds where the routes to log A cost milliseconds.
CURVE_POINTS = 5
VERDICTS = ("NO", "yes")


def verify(options: argparse.Namespace) -> int:
    """Engine against reference; exit code 1 if a certified bracket misses the reference."""
    try:
        from renyi.verify import verify_curves, verify_point
    except ImportError as error:
        raise UsageError(f"needs mpmath: python -m pip install mpmath ({error})") from None

    points = _points(options)
    digits = options.reference_digits
    results = [
        verify_point(*point, digits=digits) for point in output.progress(points, unit="point")
    ]
    # Curves have their own progress bar: they take much longer than the routes to log A.
    chosen = sorted({k * len(points) // CURVE_POINTS for k in range(CURVE_POINTS)})
    for k in output.progress(chosen, unit="point with other mechanisms"):
        curves = verify_curves(*points[k], digits=digits)
        results[k] = dataclasses.replace(results[k], curves=curves)
    failures = [result for result in results if not result.ok]
    if options.json or options.csv:
        _print_data(options, results, len(failures))
    else:
        if len(results) == 1:
            _print_point(results[0], digits)
        else:
            _print_summary(results, digits)
        _print_failures(failures)
    return 1 if failures else 0


def _points(options: argparse.Namespace) -> list[Point]:
    from renyi.verify import random_points

    if options.random is not None:
        for name, flag in POINT_OPTIONS.items():
            if getattr(options, name) is not None:
                raise UsageError(f"--random excludes {flag}: it draws its own points")
        return list(random_points(options.random, options.seed or 0))
    if options.seed is not None:
        raise UsageError("--seed needs --random N (a whole number from 1 to 1000000)")
    runs.require(options, *POINT_OPTIONS)
    rates, noises, orders = (map(float, getattr(options, name)) for name in POINT_OPTIONS)
    return list(product(rates, noises, orders))


def _rows(result: Verification) -> tuple[list[Record], list[Record]]:
    """Return the table rows of each route, and of each curve."""

    def row(check: Check, label: str) -> Record:
        return {
            **dataclasses.asdict(check),
            "label": label,
            "proven": check.proven,
            "verdict": VERDICTS[check.ok] if check.applies or not check.ok else "-",
            "applies": check.applies,
        }

    routes = [row(c, "rdp" if c.name == "rdp" else f"log A, {c.name}") for c in result.routes]
    return routes, [row(curve, curve.name) for curve in result.curves]


def _print_point(result: Verification, digits: int) -> None:
    print(
        f"sample rate {plain(result.sample_rate)}, "
        f"noise multiplier {plain(result.noise_multiplier)}, "
        f"order {plain(result.order)}"
    )
    print(f"log A, {digits}-digit mpmath   {result.log_a}")
    print(f"RDP,   {digits}-digit mpmath   {result.rdp}\n")
    routes, curves = _rows(result)
    output.print_table(
        [_label("route"), Column("value", "value", _number_or_dash), *POINT_COLUMNS], routes
    )
    print("\nRenyi-DP of other mechanisms of this noise (scale, or inverse of the largest loss)\n")
    columns = [Column("order", "order", plain), Column("value", "upper end", plain)]
    output.print_table([_label("mechanism"), *columns, *POINT_COLUMNS], curves)


def _print_summary(results: Sequence[Verification], digits: int) -> None:
    print(f"{len(results)} points against {digits}-digit mpmath\n")
    routes, curves = zip(*map(_rows, results), strict=True)
    output.print_table([_label("route"), *SUMMARY_COLUMNS], _summaries(routes))
    print("\nRenyi-DP of other mechanisms of the same noise, at some of the points\n")
    output.print_table([_label("mechanism"), *SUMMARY_COLUMNS], _summaries(filter(None, curves)))


def _summaries(points: Iterable[list[Record]]) -> list[Record]:
    """Return a row for each route, or each curve, over all points that have it."""
    found = []
    for rows in zip(*points, strict=True):
        digits = [row["digits"] for row in rows if row["applies"]]
        found.append(
            {
                "label": rows[0]["label"],
                "points": str(len(digits)),
                "worst": f"{min(digits):.1f}" if digits else "-",
                "median": f"{statistics.median(digits):.1f}" if digits else "-",
                "violations": str(sum(not row["ok"] for row in rows)),
            }
        )
    return found


def _print_failures(failures: Sequence[Verification], limit: int = 10) -> None:
    if not failures:
        print("\nEvery certified bracket contains the reference.")
        return
    print(f"\n{len(failures)} point(s) with a violation; look closer with")
    for failure in failures[:limit]:
        print(
            f"  renyi verify --sample-rate {failure.sample_rate!r} "
            f"--noise-multiplier {failure.noise_multiplier!r} --order {failure.order!r}"
        )


def _print_data(
    options: argparse.Namespace, results: Sequence[Verification], violations: int
) -> None:
    if options.csv:
        output.print_csv([record for result in results for record in _records(result)])
        return
    facts = {"reference_digits": options.reference_digits, "violations": violations}
    found = [dataclasses.asdict(result) for result in results]
    output.print_json({"command": "verify", **facts, "results": found})


def _records(result: Verification) -> Iterator[dict[str, object]]:
    """Yield a row for each route, and one for each curve."""
    point = {"sample_rate": result.sample_rate, "noise_multiplier": result.noise_multiplier}
    for check in (*result.routes, *result.curves):
        yield {**point, **dataclasses.asdict(check)}


def _digits(value: float) -> str:
    return "-" if value != value else f"{value:.1f}"


def _number_or_dash(value: float) -> str:
    return "-" if value != value else plain(value)


def _label(heading: str) -> Column:
    return Column("label", heading, str, left=True)


POINT_COLUMNS = (
    Column("digits", "digits agreeing", _digits),
    Column("proven", "digits proven", _digits),
    Column("verdict", "contains reference", str),
)

SUMMARY_COLUMNS = (
    Column("points", "points", str),
    Column("worst", "worst digits", str),
    Column("median", "median digits", str),
    Column("violations", "violations", str),
)


def certificates(options: argparse.Namespace) -> int:
    """Check certificates; exit code 1 if one is rejected."""
    from renyi import check

    if importlib.util.find_spec("flint") is None:
        raise UsageError("needs python-flint: python -m pip install python-flint")
    for name in options.files:
        try:
            open(name, "rb").close()
        except OSError as error:
            raise UsageError(f"FILE must be readable, got {name!r}: {error.strerror}") from None
    return check.main(options.files)


def info(options: argparse.Namespace) -> int:
    """Version, compiler, flags and instruction set."""
    from renyi import build_info

    facts = build_info()
    if options.json:
        output.print_json(facts)
    else:
        output.print_facts("", {key: _info_text(value) for key, value in facts.items()})
    return 0


def _info_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_info_text(item)}" for key, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
