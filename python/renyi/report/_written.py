"""A report as Markdown, or as one HTML page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from renyi._validation import decimal_of, visible
from renyi.plot import draw_lines

if TYPE_CHECKING:
    from renyi.report._numbers import Figure
    from renyi.report._report import Facts, Report

ROWS = 7  # the rows of a figure as a table
MARKS = re.compile(r"[\\`*_\[\]<>|#~&]")
Rows = tuple[tuple[str, ...], ...]

STYLE = """
* { box-sizing: border-box; }
body { font: 1rem/1.5 Georgia, serif; color: #000; background: #fff; max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1, h2 { font-family: sans-serif; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.8rem; border-bottom: 1px solid #999; }
.headline { font: bold 1.4rem/1.3 sans-serif; border: 2px solid #000; padding: 0.6rem 1rem; }
.warnings { border-left: 6px solid #000; background: #f3f3f3; padding: 0.2rem 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1rem; }
dt { font: bold 0.9rem/1.6 sans-serif; } dd { margin: 0; } dd p { margin: 0 0 0.4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font: 0.9rem/1.4 sans-serif; overflow-wrap: normal; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.9rem 0.25rem 0;
  border-bottom: 1px solid #bbb; }
td { overflow-wrap: anywhere; } td:not(:first-child) { min-width: 4.8em; }
pre { background: #f3f3f3; padding: 0.6rem 1rem; font-size: 0.85rem; white-space: pre-wrap; }
figure { margin: 1rem 0; } figcaption { font: 0.85rem sans-serif; }
svg { display: block; width: 100%; max-width: 35rem; height: auto; }
footer { margin-top: 2rem; border-top: 1px solid #999; font: 0.85rem sans-serif; }
@media (max-width: 30rem) { body { margin: 1rem auto; } .headline { font-size: 1.2rem; }
  dl { display: block; } dd { margin-bottom: 0.6rem; } table { font-size: 0.8rem; } }
@media print { body { margin: 0; max-width: none; } figure, table { break-inside: avoid; } }
"""


def to_markdown(report: Report) -> str:
    """Return a report as Markdown; some points of a figure are a table."""
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
            yield f"{_text(figure.title)}:\n"
            yield from _table(_points(figure))
    yield f"Computed with renyi {__version__}; every bound is certified."


def _text(text: str) -> str:
    """Return untrusted text with all markup escaped."""
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


def _points(figure: Figure) -> Rows:
    """Return some points of a figure as the rows of a table."""
    first = figure.lines[0]
    step = max(1, (len(first.x) - 1) // (ROWS - 1))
    alike = [line for line in figure.lines if list(line.x) == list(first.x)]
    head = (figure.x_name, *(f"{figure.y_name}, {line.label}" for line in alike))
    return (
        head,
        *(
            (decimal_of(float(first.x[i])), *(figure.rounded(float(line.y[i])) for line in alike))
            for i in range(0, len(first.x), step)
        ),
    )


def to_html(report: Report) -> str:
    """Return a report as one page, readable in black and white: no network, no scripts."""
    body = "\n".join(_page(report))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escaped(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _page(report: Report) -> Iterator[str]:
    from renyi import __version__

    yield f"<h1>{_escaped(report.title)}</h1>"
    yield f'<p class="headline">{_escaped(report.headline)}</p>'
    yield from _listed(report.facts)
    for section in report.sections:
        kind = ' class="warnings"' if section.heading == "Warnings" else ""
        yield f"<section{kind}>\n<h2>{_escaped(section.heading)}</h2>"
        for paragraph in section.paragraphs:
            yield f"<p>{_escaped(paragraph)}</p>"
        if section.code:
            lines = "\n".join(map(_text, section.code.split("\n")))
            yield f"<pre>{lines}</pre>"
        yield from _listed(section.facts)
        if section.table:
            yield from _rows(section.table)
        for figure in section.figures:
            yield "<figure>"
            yield from (_drawn(figure),) if find_spec("matplotlib") else _rows(_points(figure))
            yield f"<figcaption>{_escaped(figure.title)}</figcaption>\n</figure>"
        yield "</section>"
    yield f"<footer><p>Computed with renyi {__version__}; every bound is certified.</p></footer>"


def _escaped(text: str) -> str:
    """Return untrusted text escaped for the page."""
    return escape(visible(text))


def _listed(facts: Facts) -> Iterator[str]:
    if facts:
        yield "<dl>"
        for name, sentences in facts:
            told = "".join(f"<p>{_escaped(sentence)}</p>" for sentence in sentences)
            yield f"<dt>{_escaped(name)}</dt><dd>{told}</dd>"
        yield "</dl>"


def _rows(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    yield '<div class="wide"><table>'
    for number, row in enumerate(rows):
        cell = "td" if number else "th"
        yield "<tr>" + "".join(f"<{cell}>{_escaped(text)}</{cell}>" for text in row) + "</tr>"
    yield "</table></div>"


def _drawn(figure: Figure) -> str:
    """Return a figure as an element of HTML, the same bytes each time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Sheet

    sheet, file = Sheet(figsize=(6.0, 3.6), layout="constrained"), io.StringIO()
    axes = draw_lines(figure.lines, sheet.add_subplot(), log_y=figure.log_y)
    axes.set(xlabel=figure.x_name, ylabel=figure.y_name)
    if figure.mark is not None:
        x, y, words = figure.mark
        axes.plot(x, y, "o", color="black", markerfacecolor="white", markersize=6)
        axes.margins(x=0.0, y=0.12)  # margins for the label, which lines do not cross
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        offset: Any = {"xytext": (8, 6), "textcoords": "offset points"}
        axes.annotate(words, (x, y), **offset, fontsize="small", bbox=ground)
    with rc_context({"svg.hashsalt": figure.title, "svg.fonttype": "none"}):
        sheet.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    # In HTML a figure needs no head, metadata or size, and only the ids that it refers to.
    box = re.search(r'viewBox="[^"]*"', file.getvalue())
    inside = re.sub(r"<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    inside = re.sub(r' id="[a-z0-9]+_\d+"', "", inside[inside.index("<defs") :])
    return f'<svg {box[0] if box else ""} role="img" aria-label="{escape(figure.title)}">\n{inside}'
