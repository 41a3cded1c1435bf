"""``renyi verify``, ``renyi bench`` and ``renyi info``: is this copy right, how fast, how built."""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tqdm import tqdm

from renyi.cli import output
from renyi.cli.output import Column, plain
from renyi.cli.settings import require
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.verify import Verification

POINT_OPTIONS = {
    "sample_rate": "--sample-rate",
    "noise_multiplier": "--noise-multiplier",
    "order": "--order",
}

BENCH_COLUMNS = (
    Column("library", "", str, left=True),
    Column("seconds", "time", lambda seconds: _duration(seconds)),
    Column(
        "per_second", "per second", lambda value: f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
    ),
    Column("ratio", "time / renyi", lambda value: f"{value:.3g}"),
    Column("ratio_low", "from", lambda value: f"{value:.3g}"),
    Column("ratio_high", "to", lambda value: f"{value:.3g}"),
    Column("value", "epsilon", lambda value: "-" if value is None else f"{value:.8g}"),
)


def verify(options: argparse.Namespace) -> int:
    """Engine against reference; exit code 1 if a certified bracket misses the reference."""
    from renyi.verify import random_points, verify_point

    if options.random is None:
        if options.seed is not None:
            raise UsageError("--seed needs --random N (a whole number from 1 to 1e15)")
        require(options, *POINT_OPTIONS)
        points = [
            (float(q), float(sigma), float(order))
            for q in options.sample_rate
            for sigma in options.noise_multiplier
            for order in options.order
        ]
    else:
        for name, flag in POINT_OPTIONS.items():
            if getattr(options, name) is not None:
                raise UsageError(f"--random excludes {flag}: it draws its own points")
        points = list(random_points(options.random, options.seed or 0))
    digits = options.reference_digits
    bar: Iterable[tuple[float, float, float]] = points
    if len(points) > 1:
        bar = tqdm(points, unit="point", disable=None, leave=False, file=sys.stderr)
    results = [verify_point(*point, digits=digits) for point in bar]
    failures = [result for result in results if not result.ok]
    if options.json or options.csv:
        _print_verify_data(options, results, digits)
    elif len(results) == 1:
        _print_point(results[0], digits)
    else:
        _print_summary(results, digits)
    if not (options.json or options.csv):
        _print_failures(failures)
    return 1 if failures else 0


def bench(options: argparse.Namespace) -> int:
    """Time the engine beside the libraries that are installed."""
    from renyi import _bench

    with tqdm(bar_format="{desc}", disable=None, leave=False, file=sys.stderr) as line:
        rows = _bench.run(quick=options.quick, progress=line.set_description_str)
    renyi = {row.case: row.seconds for row in rows if row.library == "renyi"}
    records = [
        {
            "case": row.case,
            "library": row.library,
            "seconds": row.seconds,
            "per_second": 1.0 / row.seconds,
            "ratio": row.seconds / renyi[row.case],
            "ratio_low": row.ratio_low,
            "ratio_high": row.ratio_high,
            "value": row.value,
        }
        for row in rows
    ]
    if options.json:
        output.print_json({"command": "bench", "results": records})
    elif options.csv:
        output.print_csv(records)
    else:
        for case in renyi:
            print(case)
            table = [record for record in records if record["case"] == case]
            output.print_table(BENCH_COLUMNS, table)
            print()
        print("Times are medians; from and to are the 10th and 90th percentile of the ratio.")
        if len(renyi) == len(records):
            print("No other accounting library was found; those installed are timed too.")
    return 0


def info(options: argparse.Namespace) -> int:
    """Version, compiler, flags and instruction set."""
    from renyi import build_info

    facts = build_info()
    if options.json:
        output.print_json(facts)
    else:
        output.print_facts({key: _info_text(value) for key, value in facts.items()})
    return 0


def _info_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_info_text(item)}" for key, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _print_point(result: Verification, digits: int) -> None:
    print(
        f"sample rate {plain(result.sample_rate)}, "
        f"noise multiplier {plain(result.noise_multiplier)}, "
        f"order {plain(result.order)}"
    )
    print(f"log A, {digits}-digit mpmath   {result.log_a}")
    print(f"RDP,   {digits}-digit mpmath   {result.rdp}\n")
    records = [dataclasses.asdict(route) for route in result.routes]
    for record, route in zip(records, result.routes, strict=True):
        record["verdict"] = (
            "yes" if route.contained else "NO" if route.applies or not route.ok else "-"
        )
        record["proven"] = route.proven
        record["label"] = "rdp" if route.route == "rdp" else f"log A, {route.route}"
    output.print_table(
        [
            Column("label", "route", str, left=True),
            Column("value", "value", _number_or_dash),
            Column("digits", "digits agreeing", _digits),
            Column("proven", "digits proven", _digits),
            Column("verdict", "contains reference", str),
        ],
        records,
    )


def _print_summary(results: Sequence[Verification], digits: int) -> None:
    print(f"{len(results)} points against {digits}-digit mpmath\n")
    records = []
    for k, first in enumerate(results[0].routes):
        checks = [result.routes[k] for result in results]
        agreeing = [check.digits for check in checks if check.applies]
        records.append(
            {
                "label": "rdp" if first.route == "rdp" else f"log A, {first.route}",
                "points": str(len(agreeing)),
                "worst": f"{min(agreeing):.1f}" if agreeing else "-",
                "median": f"{statistics.median(agreeing):.1f}" if agreeing else "-",
                "violations": str(sum(not check.ok for check in checks)),
            }
        )
    output.print_table(
        [
            Column("label", "route", str, left=True),
            Column("points", "points", str),
            Column("worst", "worst digits", str),
            Column("median", "median digits", str),
            Column("violations", "violations", str),
        ],
        records,
    )


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


def _print_verify_data(
    options: argparse.Namespace, results: Sequence[Verification], digits: int
) -> None:
    if options.json:
        output.print_json(
            {
                "command": "verify",
                "reference_digits": digits,
                "violations": sum(not result.ok for result in results),
                "results": [dataclasses.asdict(result) for result in results],
            }
        )
        return
    output.print_csv(
        [
            {
                "sample_rate": result.sample_rate,
                "noise_multiplier": result.noise_multiplier,
                "order": result.order,
                "reference": result.rdp if route.route == "rdp" else result.log_a,
                **dataclasses.asdict(route),
            }
            for result in results
            for route in result.routes
        ]
    )


def _duration(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _digits(value: float) -> str:
    return "-" if value != value else f"{value:.1f}"


def _number_or_dash(value: float) -> str:
    return "-" if value != value else plain(value)
