"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from renyi.report._report import Report
    from renyi.report._svg import Figure

__all__ = ["written"]

ROWS = 7  # of a figure as a table


def written(report: Report) -> str:
    """Return the report as text."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    from renyi import __version__

    yield f"# {report.title}\n"
    yield f"**{report.headline}**\n"
    for section in report.sections:
        yield f"## {section.heading}\n"
        for paragraph in section.paragraphs:
            yield f"{paragraph}\n"
        if section.table:
            yield from _table(section.table)
        for figure in section.figures:
            yield from _sampled(figure)
    yield f"Computed with renyi {__version__}; every bound is certified."


def _table(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if number == 0:
            yield f"|{'---|' * len(row)}"
    yield ""


def _sampled(figure: Figure) -> Iterator[str]:
    """Yield some points of a figure."""
    yield f"{figure.title}:\n"
    first = figure.lines[0]
    step = max(1, (len(first.x) - 1) // (ROWS - 1))
    alike = [line for line in figure.lines if list(line.x) == list(first.x)]
    head = (figure.x_name, *(f"{figure.y_name}, {line.name}" for line in alike))
    places = range(0, len(first.x), step)
    rows = [(f"{first.x[i]:.6g}", *(figure.rounded(line.y[i]) for line in alike)) for i in places]
    yield from _table((head, *rows))
