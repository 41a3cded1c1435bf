"""The figures of ``renyi curve``, and where those of any command may go."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renyi._figure import FORMATS
from renyi.cli import output, words
from renyi.cli.values import OutputError, UsageError

if TYPE_CHECKING:
    from renyi.plot import Kind, Line

Record = dict[str, Any]

FILE_ONLY = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}
MOST_RUNS = 7  # that a legend and the eye can hold apart
INPUTS = {"noise_multiplier": "σ", "sample_rate": "q", "steps": "steps"}


def check(options: argparse.Namespace, count: int) -> None:
    """Refuse a figure of ``count`` runs that could not be made, before anything is computed."""
    if options.plot is None and not options.show:
        return
    if count > MOST_RUNS:
        raise UsageError(f"a figure must have at most {MOST_RUNS} runs, got {count}")
    flag = "--show" if options.plot is None else "--plot"
    if options.plot is not None and Path(options.plot).suffix.lower() not in FORMATS:
        raise UsageError(
            f"--plot must be a file name ending in .png, .svg or .pdf, got {options.plot!r}"
        )
    try:
        import matplotlib
    except ImportError:
        raise UsageError(
            f"{flag} needs matplotlib, which is not installed: python -m pip install matplotlib"
        ) from None
    if options.show:
        import_module("matplotlib.pyplot")  # chooses the backend
        if matplotlib.get_backend().lower() in FILE_ONLY:
            raise UsageError("--show needs a display; without one, write a file: --plot FILE.png")


def draw(options: argparse.Namespace, rows: Sequence[Sequence[Record]]) -> None:
    """Write the figure of the rows of each run, and open it if that was asked for."""
    from renyi.plot import draw_privacy_curves, draw_tradeoffs

    every = [part[0] for part in rows]
    lines = [line for i, part in enumerate(rows) for line in _lines(options, every, i, part)]
    with sheet(options) as axes:
        (draw_tradeoffs if options.tradeoff else draw_privacy_curves)(lines, axes)
        axes.set_title(_title(options, every), fontsize="medium")


@contextmanager
def sheet(options: argparse.Namespace) -> Iterator[Any]:
    """Give the axes of a figure, then write it and open it, as far as that was asked for."""
    from matplotlib.figure import Figure

    from renyi.plot import FIGURE_SIZE

    if options.show:
        from matplotlib import pyplot as plt

        picture: Any = plt.figure(figsize=FIGURE_SIZE, layout="constrained")
    else:
        picture = Figure(figsize=FIGURE_SIZE, layout="constrained")
    yield picture.add_subplot()
    if options.plot:
        try:
            picture.savefig(options.plot, dpi=200)
        except OSError as error:
            raise OutputError(f"--plot {options.plot}: {error.strerror or error}") from None
    if options.show:
        plt.show()


def _lines(
    options: argparse.Namespace, every: Sequence[Record], i: int, rows: Sequence[Record]
) -> Iterator[Line]:
    """Yield a line for each column of numbers of run ``i``."""
    import numpy as np

    from renyi.cli.curve import limit_of
    from renyi.plot import NAMES, Line

    x, y = ("alpha", "beta") if options.tradeoff else ("epsilon", "delta")
    at = np.array([row[x] for row in rows])
    name = _differs(every, every[i])
    kinds: tuple[tuple[str, Kind], ...] = (
        (y, "exact"),
        (f"{y}_rdp", "renyi"),
        (f"{y}_gdp", "gaussian"),
    )
    for key, kind in kinds:
        if key not in rows[0]:
            continue
        label = NAMES[kind]
        if kind == "gaussian":
            limit = limit_of(options, every[i])
            label += (
                f", μ = {output.round_up(limit.mu, 3)}{' (limit, no bound)' if limit.gamma else ''}"
            )
        if name:
            label = f"{name}: {label}" if options.compare else name
        yield Line(at, np.array([row[key] for row in rows]), label, kind, i)


def _differs(every: Sequence[Record], run: Record) -> str:
    """Name a run by what sets it apart from the others."""
    keys = [key for key in INPUTS if len({other[key] for other in every}) > 1]
    return ", ".join(f"{INPUTS[key]} = {_number(run, key)}" for key in keys)


def _title(options: argparse.Namespace, every: Sequence[Record]) -> str:
    keys = [key for key in INPUTS if len({other[key] for other in every}) == 1]
    what = ", ".join(f"{INPUTS[key]} = {_number(every[0], key)}" for key in keys)
    adjacency = options.adjacency.replace("_", "/" if options.adjacency == "add_remove" else " ")
    kind = "Gaussian" if all(run["sample_rate"] == 1.0 for run in every) else "sampled Gaussian"
    return f"{kind} mechanism, {adjacency}\n{what}" if what else f"{kind} mechanism, {adjacency}"


def _number(run: Record, key: str) -> str:
    if key == "sample_rate":
        return words.rate_in_words(run)
    return output.grouped(run[key]) if key == "steps" else output.plain(run[key])
