"""Hooks of mkdocs: formulas, examples, defaults of parameters by name, and the page of commands.

Formulas of docstrings are written as for Sphinx, ``:math:`` and ``.. math::``; browsers read
MathML, so the site needs no script and no network for them.
"""

from __future__ import annotations

import argparse
import html
import re
from typing import Any

import griffe
from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

COMMANDS = "<!-- commands -->"
DISPLAYED = re.compile(r"^( *)\.\. math::(.*)$")


class Formulas(Extension):
    """Formulas in the text, and on lines of their own."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: D102
        md.preprocessors.register(Displayed(md), "displayed", 20)  # after fenced blocks
        md.preprocessors.register(Prompted(md), "prompted", 19)
        md.inlinePatterns.register(Inline(r":math:`([^`]+)`", md), "formula", 195)  # before code


class Displayed(Preprocessor):
    """Replaces ``.. math::`` and what is indented below it."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines with a place for each formula."""
        result: list[str] = []
        while lines:
            found = DISPLAYED.match(lines[0])
            if found is None:
                result.append(lines[0])
                lines = lines[1:]
                continue
            depth, formula = len(found[1]), [found[2]]
            lines = lines[1:]
            while lines and (not lines[0].strip() or _indent(lines[0]) > depth):
                formula.append(lines[0].strip())
                lines = lines[1:]
            stored = self.md.htmlStash.store(convert(" ".join(formula).strip(), display="block"))
            result += ["", found[1] + stored, ""]
        return result


class Prompted(Preprocessor):
    """Shows examples as code that are not in a section of their own; ``>>>`` would quote."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines with a place for each example."""
        result: list[str] = []
        example: list[str] = []
        depth = 0
        for line in [*lines, ""]:
            if line.lstrip().startswith(">>> ") or (example and line.strip()):
                depth = depth if example else _indent(line)
                example.append(line[depth:])
                continue
            if example:
                text = html.escape("\n".join(example))
                block = f'<div class="highlight"><pre><code>{text}</code></pre></div>'
                result += ["", self.md.htmlStash.store(block), ""]
                example = []
            result.append(line)
        return result


class Inline(InlineProcessor):
    """Replaces a formula within a line."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        """Return a place for the formula."""
        return self.md.htmlStash.store(convert(m[1])), m.start(0), m.end(0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class Shared(griffe.Extension):
    """Gives each of several arguments that share a description its own row, type and default."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through the whole package."""
        pending: list[Any] = [pkg]
        while pending:
            thing = pending.pop()
            pending += [member for member in thing.members.values() if not member.is_alias]
            if thing.docstring is None:
                continue
            thing.docstring.parser = griffe.Parser.google
            thing.docstring.parser_options = {
                "returns_multiple_items": False,
                "warn_unknown_params": False,
                "warn_missing_types": False,
            }
            for section in thing.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    section.value = [
                        one for shared in section.value for one in _each(shared, thing.parameters)
                    ]


def _each(shared: griffe.DocstringParameter, known: griffe.Parameters) -> list[Any]:
    found = []
    for name in shared.name.split(", "):
        annotation, value = shared.annotation, None
        if name in known:
            annotation, value = annotation or known[name].annotation, known[name].default
        same = {"description": shared.description, "annotation": annotation, "value": value}
        found.append(griffe.DocstringParameter(name, **same))
    return found


def on_config(config: Any) -> Any:
    """Add the formulas to every page."""
    config.markdown_extensions.append(Formulas())
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the help of every command where a page asks for it."""
    return markdown.replace(COMMANDS, commands()) if COMMANDS in markdown else markdown


def commands() -> str:
    """Return an index of the commands, and the help of each, from the parser itself."""
    from renyi.cli.commands import build_parser

    chosen = _subcommands(build_parser())
    table = ["| command | |", "|---|---|"]
    parts = []
    for action in chosen._choices_actions:
        name, parser = action.dest, chosen.choices[action.dest]
        table.append(f"| [`renyi {name}`](#renyi-{name}) | {action.help} |")
        parts.append(f"## renyi {name}\n\n{_help(parser)}")
        inner = _subcommands(parser)
        for each in inner.choices.values() if inner else ():
            parts.append(f"### {each.prog}\n\n{_help(each)}")
    return "\n\n".join(["\n".join(table), *parts])


def _subcommands(parser: argparse.ArgumentParser) -> Any:
    kind = argparse._SubParsersAction
    return next((action for action in parser._actions if isinstance(action, kind)), None)


def _help(parser: argparse.ArgumentParser) -> str:
    return f"```console\n$ {parser.prog} --help\n{parser.format_help().strip()}\n```"
