"""Checks the built site: formulas, members that are inherited, defaults, commands.

mkdocs build --strict --site-dir FOLDER && python .ci/check_site.py FOLDER
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from pathlib import Path

from renyi.cli.commands import build_parser

NO_TEXT = re.compile(r"<(pre|code|script|style|math)\b.*?</\1>", re.DOTALL)
RAW = re.compile(r"\\[a-zA-Z]{2,}|:[a-z]+:`|\.\. [a-z]+::|wzxhzdk")
MEMBERS = {
    "accountants": ["PLDAccountant.compose", "RDPAccountant.get_epsilon_bounds"],
    "filters": ["PrivacyFilter.spend", "PrivacyOdometer.spend"],
    "matrix": ["BLT.sensitivity", "Tree.noise"],
    "mechanisms": ["Gaussian.to_json", "Laplace.describe"],
    "samplers": ["PoissonSampler.sample"],
}
DEFAULTS = {("sgd", "Adam"): {"beta1": "0.9", "beta2": "0.999"}}


def text_of(page: str) -> str:
    """Return what a reader sees, without code and formulas."""
    return html.unescape(re.sub(r"<[^>]+>", "", NO_TEXT.sub("", page)))


def faults(site: Path) -> list[str]:
    """Return what is wrong, a line each."""
    found = []
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        quoted = re.search(r"(<blockquote>\s*){3}", page)
        found += [f"{path}: an example is shown as a quotation"] if quoted else []
        found += [f"{path}: raw {match[0]!r}" for match in RAW.finditer(text_of(page))]
    for name, members in MEMBERS.items():
        page = pages[site / "reference" / name / "index.html"]
        for member in members:
            if f'id="renyi.{name}.{member}"' not in page:
                found.append(f"{name}: no {member}")
    for (name, owner), defaults in DEFAULTS.items():
        page = pages[site / "reference" / name / "index.html"].split(f'id="renyi.{name}.{owner}"')
        shown = " ".join(text_of(re.sub(r"</?code>", "", page[1])).split())
        for parameter, default in defaults.items():
            if not re.search(rf"\b{parameter} \(float, default: {default} \)", shown):
                found.append(f"{owner}: {parameter} without its default {default}")
    page = pages[site / "commands" / "index.html"]
    found += [f"commands: no {name}" for name in commands() if f'id="renyi-{name}"' not in page]
    return found


def commands() -> list[str]:
    """Return the names of the commands."""
    kind = argparse._SubParsersAction
    return [name for a in build_parser()._actions if isinstance(a, kind) for name in a.choices]


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print("\n".join(lines) or "the site is sound")
    sys.exit(bool(lines))
