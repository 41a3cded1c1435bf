"""Numbers and tables on the screen, rounded to the safe side, and limits on numbers."""

import argparse
import csv
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from renyi import _progress
from renyi._progress import Line
from renyi._rounding import round_up
from renyi._validation import decimal_of, visible
from renyi.cli.options import OutputError, UsageError

MEASURE = 88  # width of text in columns
PATIENCE = 0.5  # seconds without a progress bar
Record = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """One column of a table: the key of the record, the heading, the format, the alignment."""

    key: str
    heading: str
    show: Callable[[Any], str]
    left: bool = False  # text is aligned left


def write_text(name: str, text: str) -> None:
    """Write a file, or raise an error that says why it cannot be written."""
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{name}: {error.strerror or error}") from None


def write_certificate(name: str, certificate: Record) -> None:
    """Write what `renyi check` verifies."""
    write_text(name, json.dumps(certificate, indent=1) + "\n")


def plain(value: float | int | None) -> str:
    """Return the shortest text that reads back as the same number.

    >>> plain(1e-5), plain(0.004), plain(2.0), plain(15000)
    ('1e-5', '0.004', '2', '15000')
    """
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else decimal_of(value)


def grouped(value: int) -> str:
    """Return a count with a comma between thousands."""
    return f"{value:,}"


def progress(items: Sequence[T], unit: str = "row") -> Iterable[T]:
    """Return the items, with a progress bar on a terminal if they take long."""
    return items if len(items) < 2 else _progress.progress(items, unit, PATIENCE)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a line on stderr, if it is a terminal, while something may take seconds."""
    with Line() as line:
        line.show(f"{text} ...")
        yield


def print_table(columns: Sequence[Column], records: Sequence[Record]) -> None:
    """Print aligned columns under their headings, each record on one line."""
    cells = [[column.heading for column in columns]]
    cells += [
        [visible(column.show(record[column.key])) for column in columns] for record in records
    ]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    for row in cells:
        padded = (
            cell.ljust(width) if column.left else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(padded).rstrip())


def print_csv(records: Sequence[Record]) -> None:
    """Print all fields of the records, with numbers as full doubles."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(records[0].keys())
    for record in records:
        writer.writerow("" if value is None else _cell(value) for value in record.values())


def print_json(document: Record) -> None:
    """Print JSON with full doubles; infinite or undefined numbers are strings "inf" or "nan"."""
    print(json.dumps(_json_value(document), indent=2, ensure_ascii=True))


def _width() -> int:
    """Return the width of text: that of the terminal, within limits."""
    return min(MEASURE, max(40, shutil.get_terminal_size((MEASURE, 24)).columns))


def print_paragraph(text: str) -> None:
    """Print a paragraph, wrapped to the width of text."""
    print(textwrap.fill(text, _width(), break_long_words=False, break_on_hyphens=False))


def print_facts(heading: str, facts: Mapping[str, str | tuple[str, ...]]) -> None:
    """Print ``name  text`` lines under a heading, with several texts one below the other."""
    if heading:
        print(f"\n{heading}")
    width = max(map(len, facts)) + 4
    for name, texts in facts.items():
        for number, text in enumerate((texts,) if isinstance(texts, str) else texts):
            print(
                textwrap.fill(
                    text,
                    _width(),
                    initial_indent=("" if number else f"  {name}").ljust(width),
                    subsequent_indent=" " * width,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )


def _cell(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


EXCEEDED = 3
"""The exit code where a budget or a limit is exceeded."""


def within_limit(options: argparse.Namespace, epsilons: Sequence[float]) -> int:
    """Return 0 if ``--max-epsilon`` is kept or not given; else print it, return the exit code."""
    largest = max(epsilons)
    if options.max_epsilon is None or largest <= options.max_epsilon:
        return 0
    limit, number = plain(float(options.max_epsilon)), round_up(largest, options.digits)
    print(f"renyi epsilon: {number} is above --max-epsilon {limit}", file=sys.stderr)
    return EXCEEDED


FILE_ONLY = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}
MOST_RUNS = 7  # the most runs that a figure can distinguish


def check_figure(options: argparse.Namespace, count: int) -> None:
    """Refuse a figure of ``count`` runs that could not be made, before anything is computed."""
    if options.plot is None and not options.show:
        return
    if count > MOST_RUNS:
        raise UsageError(f"a figure must have at most {MOST_RUNS} runs, got {count}")
    from renyi.plot import FORMATS

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


@contextmanager
def sheet(options: argparse.Namespace) -> Iterator[Any]:
    """Yield the axes of a figure, then write the figure and open it, as requested."""
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


def figure_written(options: argparse.Namespace) -> bool:
    """Print where a figure was written; return True if a figure replaces the table."""
    if options.plot:
        print(f"figure written to {options.plot}")
    return bool(options.plot or options.show)
