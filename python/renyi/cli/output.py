"""Numbers and tables on the screen, rounded to the safe side, and limits of what they may be."""

from __future__ import annotations

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
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any, TypeVar

from renyi import _progress
from renyi._progress import Line
from renyi._validation import visible

__all__ = ["EXCEEDED", "within_limit"]


# Numbers and tables on the screen: directed decimal rounding, aligned tables, CSV and JSON.


MEASURE = 88  # columns of text
PATIENCE = 0.5  # seconds without a progress bar


Record = Mapping[str, Any]


T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """One column of a table: the key of the record, the heading, how a value is shown, where."""

    key: str
    heading: str
    show: Callable[[Any], str]
    left: bool = False  # text reads better from the left


def round_up(value: float, digits: int) -> str:
    """Return the decimal of ``digits`` significant digits that is not below ``value``.

    Examples
    --------
    >>> round_up(2.08501, 4), round_up(3.15e-7, 2), round_up(0.0, 4)
    ('2.086', '3.2e-7', '0')
    """
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int) -> str:
    """Return the decimal of ``digits`` significant digits that is not above ``value``."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value) or value == 0.0:
        return plain(value)
    exact = Decimal(value)
    for _ in range(2):  # twice: 9.9996 becomes 10.000, which has a digit too many
        exact = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding)
    if not 1e-3 <= abs(value) < 1e7:
        return f"{exact:e}".replace("e+", "e")
    return f"{exact:f}"


def round_double(value: float, digits: int, rounding: Callable[[float, int], str]) -> str:
    """Round a number that is read back as a double, in the direction of ``rounding``.

    Unlike ``round_up`` alone, this leaves 0.01 alone, whose double is a little above one hundredth.

    Examples
    --------
    >>> round_up(0.01, 4), round_double(0.01, 4, round_up), round_double(0.123456, 4, round_up)
    ('0.01001', '0.01000', '0.1235')
    """
    nearest = _rounded(value, digits, ROUND_HALF_EVEN)
    return nearest if float(nearest) == value else rounding(value, digits)


def plain(value: float | int | None) -> str:
    """Return the shortest text that reads back as the same number.

    Examples
    --------
    >>> plain(1e-5), plain(0.004), plain(2.0), plain(15000)
    ('1e-5', '0.004', '2', '15000')
    """
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def grouped(value: int) -> str:
    """Return a count with a comma between thousands."""
    return f"{value:,}"


def progress(items: Sequence[T], unit: str = "row") -> Iterable[T]:
    """Return the items, and show on a terminal how far they are if they take long."""
    return items if len(items) < 2 else _progress.progress(items, unit, PATIENCE)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a line on stderr while something may take seconds, if that is a terminal."""
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
    """All fields of the records, numbers as full doubles."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(records[0].keys())
    for record in records:
        writer.writerow("" if value is None else _cell(value) for value in record.values())


def print_json(document: Record) -> None:
    """JSON with full doubles; an infinite or undefined number becomes the string "inf" or "nan"."""
    print(json.dumps(_json_value(document), indent=2, ensure_ascii=True))


def _width() -> int:
    """Return how wide text may be: the terminal, or COLUMNS, up to what reads well."""
    return min(MEASURE, max(40, shutil.get_terminal_size((MEASURE, 24)).columns))


def print_paragraph(text: str) -> None:
    """Print a paragraph wrapped to the usual terminal."""
    print(textwrap.fill(text, _width(), break_long_words=False, break_on_hyphens=False))


def print_facts(facts: Mapping[str, str]) -> None:
    """``name  text`` lines, the text wrapped under itself."""
    width = max(map(len, facts)) + 4
    for name, text in facts.items():
        print(
            textwrap.fill(
                text,
                _width(),
                initial_indent=f"  {name}".ljust(width),
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


# Limits and budgets: the exit code of their own.


EXCEEDED = 3


"""Where a budget or a limit is exceeded."""


def within_limit(options: argparse.Namespace, epsilons: Sequence[float]) -> int:
    """Return 0 if ``--max-epsilon`` is kept or not given; else say so, for the exit code."""
    largest = max(epsilons)
    if options.max_epsilon is None or largest <= options.max_epsilon:
        return 0
    limit, number = plain(float(options.max_epsilon)), round_up(largest, options.digits)
    print(f"renyi epsilon: {number} is above --max-epsilon {limit}", file=sys.stderr)
    return EXCEEDED
