"""``renyi bench`` and ``renyi info``: how fast is this copy, how was it built."""

from __future__ import annotations

import argparse
import sys

from tqdm import tqdm

from renyi.cli import output
from renyi.cli.output import Column

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


def _duration(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"
