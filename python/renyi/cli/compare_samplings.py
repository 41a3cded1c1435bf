"""``renyi compare --samplings``: one run under every way to draw its batches."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from renyi.cli import figure, output
from renyi.cli.guarantee import emit_data, print_fixed
from renyi.cli.output import Column
from renyi.cli.runs import require
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.theory.comparison import SamplingRow

__all__ = ["compare"]

Record = dict[str, Any]

POINTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # epochs of a figure


def compare(options: argparse.Namespace) -> int:
    """Epsilon at a given delta by every way to draw batches."""
    run = _run(options)
    if options.plot or options.show:
        from renyi.theory.comparison import plot_comparison as plot_samplings

        figure.check(options, 1)
        last = run["epochs"]
        epochs = sorted({last, *(count for count in POINTS if count < last)})
        found = [_rows({**run, "epochs": count}) for count in output.progress(epochs)]
        with figure.sheet(options) as axes:
            plot_samplings(epochs, found, ax=axes)
            axes.set_title(_title(run), fontsize="medium")
    else:
        found = [_rows(run)]
    poisson = next(row.upper for row in found[-1] if row.sampling == "poisson")
    records = [
        {
            **run,
            "sampling": row.sampling,
            "label": row.label,
            "adjacency": row.adjacency,
            "epsilon_lower": row.lower,
            "epsilon": row.upper,
            "times_poisson": row.upper / poisson,
        }
        for row in found[-1]
    ]
    if emit_data(options, records, {"accounting": "pld"}):
        return 0
    if options.plot:
        print(f"figure written to {options.plot}")
    elif not options.show:
        _print(options, records)
    return 0


def _run(options: argparse.Namespace) -> Record:
    """Return the one run that is compared."""
    names = ("noise_multiplier", "batch_size", "dataset_size", "epochs", "delta")
    require(options, *names)
    run: Record = {}
    for name in names:
        given = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        if len(given) > 1:
            raise UsageError(f"{flag} must be one number with --samplings, got {len(given)}")
        whole = name in ("batch_size", "dataset_size", "epochs")
        if whole and given[0].denominator != 1:
            raise UsageError(f"{flag} must be a whole number with --samplings")
        run[name] = int(given[0]) if whole else float(given[0])
    for name in ("sample_rate", "steps", "epsilon", "target"):
        if getattr(options, name) is not None:
            raise UsageError(f"--samplings excludes --{name.replace('_', '-')}")
    if run["batch_size"] > run["dataset_size"]:
        raise UsageError(f"--batch-size must be at most --dataset-size ({run['dataset_size']})")
    return run


def _rows(run: Record) -> tuple[SamplingRow, ...]:
    from renyi.theory.comparison import compare_samplings

    return compare_samplings(
        run["dataset_size"],
        run["batch_size"],
        noise_multiplier=run["noise_multiplier"],
        epochs=run["epochs"],
        delta=run["delta"],
    )


def _print(options: argparse.Namespace, records: list[Record]) -> None:
    print_fixed(records, ("noise_multiplier", "dataset_size", "batch_size", "epochs", "delta"))
    digits = options.digits
    columns = [
        Column("label", "sampling", str, left=True),
        Column("adjacency", "adjacency", lambda name: name.replace("_", " "), left=True),
        Column("epsilon_lower", "at least", lambda value: output.round_down(value, digits)),
        Column("epsilon", "epsilon", lambda value: output.round_up(value, digits)),
        Column("times_poisson", "times Poisson", lambda value: output.round_up(value, 3)),
    ]
    output.print_table(columns, records)
    print()
    output.print_paragraph(
        "Between both numbers is the truth. An accountant may only be told of the way in which "
        "batches really were drawn: the page docs/sampling.md says which loader does what."
    )


def _title(run: Record) -> str:
    size, records = (output.grouped(run[name]) for name in ("batch_size", "dataset_size"))
    noise, delta = (output.plain(run[name]) for name in ("noise_multiplier", "delta"))
    return f"σ = {noise}, batches of {size} of {records}, δ = {delta}"
