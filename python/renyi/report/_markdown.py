"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from renyi._validation import decimal_of, visible

if TYPE_CHECKING:
    from renyi.report._report import Facts, Report
    from renyi.report._svg import Figure

__all__ = ["written"]

ROWS = 7  # of a figure as a table
MARKS = re.compile(r"[\\`*_\[\]<>|#~&]")


def written(report: Report) -> str:
    """Return the report as text."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    from renyi import __version__

    yield f"# {_text(report.title)}\n"
    yield f"**{_text(report.headline)}**\n"
    yield from _facts(report.facts)
    for section in report.sections:
        yield f"## {_text(section.heading)}\n"
        for paragraph in section.paragraphs:
            yield f"{_text(paragraph)}\n"
        if section.code:
            yield from _fenced(section.code)
        yield from _facts(section.facts)
        if section.table:
            yield from _table(section.table)
        for figure in section.figures:
            yield from _sampled(figure)
    yield f"Computed with renyi {__version__}; every bound is certified."


def _text(text: str) -> str:
    """Return text of anybody as text that marks nothing up."""
    return MARKS.sub(r"\\\g<0>", visible(text))


def _fenced(code: str) -> Iterator[str]:
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    yield ticks
    yield from map(visible, code.split("\n"))
    yield f"{ticks}\n"


def _facts(facts: Facts) -> Iterator[str]:
    for name, sentences in facts:
        for sentence in sentences:
            yield f"* {_text(name)}: {_text(sentence)}"
    if facts:
        yield ""


def _table(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"| {' | '.join(map(_text, row))} |"
        if number == 0:
            yield f"|{'---|' * len(row)}"
    yield ""


def _sampled(figure: Figure) -> Iterator[str]:
    """Yield some points of a figure."""
    yield f"{_text(figure.title)}:\n"
    first = figure.lines[0]
    step = max(1, (len(first.x) - 1) // (ROWS - 1))
    alike = [line for line in figure.lines if list(line.x) == list(first.x)]
    head = (figure.x_name, *(f"{figure.y_name}, {line.name}" for line in alike))
    rows = [
        (decimal_of(first.x[i]), *(figure.rounded(line.y[i]) for line in alike))
        for i in range(0, len(first.x), step)
    ]
    yield from _table((head, *rows))
