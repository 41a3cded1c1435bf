"""``renyi epsilon``, ``renyi delta`` and ``renyi rdp``: the guarantee of a run."""

import argparse
import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from renyi._rounding import round_up
from renyi.cli import output, runs
from renyi.cli.options import POISSON, UsageError
from renyi.cli.output import Column, plain, within_limit

INPUT_KEYS = ("noise_multiplier", "dataset_size", "batch_size", "sample_rate", "epochs", "steps")


def epsilon(options: argparse.Namespace) -> int:
    """Epsilon at a given delta."""
    runs.require(options, "noise_multiplier", "delta")
    records = _guarantees(options, "delta")
    if options.certificate is not None:  # written before printing, whose reader may go away
        _write_certificate(options, records)
    _print_all(options, records, given="delta", wanted="epsilon")
    return within_limit(options, [runs.headline(record, "epsilon") for record in records])


def _write_certificate(options: argparse.Namespace, records: Sequence[dict[str, Any]]) -> None:
    if len(records) != 1:
        raise UsageError(f"--certificate needs one run and one delta, got {len(records)} of them")
    accountant_of = runs.renyi_accountant if options.accountant == "rdp" else runs.curve_accountant
    try:
        made = accountant_of(options, records[0]).certificate(delta=records[0]["delta"])
    except ImportError as error:
        raise UsageError(f"--certificate: {error}") from None
    output.write_certificate(options.certificate, made)


def delta(options: argparse.Namespace) -> int:
    """Delta at a given epsilon."""
    runs.require(options, "noise_multiplier", "epsilon")
    _print_all(options, _guarantees(options, "epsilon"), given="epsilon", wanted="delta")
    return 0


def rdp(options: argparse.Namespace) -> int:
    """Renyi-DP at given orders: steps times the certified upper end of one step."""
    runs.require(options, "noise_multiplier", "rdp_orders")
    from renyi import special

    records = []
    for inputs in output.progress(runs.every(options)):
        q, sigma, steps = inputs["sample_rate"], inputs["noise_multiplier"], inputs["steps"]
        for order in map(float, options.rdp_orders):
            lower = float(special.rdp_sampled_gaussian_lower(q, sigma, order))
            upper = float(special.rdp_sampled_gaussian_upper(q, sigma, order))
            # The product rounds to nearest; one step outward keeps it a bound. One step is exact.
            records.append(
                {
                    **inputs,
                    "order": order,
                    "rdp": upper if steps == 1 else math.nextafter(upper * steps, math.inf),
                    "rdp_lower": lower if steps == 1 else math.nextafter(lower * steps, 0.0),
                }
            )
    facts = {"sampling": POISSON, "adjacency": options.adjacency}
    if emit_data(options, records, facts):
        return 0
    columns = [input_column(key) for key in varying(records, INPUT_KEYS)]
    columns += [
        Column("order", "order", plain),
        Column("rdp", "rdp", lambda value: round_up(value, options.digits)),
    ]
    print_fixed(records, INPUT_KEYS)
    output.print_table(columns, records)
    output.print_facts("Assumes", runs.assumptions_in_words(options, *records))
    return 0


def _guarantees(options: argparse.Namespace, given: str) -> list[dict[str, Any]]:
    runs.check_method(options)
    cells = [
        (run, float(value)) for run in runs.every(options) for value in getattr(options, given)
    ]
    with output.waiting("certified bounds") if len(cells) == 1 else nullcontext():
        return [
            {**run, given: value, **runs.price(options, run, given, value)}
            for run, value in output.progress(cells)
        ]


def _print_all(
    options: argparse.Namespace, records: list[dict[str, Any]], *, given: str, wanted: str
) -> None:
    if emit_data(options, records, data_facts(options)):
        return
    if len(records) == 1:
        _print_one(options, records[0], given, wanted)
        return
    given_keys = (*INPUT_KEYS, given)
    columns = [input_column(key) for key in varying(records, given_keys)]
    columns.append(Column(wanted, wanted, lambda value: round_up(value, options.digits)))
    if options.accountant == "rdp":
        columns.append(
            Column("order", "best order", lambda order: "-" if order is None else f"{order:.4g}")
        )
    elif options.adjacency != "replace_one":
        beside = f"{wanted}_rdp"
        for record in records:
            record["saved"] = runs.saving(record[wanted], record[beside]) or "-"
        columns.append(Column(beside, "by Renyi-DP", lambda value: round_up(value, options.digits)))
        columns.append(Column("saved", "smaller by", str))
    print_sweep(options, records, columns, given_keys)


