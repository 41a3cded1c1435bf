"""Both sides of the migration page are run, as far as the other libraries are installed."""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
PEERS = {  # section: the package of their blocks
    "dp_accounting": "dp_accounting",
    "Opacus": "opacus",
    "TensorFlow Privacy": "tensorflow_privacy",
    "JAX-Privacy": "jax_privacy",
    "prv_accountant": "prv_accountant",
    "autodp": "autodp",
    "riskcal": "riskcal",
}
BLOCK = re.compile(r"^(Theirs|Ours[^\n]*):\n\n```python\n(.*?)```", re.DOTALL | re.MULTILINE)


def blocks():
    """Yield name, section and code of every block."""
    for section in PAGE.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        for i, (side, code) in enumerate(BLOCK.findall(section)):
            yield pytest.param(title, side, code, id=f"{title}-{i}-{side.split(';')[0]}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("title", "side", "code"), list(blocks()))
def test_block(title, side, code, capsys):
    for package in PEERS.values():
        if not re.search(rf"(?:import|from) {package}\b", code):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pytest.importorskip(package, reason=f"{package} is not installed", exc_type=ImportError)
    example = doctest.DocTestParser().get_doctest(code, {}, title, "docs/migration.md", 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0, capsys.readouterr().out


def test_both_sides_are_there():
    sides = {title: set() for title in PEERS}
    for block in blocks():
        title, side, _ = block.values
        sides[title].add(side.split(",")[0])
    assert all(found == {"Theirs", "Ours"} for found in sides.values())
