"""Correlated noise: ``renyi noise --strategy`` and ``renyi compare --strategies``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from renyi._rounding import round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import STRATEGIES, UsageError, as_options
from renyi.cli.output import Column

if TYPE_CHECKING:
    from renyi.matrix import Strategy
    from renyi.mechanisms.participation import Participation

Record = dict[str, Any]

FACTS = {
    "adjacency": "zero_out",
    "noise": "standard deviation of z / clipping norm, C g + z is released",
    "error": "standard deviation of the noise of prefix sums, root mean square / clipping norm",
}


def noise(options: argparse.Namespace) -> int:
    """Print the noise that a strategy needs for a target."""
    from renyi.matrix import priced

    runs.require(options, "target_epsilon", "delta")
    setting = _setting(options, "target_epsilon")
    epsilon, delta = setting.pop("epsilon"), setting.pop("delta")
    try:
        name, strategy, participation = _strategy(options, setting, epsilon, delta)
        with output.waiting("searching"):
            row = priced(name, strategy, participation, epsilon, delta)
    except ValueError as error:
        raise UsageError(as_options(str(error))) from None
    record = {"epsilon": epsilon, "delta": delta, **setting, **_record(row)}
    if guarantee.emit_data(options, [record], FACTS):
        return 0
    print(f"noise multiplier {round_up(row.noise_multiplier, options.digits)}")
    output.print_facts(
        "",
        {
            "strategy": name,
            "records": str(participation),
            "released": "C g + z: the noise multiplier is that of z",
            "guarantee": f"({', '.join(map(output.plain, (epsilon, delta)))}) under zero-out "
            "adjacency",
            "error": f"{row.error:.{options.digits}g} clipping norms in prefix sums, on average",
        },
    )
    return 0


def check_strategy(options: argparse.Namespace) -> None:
    """Refuse options that the strategy, or independent noise, does not take."""
    for name, strategies in {
        "bands": ("banded", "inverse"),
        "buffers": ("blt",),
        "fixed_order": STRATEGIES,
    }.items():
        if getattr(options, name) and options.strategy not in strategies:
            flag, needed = name.replace("_", "-"), " or ".join(strategies)
            raise UsageError(f"--{flag} needs --strategy {needed}")


def _strategy(
    options: argparse.Namespace, setting: Record, epsilon: float, delta: float
) -> tuple[str, Strategy, Participation]:
    """Return the name of a strategy, the strategy, and the participation of records."""
    from renyi.matrix import (
        BLT,
        BandedInverse,
        BandedToeplitz,
        FixedEpochs,
        SquareRoot,
        Tree,
        choose_bands,
    )

    steps = setting["steps"]
    whole = FixedEpochs(-(-setting["population"] // setting["batch_size"]))
    if options.strategy == "blt":
        count = options.buffers or 4
        return f"{count} buffers", BLT.optimal(steps, count, participation=whole), whole
    if options.strategy == "inverse":
        count = options.bands or min(16, steps)
        inverse = BandedInverse.optimal(steps, count, participation=whole)
        return f"inverse of {count} bands", inverse, whole
    if options.strategy == "tree":
        return "tree (Honaker)", Tree(steps), whole
    if options.strategy == "root":
        return "square root", SquareRoot(steps), whole
    if options.fixed_order:
        count = options.bands or min(whole.period, steps)
        return f"{count} bands", BandedToeplitz.optimal(steps, count), whole
    given = None if options.bands is None else [options.bands]
    with output.waiting("choosing bands"):
        best = min(choose_bands(epsilon, delta, bands=given, **setting), key=lambda row: row.error)
    return best.name, best.strategy, best.participation


def compare(options: argparse.Namespace) -> int:
    """Print or draw the errors of strategies at one guarantee."""
    from renyi.matrix import choose_strategy

    runs.require(options, "target", "delta")
    output.check_figure(options, 1)
    setting = _setting(options, "target")
    epsilon, delta = setting.pop("epsilon"), setting.pop("delta")
    with output.waiting("comparing"):
        rows = choose_strategy(epsilon, delta, **setting)
    if options.plot or options.show:
        _draw(options, rows, f"ε = {output.plain(epsilon)}, δ = {output.plain(delta)}")
    records = [{"epsilon": epsilon, "delta": delta, **setting, **_record(row)} for row in rows]
    if not (guarantee.emit_data(options, records, FACTS) or output.figure_written(options)):
        columns = [
            Column("name", "strategy", str, left=True),
            Column("noise_multiplier", "noise of z", lambda x: round_up(x, options.digits)),
            Column("error", "error", lambda x: f"{x:.{options.digits}g}"),
        ]
        output.print_table(columns, records)
        output.print_paragraph(f"error: {FACTS['error']}; adjacency: zero-out")
    return 0


def _draw(options: argparse.Namespace, rows: Sequence[Any], title: str) -> None:
    """Draw the table: a bar for the error of each strategy."""
    with output.sheet(options) as axes:
        bars = axes.barh([row.name for row in rows], [row.error for row in rows], color="#0072B2")
        axes.bar_label(bars, [f"{row.error:.{options.digits}g}" for row in rows], padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set(xlabel="noise of prefix sums, root mean square / clipping norm")
        axes.set_title(title, fontsize="medium")


def _record(row: Any) -> Record:
    return {
        "name": row.name,
        "strategy": type(row.strategy).__name__,
        "records": str(row.participation),
        "noise_multiplier": row.noise_multiplier,
        "error": row.error,
    }


def _setting(options: argparse.Namespace, epsilon: str) -> Record:
    """Return the single setting: sizes, steps and the target."""
    cells = runs.every(options, epsilon=getattr(options, epsilon), delta=options.delta)
    if len(cells) > 1:
        raise UsageError("a strategy of correlated noise must have one setting, got several")
    setting = cells[0]
    if "batch_size" not in setting:
        raise UsageError("--batch-size and --dataset-size are required with correlated noise")
    population, size, steps = (setting[key] for key in ("dataset_size", "batch_size", "steps"))
    if options.epochs is not None:  # in fixed order the last batch of an epoch may be short
        steps = max(steps, math.ceil(options.epochs[0] * -(-population // size)))
    return {
        "epsilon": setting["epsilon"],
        "delta": setting["delta"],
        "population": population,
        "batch_size": size,
        "steps": steps,
    }
