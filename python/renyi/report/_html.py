"""A report as one HTML page, readable in black and white: no network, no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from renyi._validation import visible

if TYPE_CHECKING:
    from renyi.report._report import Facts, Report

__all__ = ["written"]

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


def written(report: Report) -> str:
    """Return the page."""
    body = "\n".join(_body(report))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _body(report: Report) -> Iterator[str]:
    from renyi import __version__

    yield f"<h1>{_text(report.title)}</h1>"
    yield f'<p class="headline">{_text(report.headline)}</p>'
    yield from _facts(report.facts)
    for section in report.sections:
        kind = ' class="warnings"' if section.heading == "Warnings" else ""
        yield f"<section{kind}>\n<h2>{_text(section.heading)}</h2>"
        for paragraph in section.paragraphs:
            yield f"<p>{_text(paragraph)}</p>"
        if section.code:
            lines = "\n".join(map(_text, section.code.split("\n")))
            yield f"<pre>{lines}</pre>"
        yield from _facts(section.facts)
        if section.table:
            yield from _table(section.table)
        for figure in section.figures:
            caption = f"<figcaption>{_text(figure.title)}</figcaption>"
            yield f"<figure>\n{figure.to_svg()}\n{caption}\n</figure>"
        yield "</section>"
    yield f"<footer><p>Computed with renyi {__version__}; every bound is certified.</p></footer>"


def _text(text: str) -> str:
    """Return text of anybody as text of the page."""
    return escape(visible(text))


def _facts(facts: Facts) -> Iterator[str]:
    if facts:
        yield "<dl>"
        for name, sentences in facts:
            told = "".join(f"<p>{_text(sentence)}</p>" for sentence in sentences)
            yield f"<dt>{_text(name)}</dt><dd>{told}</dd>"
        yield "</dl>"


def _table(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    yield '<div class="wide"><table>'
    for number, row in enumerate(rows):
        cell = "td" if number else "th"
        yield "<tr>" + "".join(f"<{cell}>{_text(text)}</{cell}>" for text in row) + "</tr>"
    yield "</table></div>"
