"""``renyi compare --target``: the noise that every method needs for one guarantee."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from renyi.cli import figure, output
from renyi.cli.guarantee import emit_data, input_column, print_fixed, varying
from renyi.cli.output import Column, plain
from renyi.cli.settings import lengths, require, samplings
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.theory.comparison import NoiseRow

Record = dict[str, Any]

INPUTS = ("target", "delta", "dataset_size", "batch_size", "sample_rate", "epochs", "steps")


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
    return _over_steps(options, cells) if options.plot or options.show else cells


def _over_steps(options: argparse.Namespace, cells: list[Record]) -> list[Record]:
    from renyi.theory.comparison import steps_grid

    figure.check(options, 1)
    if len({tuple(cell[key] for key in INPUTS[:5] if key in cell) for cell in cells}) > 1:
        raise UsageError("a figure must have one setting, over the steps, got several")
    if len(cells) > 1:
        return sorted(cells, key=lambda cell: cell["steps"])
    cell = {key: value for key, value in cells[0].items() if key != "epochs"}
    if cell["steps"] == 1:
        raise UsageError("--steps must be above 1 for a figure over the steps, got 1")
    return [{**cell, "steps": steps} for steps in steps_grid(cell["steps"], 13)]


def rows_of(cell: Record, names: Sequence[str]) -> tuple[NoiseRow, ...]:
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
        _draw(options, found)
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
    columns = [input_column(key) for key in varying(wide, INPUTS)]
    columns += [
        Column(name, headings[name], lambda value: output.round_up(value, options.digits))
        for name in names
    ]
    print("noise multiplier, by method")
    print_fixed(wide, INPUTS)
    output.print_table(columns, wide)
    return 0


def _draw(options: argparse.Namespace, found: Sequence[tuple[Record, Sequence[NoiseRow]]]) -> None:
    from renyi.theory.comparison import plot_noise

    cell = found[0][0]
    with figure.sheet(options) as axes:
        plot_noise([each["steps"] for each, _ in found], [rows for _, rows in found], ax=axes)
        axes.set_title(
            f"ε = {plain(cell['target'])}, δ = {plain(cell['delta'])}, "
            f"q = {plain(cell['sample_rate'])}\n"
            "noise relative to the sensitivity of each method's own adjacency",
            fontsize="medium",
        )
