"""A report as one HTML page, readable in black and white: no network, no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from renyi.report._report import Report

__all__ = ["written"]

STYLE = """
body { font: 16px/1.5 Georgia, serif; color: #000; background: #fff; max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2 { font-family: sans-serif; line-height: 1.2; }
h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #999; }
.headline { font: bold 1.5rem/1.3 sans-serif; border: 2px solid #000; padding: 0.6rem 1rem; }
.warnings { border-left: 6px solid #000; background: #f3f3f3; padding: 0.2rem 1rem; }
table { border-collapse: collapse; font: 0.9rem sans-serif; }
th, td { text-align: left; padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid #bbb; }
pre { background: #f3f3f3; padding: 0.6rem 1rem; overflow-x: auto; font-size: 0.85rem; }
figure { margin: 1rem 0; } figcaption { font: 0.85rem sans-serif; }
svg { width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } figure, table { break-inside: avoid; } }
"""


def written(report: Report) -> str:
    """Return the page."""
    body = "\n".join(_body(report))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _body(report: Report) -> Iterator[str]:
    from renyi import __version__

    yield f"<h1>{escape(report.title)}</h1>"
    yield f'<p class="headline">{escape(report.headline)}</p>'
    for section in report.sections:
        kind = ' class="warnings"' if section.heading == "Warnings" else ""
        yield f"<section{kind}>\n<h2>{escape(section.heading)}</h2>"
        for paragraph in section.paragraphs:
            yield _paragraph(paragraph)
        if section.table:
            yield from _table(section.table)
        for figure in section.figures:
            caption = f"<figcaption>{escape(figure.title)}</figcaption>"
            yield f"<figure>\n{figure.to_svg()}\n{caption}\n</figure>"
        yield "</section>"
    yield f"<p>Computed with renyi {__version__}; every bound is certified.</p>"


def _paragraph(text: str) -> str:
    if text.startswith("```"):
        return f"<pre>{escape(text.strip('`').strip())}</pre>"
    return f"<p>{escape(text)}</p>"


def _table(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    yield "<table>"
    for number, row in enumerate(rows):
        cell = "td" if number else "th"
        yield "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in row) + "</tr>"
    yield "</table>"
