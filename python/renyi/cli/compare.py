"""renyi compare: methods, noise, or ways to draw batches side by side."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from renyi._rounding import round_down, round_up
from renyi.cli import output
from renyi.cli.guarantee import INPUT_KEYS, emit_data, input_column, print_fixed, runs, varying
from renyi.cli.options import METHODS, UsageError
from renyi.cli.output import Column, plain
from renyi.cli.runs import lengths, require, samplings

if TYPE_CHECKING:
    from renyi.theory.comparison import Row, SamplingRow

# ``renyi compare --target``: the noise that every method needs for one guarantee.


Record = dict[str, Any]
TARGET_INPUTS = ("target", "delta", "dataset_size", "batch_size", "sample_rate", "epochs", "steps")


def cells_of(options: argparse.Namespace) -> list[Record]:
    """Return every setting that was given; for a figure, one over the steps."""
    require(options, "delta")
    for flag, given in (
        ("--epsilon", options.epsilon),
        ("--noise-multiplier", options.noise_multiplier),
    ):
        if given is not None:
            raise UsageError(f"--target excludes {flag}: the noise is what is compared")
    cells = [
        {"target": float(target), "delta": float(delta), **sampling.fields(), **length.fields()}
        for target in options.target
        for delta in options.delta
        for sampling in samplings(options)
        for length in lengths(options, sampling)
    ]
    return _targets_over_steps(options, cells) if options.plot or options.show else cells


def _targets_over_steps(options: argparse.Namespace, cells: list[Record]) -> list[Record]:
    from renyi.theory.comparison import steps_grid

    output.check_figure(options, 1)
    if len({tuple(cell[key] for key in TARGET_INPUTS[:5] if key in cell) for cell in cells}) > 1:
        raise UsageError("a figure must have one setting, over the steps, got several")
    if len(cells) > 1:
        return sorted(cells, key=lambda cell: cell["steps"])
    cell = {key: value for key, value in cells[0].items() if key != "epochs"}
    if cell["steps"] == 1:
        raise UsageError("--steps must be above 1 for a figure over the steps, got 1")
    return [{**cell, "steps": steps} for steps in steps_grid(cell["steps"], 13)]


def rows_of(cell: Record, names: Sequence[str]) -> tuple[Row, ...]:
    """Return what each method needs for one setting."""
    from renyi.theory.comparison import compare_noise

    return compare_noise(
        cell["sample_rate"],
        cell["steps"],
        epsilon=cell["target"],
        delta=cell["delta"],
        methods=names,
    )


def compare_targets(
    options: argparse.Namespace, names: Sequence[str], headings: dict[str, str]
) -> int:
    """Print or draw the noise that each method needs."""
    cells = cells_of(options)
    found = [(cell, rows_of(cell, names)) for cell in output.progress(cells)]
    if options.plot or options.show:
        _draw_targets(options, found)
    records = [
        {
            **cell,
            "method": row.method,
            "label": row.label,
            "noise_multiplier": row.noise_multiplier,
            "sampling": row.sampling,
            "adjacency": row.adjacency,
        }
        for cell, rows in found
        for row in rows
    ]
    if emit_data(options, records, {"noise": "standard deviation / sensitivity of the adjacency"}):
        return 0
    if options.plot:
        print(f"figure written to {options.plot}")
    if options.plot or options.show:
        return 0
    wide = [{**cell, **{row.method: row.noise_multiplier for row in rows}} for cell, rows in found]
    columns = [input_column(key) for key in varying(wide, TARGET_INPUTS)]
    columns += [
        Column(name, headings[name], lambda value: round_up(value, options.digits))
        for name in names
    ]
    print("noise multiplier, by method")
    print_fixed(wide, TARGET_INPUTS)
    output.print_table(columns, wide)
    return 0


def _draw_targets(
    options: argparse.Namespace, found: Sequence[tuple[Record, Sequence[Row]]]
) -> None:
    from renyi.theory.comparison import plot_comparison as plot_noise

    cell = found[0][0]
    with output.sheet(options) as axes:
        plot_noise([each["steps"] for each, _ in found], [rows for _, rows in found], ax=axes)
        axes.set_title(
            f"ε = {plain(cell['target'])}, δ = {plain(cell['delta'])}, "
            f"q = {plain(cell['sample_rate'])}\n"
            "noise relative to the sensitivity of each method's own adjacency",
            fontsize="medium",
        )


# ``renyi compare``: classical composition, moments and the exact curve side by side.


HEADINGS = dict(
    zip(
        METHODS,
        ("no sampling", "advanced", "optimal", "C(c1, c2)", "moments", "Renyi-DP", "exact"),
        strict=True,
    )
)


def compare(options: argparse.Namespace) -> int:
    """Epsilon at a given delta, delta at a given epsilon, or the noise for both."""
    if options.target is not None:
        return compare_targets(options, _names(options), HEADINGS)
    require(options, "noise_multiplier")
    given, wanted = _given(options)
    every, names = runs(options), _names(options)
    values = [float(value) for value in getattr(options, given)]
    if options.plot or options.show:
        every = _over_steps(options, every, values)
    cells = [(run, value) for run in every for value in values]
    with output.waiting("comparison") if len(cells) == 1 else nullcontext():
        found = [
            (run, value, _rows(run, given, value, names)) for run, value in output.progress(cells)
        ]
    if options.plot or options.show:
        _draw(options, [(run, rows) for run, _, rows in found])
    records = [record for cell in found for record in _records(*cell, given, wanted)]
    if emit_data(options, records, {"noise": "standard deviation / sensitivity of the adjacency"}):
        return 0
    if options.plot:
        print(f"figure written to {options.plot}")
    elif not options.show:
        keys = (*INPUT_KEYS, given)
        if len(cells) == 1:
            _print_one(options, records, keys, wanted)
        else:
            _print_sweep(options, found, keys, given, wanted)
        _print_assumptions(records)
    return 0


def _given(options: argparse.Namespace) -> tuple[str, str]:
    if options.epsilon is not None and options.delta is not None:
        raise UsageError("--epsilon excludes --delta: one is given, the other compared")
    if options.epsilon is None:
        if options.delta is None:
            raise UsageError(
                "--delta is required (a number strictly between 0 and 1), or --epsilon"
            )
        return "delta", "epsilon"
    return "epsilon", "delta"


def _names(options: argparse.Namespace) -> tuple[str, ...]:
    return options.methods or METHODS


def _over_steps(
    options: argparse.Namespace, every: list[Record], values: Sequence[float]
) -> list[Record]:
    """Return the runs of a figure: those given, or up to the steps of the one that was."""
    from renyi.theory.comparison import steps_grid

    output.check_figure(options, 1)
    others = {tuple(run[key] for key in INPUT_KEYS[:4] if key in run) for run in every}
    if len(others) > 1 or len(values) > 1:
        raise UsageError("a figure must have one setting, over the steps, got several")
    if len(every) > 1:
        return sorted(every, key=lambda run: run["steps"])
    run = {key: value for key, value in every[0].items() if key != "epochs"}
    if run["steps"] == 1:
        raise UsageError("--steps must be above 1 for a figure over the steps, got 1")
    return [{**run, "steps": steps} for steps in steps_grid(run["steps"])]


def _rows(run: Record, given: str, value: float, names: Sequence[str]) -> tuple[Row, ...]:
    from renyi.theory.comparison import compare as compared

    numbers = run["sample_rate"], run["noise_multiplier"], run["steps"]
    if given == "delta":
        return compared(*numbers, delta=value, methods=names)
    return compared(*numbers, epsilon=value, methods=names)


def _records(
    run: Record, value: float, rows: Sequence[Row], given: str, wanted: str
) -> list[Record]:
    """Return a record for every method, with its ratio to the exact one if that is there."""
    exact = next((getattr(row, wanted) for row in rows if row.method == "exact"), None)
    return [
        {
            **run,
            given: value,
            "method": row.method,
            "label": row.label,
            wanted: getattr(row, wanted),
            "times_exact": getattr(row, wanted) / exact if exact else None,
            "sampling": row.sampling,
            "adjacency": row.adjacency,
        }
        for row in rows
    ]


def _print_one(
    options: argparse.Namespace, records: Sequence[Record], keys: Sequence[str], wanted: str
) -> None:
    print_fixed(records, keys)
    output.print_table(
        [
            Column("label", "method", lambda text: text.replace("é", "e"), left=True),
            Column(wanted, wanted, lambda value: round_up(value, options.digits)),
            Column("times_exact", "times exact", _ratio),
        ],
        records,
    )


def _print_sweep(
    options: argparse.Namespace,
    found: Sequence[tuple[Record, float, Sequence[Row]]],
    keys: Sequence[str],
    given: str,
    wanted: str,
) -> None:
    wide = [
        {**run, given: value, **{row.method: getattr(row, wanted) for row in rows}}
        for run, value, rows in found
    ]
    columns = [input_column(key) for key in varying(wide, keys)]
    columns += [
        Column(name, HEADINGS[name], lambda value: round_up(value, options.digits))
        for name in _names(options)
    ]
    print(f"{wanted}, by method")
    print_fixed(wide, keys)
    output.print_table(columns, wide)


def _print_assumptions(records: Sequence[Record]) -> None:
    """Say what each method holds for, methods with the same under one head."""
    groups: dict[tuple[str, str], list[str]] = {}
    for record in records:
        names = groups.setdefault((record["sampling"], record["adjacency"]), [])
        if HEADINGS[record["method"]] not in names:
            names.append(HEADINGS[record["method"]])
    print("\nAssumes")
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
    output.print_facts(facts)


def _ratio(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return plain(float(f"{value:.3g}"))


def _draw(options: argparse.Namespace, found: Sequence[tuple[Record, Sequence[Row]]]) -> None:
    from renyi.theory.comparison import plot_comparison

    run, rows = found[0]
    given = f"δ = {plain(rows[0].delta)}" if options.epsilon is None else ""
    given = given or f"ε = {plain(rows[0].epsilon)}"
    title = (
        f"σ = {plain(run['noise_multiplier'])}, q = {plain(run['sample_rate'])}, {given}\n"
        "noise relative to the sensitivity of each method's own adjacency"
    )
    with output.sheet(options) as axes:
        plot_comparison([run["steps"] for run, _ in found], [rows for _, rows in found], ax=axes)
        axes.set_title(title, fontsize="medium")


EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # epochs of a figure


def compare_samplings(options: argparse.Namespace) -> int:
    """Epsilon at a given delta by every way to draw batches."""
    run = _one_run(options)
    if options.plot or options.show:
        from renyi.theory.comparison import plot_comparison as plot_samplings

        output.check_figure(options, 1)
        last = run["epochs"]
        epochs = sorted({last, *(count for count in EPOCHS if count < last)})
        found = [_sampling_rows({**run, "epochs": count}) for count in output.progress(epochs)]
        with output.sheet(options) as axes:
            plot_samplings(epochs, found, ax=axes)
            axes.set_title(_samplings_title(run), fontsize="medium")
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
    if emit_data(options, records, {"accounting": "pld"}):
        return 0
    if options.plot:
        print(f"figure written to {options.plot}")
    elif not options.show:
        _print_samplings(options, records)
    return 0


def _one_run(options: argparse.Namespace) -> Record:
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
    print_fixed(records, ("noise_multiplier", "dataset_size", "batch_size", "epochs", "delta"))
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


def _samplings_title(run: Record) -> str:
    size, records = (output.grouped(run[name]) for name in ("batch_size", "dataset_size"))
    noise, delta = (output.plain(run[name]) for name in ("noise_multiplier", "delta"))
    return f"σ = {noise}, batches of {size} of {records}, δ = {delta}"
