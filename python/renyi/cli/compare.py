"""renyi compare: methods, noise, ways to draw batches, or strategies of correlated noise."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from renyi._rounding import round_down, round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import METHODS, STRATEGIES, UsageError, as_options
from renyi.cli.output import Column, plain

if TYPE_CHECKING:
    from renyi.matrix import Strategy
    from renyi.mechanisms.participation import Participation
    from renyi.theory.comparison import Row, SamplingRow

    Rows = Sequence[Row]

Record = dict[str, Any]
SYMBOLS = {"noise_multiplier": "σ", "target": "ε", "epsilon": "ε", "delta": "δ", "sample_rate": "q"}
NOISE = {"noise": "standard deviation / sensitivity of the adjacency"}
RELATIVE = "noise relative to the sensitivity of each method's own adjacency"
HEADINGS = dict(
    zip(
        METHODS,
        ("no sampling", "advanced", "optimal", "C(c1, c2)", "moments", "Renyi-DP", "exact"),
        strict=True,
    )
)


def compare(options: argparse.Namespace) -> int:
    """Epsilon at a given delta, delta at a given epsilon, or with a target the noise for both."""
    from renyi.theory import comparison

    cells, keys, given, wanted = _asked(options)
    drawn = options.plot or options.show
    if drawn:
        cells = _over_steps(options, cells, keys)

    def rows_of(cell: Record) -> Rows:
        setting = cell["sample_rate"], cell.get("noise_multiplier"), cell["steps"]
        numbers = {name.replace("target", "epsilon"): cell[name] for name in given}
        return comparison.compare(*setting, **numbers, methods=_names(options))

    with output.waiting("comparison") if len(cells) == 1 else nullcontext():
        found = [(cell, rows_of(cell)) for cell in output.progress(cells)]
    if drawn:
        names = [name for name in SYMBOLS if name in keys and name in cells[0]]
        setting = ", ".join(f"{SYMBOLS[name]} = {plain(cells[0][name])}" for name in names)
        _draw(options, [c["steps"] for c in cells], [r for _, r in found], f"{setting}\n{RELATIVE}")
    records = [record for cell, rows in found for record in _records(cell, rows, wanted)]
    if guarantee.emit_data(options, records, NOISE) or output.figure_written(options):
        return 0
    if len(cells) > 1 or options.target is not None:
        _print_sweep(options, found, keys, wanted)
    else:
        guarantee.print_fixed(records, keys)
        output.print_table(
            [
                Column("label", "method", lambda text: text.replace("é", "e"), left=True),
                Column(wanted, wanted, lambda value: round_up(value, options.digits)),
                Column("times_exact", "times exact", _ratio),
            ],
            records,
        )
    if options.target is None:
        _print_assumptions(records)
    return 0


def _asked(
    options: argparse.Namespace,
) -> tuple[list[Record], tuple[str, ...], tuple[str, ...], str]:
    """Return the settings, the names of their inputs, the given inputs, and the wanted number."""
    if options.target is None:
        runs.require(options, "noise_multiplier")
        given, wanted = runs.given_and_wanted(options, "compared")
        values = [float(value) for value in getattr(options, given)]
        cells = [{**run, given: value} for run in runs.every(options) for value in values]
        return cells, (*guarantee.INPUT_KEYS, given), (given,), wanted
    runs.require(options, "delta")
    for flag, value in (
        ("--epsilon", options.epsilon),
        ("--noise-multiplier", options.noise_multiplier),
    ):
        if value is not None:
            raise UsageError(f"--target excludes {flag}: the noise is what is compared")
    cells = runs.every(options, target=options.target, delta=options.delta)
    names = ("target", "delta")
    return cells, (*names, *guarantee.INPUT_KEYS[1:]), names, "noise_multiplier"


def _names(options: argparse.Namespace) -> tuple[str, ...]:
    return options.methods or METHODS


def _over_steps(
    options: argparse.Namespace, cells: list[Record], keys: Sequence[str]
) -> list[Record]:
    """Return the cells of a figure over the steps: the given ones, or a grid up to a single one."""
    from renyi.theory.comparison import steps_grid

    output.check_figure(options, 1)
    fixed = [key for key in keys if key not in ("epochs", "steps")]
    if len({tuple(cell[key] for key in fixed if key in cell) for cell in cells}) > 1:
        raise UsageError("a figure must have one setting, over the steps, got several")
    if len(cells) > 1:
        return sorted(cells, key=lambda cell: cell["steps"])
    cell = {key: value for key, value in cells[0].items() if key != "epochs"}
    if cell["steps"] == 1:
        raise UsageError("--steps must be above 1 for a figure over the steps, got 1")
    grid = steps_grid(cell["steps"], 25 if options.target is None else 13)
    return [{**cell, "steps": steps} for steps in grid]


def _records(cell: Record, rows: Rows, wanted: str) -> list[Record]:
    """Return a record for every method, with its ratio to the exact one if that is there."""
    exact = next((getattr(row, wanted) for row in rows if row.method == "exact"), None)
    records = []
    for row in rows:
        value = getattr(row, wanted)
        record = {**cell, "method": row.method, "label": row.label, wanted: value}
        if wanted != "noise_multiplier":
            record["times_exact"] = value / exact if exact else None
        records.append({**record, "sampling": row.sampling, "adjacency": row.adjacency})
    return records


def _print_sweep(
    options: argparse.Namespace,
    found: Sequence[tuple[Record, Rows]],
    keys: Sequence[str],
    wanted: str,
) -> None:
    """Print a row for each cell, with a column for each method."""
    wide = [{**cell, **{row.method: getattr(row, wanted) for row in rows}} for cell, rows in found]
    columns = [guarantee.input_column(key) for key in guarantee.varying(wide, keys)]
    columns += [
        Column(name, HEADINGS[name], lambda value: round_up(value, options.digits))
        for name in _names(options)
    ]
    print(f"{wanted.replace('_', ' ')}, by method")
    guarantee.print_fixed(wide, keys)
    output.print_table(columns, wide)


def _print_assumptions(records: Sequence[Record]) -> None:
    """Print the assumptions of each method; methods with the same assumptions share a heading."""
    groups: dict[tuple[str, str], list[str]] = {}
    for record in records:
        names = groups.setdefault((record["sampling"], record["adjacency"]), [])
        if HEADINGS[record["method"]] not in names:
            names.append(HEADINGS[record["method"]])
    facts = {}
    for (sampling, adjacency), (first, *others) in groups.items():
        also = f"(and {', '.join(others)}) " if others else ""
        facts[first] = f"{also}sampling: {sampling}; adjacency: {adjacency}"
    if "no sampling" in facts:
        facts["no sampling"] += "; another algorithm: every epoch is one step with all of the data"
    facts["noise"] = (
        "normal, standard deviation = noise multiplier x sensitivity of the adjacency: where a "
        "record is replaced, a sum of clipped contributions moves by twice the clipping norm"
    )
    facts["release"] = "the results of all steps may be seen, not only the last"
    output.print_facts("Assumes", facts)


def _ratio(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return plain(float(f"{value:.3g}"))


def _draw(options: argparse.Namespace, at: Sequence[int], rows: Sequence[Any], title: str) -> None:
    """Draw the compared numbers over the steps or epochs."""
    from renyi.theory.comparison import plot_comparison

    with output.sheet(options) as axes:
        plot_comparison(at, rows, ax=axes)
        axes.set_title(title, fontsize="medium")


EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # epochs of a figure


def compare_samplings(options: argparse.Namespace) -> int:
    """Epsilon at a given delta by every way to draw batches."""
    run = _one_run(options)
    if options.plot or options.show:
        output.check_figure(options, 1)
        last = run["epochs"]
        epochs = sorted({last, *(count for count in EPOCHS if count < last)})
        found = [_sampling_rows({**run, "epochs": count}) for count in output.progress(epochs)]
        size, population = (output.grouped(run[name]) for name in ("batch_size", "dataset_size"))
        noise, delta = (plain(run[name]) for name in ("noise_multiplier", "delta"))
        title = f"σ = {noise}, batches of {size} of {population}, δ = {delta}"
        _draw(options, epochs, found, title)
    else:
        found = [_sampling_rows(run)]
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
    if not (
        guarantee.emit_data(options, records, {"accounting": "pld"})
        or output.figure_written(options)
    ):
        _print_samplings(options, records)
    return 0


def _one_run(options: argparse.Namespace) -> Record:
    """Return the run that is compared."""
    names = ("noise_multiplier", "batch_size", "dataset_size", "epochs", "delta")
    runs.require(options, *names)
    run: Record = {}
    for name in names:
        given = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        if len(given) > 1:
            raise UsageError(f"{flag} must be one number with --samplings, got {len(given)}")
        if name == "epochs" and given[0].denominator != 1:
            raise UsageError(f"{flag} must be a whole number with --samplings")
        whole = isinstance(given[0], int) or name == "epochs"
        run[name] = int(given[0]) if whole else float(given[0])
    for name in ("sample_rate", "steps", "epsilon", "target"):
        if getattr(options, name) is not None:
            raise UsageError(f"--samplings excludes --{name.replace('_', '-')}")
    if run["batch_size"] > run["dataset_size"]:
        raise UsageError(f"--batch-size must be at most --dataset-size ({run['dataset_size']})")
    return run


def _sampling_rows(run: Record) -> tuple[SamplingRow, ...]:
    from renyi.theory.comparison import compare_samplings

    return compare_samplings(
        run["dataset_size"],
        run["batch_size"],
        noise_multiplier=run["noise_multiplier"],
        epochs=run["epochs"],
        delta=run["delta"],
    )


def _print_samplings(options: argparse.Namespace, records: list[Record]) -> None:
    guarantee.print_fixed(
        records, ("noise_multiplier", "dataset_size", "batch_size", "epochs", "delta")
    )
    digits = options.digits
    columns = [
        Column("label", "sampling", str, left=True),
        Column("adjacency", "adjacency", lambda name: name.replace("_", " "), left=True),
        Column("epsilon_lower", "at least", lambda value: round_down(value, digits)),
        Column("epsilon", "epsilon", lambda value: round_up(value, digits)),
        Column("times_poisson", "times Poisson", lambda value: round_up(value, 3)),
    ]
    output.print_table(columns, records)
    print()
    output.print_paragraph(
        "Between both numbers is the truth. An accountant may only be told of the way in which "
        "batches really were drawn: the page docs/sampling.md says which loader does what."
    )


# Correlated noise.

CORRELATED = {
    "adjacency": "zero_out",
    "noise": "standard deviation of z / clipping norm, C g + z is released",
    "error": "standard deviation of the noise of prefix sums, root mean square / clipping norm",
}


def noise_of_strategy(options: argparse.Namespace) -> int:
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
    record = {"epsilon": epsilon, "delta": delta, **setting, **_strategy_record(row)}
    if guarantee.emit_data(options, [record], CORRELATED):
        return 0
    print(f"noise multiplier {round_up(row.noise_multiplier, options.digits)}")
    output.print_facts(
        "",
        {
            "strategy": name,
            "records": str(participation),
            "released": "C g + z: the noise multiplier is that of z",
            "guarantee": f"({', '.join(map(plain, (epsilon, delta)))}) under zero-out adjacency",
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


def compare_strategies(options: argparse.Namespace) -> int:
    """Print or draw the errors of strategies at one guarantee."""
    from renyi.matrix import choose_strategy

    runs.require(options, "target", "delta")
    output.check_figure(options, 1)
    setting = _setting(options, "target")
    epsilon, delta = setting.pop("epsilon"), setting.pop("delta")
    with output.waiting("comparing"):
        rows = choose_strategy(epsilon, delta, **setting)
    if options.plot or options.show:
        _draw_strategies(options, rows, f"ε = {plain(epsilon)}, δ = {plain(delta)}")
    records = [
        {"epsilon": epsilon, "delta": delta, **setting, **_strategy_record(row)} for row in rows
    ]
    if not (guarantee.emit_data(options, records, CORRELATED) or output.figure_written(options)):
        columns = [
            Column("name", "strategy", str, left=True),
            Column("noise_multiplier", "noise of z", lambda x: round_up(x, options.digits)),
            Column("error", "error", lambda x: f"{x:.{options.digits}g}"),
        ]
        output.print_table(columns, records)
        output.print_paragraph(f"error: {CORRELATED['error']}; adjacency: zero-out")
    return 0


def _draw_strategies(options: argparse.Namespace, rows: Sequence[Any], title: str) -> None:
    """Draw the table: a bar for the error of each strategy."""
    with output.sheet(options) as axes:
        bars = axes.barh([row.name for row in rows], [row.error for row in rows], color="#0072B2")
        axes.bar_label(bars, [f"{row.error:.{options.digits}g}" for row in rows], padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set(xlabel="noise of prefix sums, root mean square / clipping norm")
        axes.set_title(title, fontsize="medium")


def _strategy_record(row: Any) -> Record:
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
