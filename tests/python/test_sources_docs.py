"""Every item of the documents names public functions, and tests that use them."""

import importlib
import re
from pathlib import Path

import pytest

from renyi.theory.last_iterate import epochs_mu

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")


def found(name):
    module, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), last) or importlib.import_module(name)
    except ImportError:
        return False


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(renyi\.[\w.]+)`", TEXT))))
def test_functions(name):
    assert found(name)


ITEMS = [
    line.strip("| ").split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| item")
]


def test_there_are_items():
    assert len(ITEMS) > 55


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item[0][:40])
def test_items(item):
    what, here, tests = item
    names = re.findall(r"`renyi\.(?:\w+\.)*(\w+)`", here)
    assert not any(name.startswith("_") for name in names), what
    files = re.findall(r"`(test_\w+\.py)`", tests)
    assert files, what
    text = "".join((ROOT / "tests" / "python" / name).read_text("utf-8") for name in files)
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_files():
    assert all((ROOT / path).is_file() for path in re.findall(r"`(examples/\w+\.py)`", TEXT))
    pages = list((ROOT / "docs").glob("*.md"))
    links = {
        (page, link)
        for page in pages
        for link in re.findall(r"\]\((\w+\.\w+)\)", page.read_text("utf-8"))
    }
    assert [link for page, link in links if not (page.parent / link).is_file()] == []


def test_the_domain_alone_hides_from_forty_steps_on():
    inside = [epochs_mu(0.1, 1.0, 1.0, epochs=n, diameter=1.0) for n in (30, 50)]
    assert inside[0].mu == inside[0].composed
    assert inside[1].mu ** 2 == pytest.approx(0.4, rel=1e-9)
