"""Every item of the documents works, by a test that uses its functions, or says why not."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

from renyi.theory.last_iterate import epochs_mu

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "python"
TEXT = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")


def found(name):
    module, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), last) or importlib.import_module(name)
    except ImportError:
        return False


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(renyi\.[\w.]+)`", TEXT))))
def test_functions(name):
    assert found(name)
    assert not any(part.startswith("_") for part in name.split("."))


ITEMS = [
    line.strip("| ").split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| item")
]


def test_there_are_items():
    assert len(ITEMS) > 75
    assert all(len(item) == 4 for item in ITEMS)
    assert len({item[0] for item in ITEMS}) == len(ITEMS)


@functools.cache
def parts(file):
    """Return the source of each name at the top of a test file, and the names that it uses."""
    text = (TESTS / file).read_text("utf-8")
    known = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names, first = [node.name], min([node, *node.decorator_list], key=lambda n: n.lineno)
        elif isinstance(node, ast.Assign):
            names, first = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)], node
        else:
            continue
        source = "\n".join(text.splitlines()[first.lineno - 1 : node.end_lineno])
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for name in names:
            known.setdefault(name, []).append((source, used))
    return known


def source_of(test):
    """Return a test with all that it uses of its file; "" if there is no such test."""
    file, _, name = test.partition("::")
    known, wanted, sources = parts(file), [name], {}
    while wanted:
        one = wanted.pop()
        if one in known and one not in sources:
            sources[one] = "\n".join(source for source, _ in known[one])
            wanted += [used for _, names in known[one] for used in names]
    return "\n".join(sources.values())


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item[0][:40])
def test_items(item):
    what, state, here, tests = item
    assert state in ("works", "part", "out of scope"), what
    named = re.findall(r"`(test_\w+\.py::test_\w+)`", tests)
    assert state == "out of scope" or named, what
    assert state == "works" or "because" in here or ":" in here, what  # the reason
    text = ""
    for test in named:
        assert source_of(test), test
        text += source_of(test)
    names = re.findall(r"`renyi\.(?:\w+\.)*(\w+)`", here)
    names += re.findall(r"`examples[./](\w+?)(?:\.py)?`", here)
    if state != "out of scope":
        assert names, what
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


def test_every_entry_of_the_errata_runs():
    """test_readme.py runs the lines; a number with a decimal point stands in one of them."""
    entries = re.split(r"\n(?=\*\*)", ERRATA)[1:]
    assert len(entries) > 20
    assert [entry[:60] for entry in entries if ">>>" not in entry] == []
    code = "\n".join(re.findall(r"```python\n(.*?)```", ERRATA, re.DOTALL)).replace("e-0", "e-")
    prose = re.sub(r"```.*?```|\([\d., –]+\)|`.*?`", "", ERRATA, flags=re.DOTALL)
    numbers = set(re.findall(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?", prose))
    assert sorted(number for number in numbers if number not in code) == []


def test_the_domain_alone_hides_from_forty_steps_on():
    inside = [epochs_mu(0.1, 1.0, 1.0, epochs=n, diameter=1.0) for n in (30, 50)]
    assert inside[0].mu == inside[0].composed
    assert inside[1].mu ** 2 == pytest.approx(0.4, rel=1e-9)