def emit_data(
    options: argparse.Namespace, records: Sequence[dict[str, Any]], facts: dict[str, Any]
) -> bool:
    """Print the machine-readable form on request."""
    if options.json:
        from renyi import __version__

        document = {
            "command": options.command,
            "renyi": __version__,
            "assumptions": facts,
            "results": list(records),
        }
        output.print_json(document)
    elif options.csv:
        constant = {
            key: value if isinstance(value, str) else " ".join(map(plain, value))
            for key, value in facts.items()
        }
        output.print_csv([{**record, **constant} for record in records])
    return bool(options.json or options.csv)


def data_facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return assumptions and method under names that programs can test."""
    facts: dict[str, Any] = {
        "sampling": options.sampling.replace("-", "_"),
        "adjacency": options.adjacency,
        "accounting": options.accountant,
    }
    if options.accountant == "rdp":
        facts["conversion"] = options.conversion
        orders = options.orders
        facts["orders"] = "all real orders" if orders is None else list(map(float, orders))
    return facts


def print_sweep(
    options: argparse.Namespace,
    records: Sequence[dict[str, Any]],
    columns: Sequence[Column],
    inputs: Sequence[str],
    beside: bool = True,
) -> None:
    """Print the table of a sweep; shared inputs are above it, assumptions below.

    ``beside``: the exact curve has a column of Renyi-DP for comparison.
    """
    print_fixed(records, inputs)
    output.print_table(columns, records)
    output.print_facts("Assumes", runs.assumptions_in_words(options, *records))
    output.print_facts("Computed", runs.method_in_words(options, {}, beside))


def input_column(key: str) -> Column:
    """Return the column of an input."""
    return Column(key, key.replace("_", " "), plain)


def _print_one(
    options: argparse.Namespace, record: dict[str, Any], given: str, wanted: str
) -> None:
    value = runs.headline(record, wanted)
    number = round_up(value, options.digits)
    texts = {wanted: number, given: plain(record[given])}
    print(f"{wanted} = {number} at {given} = {texts[given]}{_beside(options, record, wanted)}\n")
    if f"{wanted}_of_one_run" in record:
        alone = round_up(record[f"{wanted}_of_one_run"], options.digits)
        output.print_paragraph(
            f"One run alone has {wanted} = {alone}; the rest is the cost of tuning, if after each "
            f"run one stops with probability 1/{plain(options.tuning_runs)} and keeps the number "
            "of runs secret."
        )
        print()
    if math.isfinite(value):
        output.print_paragraph(runs.statement(options, record, texts["epsilon"], texts["delta"]))
    else:
        print("No finite guarantee.")
    output.print_facts("Assumes", runs.assumptions_in_words(options, record))
    output.print_facts(
        "Computed",
        {
            **runs.method_in_words(options, record),
            "certified": runs.bracket_in_words(options, record, wanted),
            "rounding": f"{wanted} is printed rounded up",
        },
    )
    print_notes(runs.remarks(options, record))


def _beside(options: argparse.Namespace, record: dict[str, Any], wanted: str) -> str:
    """Return the kind of the number, and the number that Renyi-DP gives instead."""
    if options.accountant == "rdp":
        return ""
    other = record[f"{wanted}_rdp"]
    kind = runs.curve_in_words(options)
    if other is None:
        return f" ({kind})"
    text = round_up(other, options.digits)
    less = runs.saving(runs.headline(record, wanted), other)
    beside = f"Renyi-DP: {text}" if less is None else f"{less} below the {text} of Renyi-DP"
    return f" ({kind}; {beside})"


def print_notes(notes: Sequence[str]) -> None:
    """Print remarks, each as its own paragraph."""
    for note in notes:
        print()
        output.print_paragraph(f"Note: {note}.")


def varying(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[str]:
    """Return the keys whose value differs between records."""
    return [key for key in _shown(records, keys) if len({record[key] for record in records}) > 1]


def _shown(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[str]:
    """Return the keys of the records, without a sampling rate that follows from others."""
    hidden = {"sample_rate"} if "batch_size" in records[0] else set()
    return [key for key in keys if key in records[0] and key not in hidden]


def print_fixed(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Print the inputs that all records share."""
    moving = varying(records, keys)
    fixed = [key for key in _shown(records, keys) if key not in moving]
    if fixed:
        print(", ".join(f"{key.replace('_', ' ')} {plain(records[0][key])}" for key in fixed))
        print()
