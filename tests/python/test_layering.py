"""Dependencies point down: bindings, curve, transform, mechanism, pair and loss, special, fp."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "renyi"
PACKAGE = ROOT / "python" / "renyi"

FLOOR = {
    "fp": 0,
    "special": 1,
    "loss": 2,
    "pair": 2,
    "mechanism": 3,
    "transform": 4,
    "curve": 5,
    "iteration": 5,
    "sgd": 5,
    "capi": 6,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Where a user's first computation starts: what these load stays light and free of the reference.
FAST_PATH = ["__init__", "special", "closed_form", "mechanisms", "accountants", "calibration"]
HEAVY = {"mpmath", "tqdm", "argparse", "matplotlib", "renyi.reference", "renyi.cli", "renyi.verify"}

# The reference is an independent witness: of the package it may only import itself.
REFERENCE = "renyi.reference"


def include_breaches(folder, text):
    """What a source file of ``src/renyi/<folder>`` includes and must not."""
    for bracket, target in INCLUDE.findall(text):
        parts = target.split("/")
        if bracket == "<" and ("Python.h" in target or parts[0] in {"numpy", "renyi"}):
            yield f"<{target}>"
        elif bracket == '"':
            if parts[0] != "renyi" or len(parts) < 3 or parts[1] not in FLOOR:
                yield f'"{target}" is not of the form "renyi/<floor>/..."'
            elif parts[1] != folder and FLOOR[parts[1]] >= FLOOR[folder]:
                yield f'"{target}" is above or beside {folder}'


def module_file(name):
    path = PACKAGE.joinpath(*name.split(".")[1:])
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def imports_at_load(tree):
    """Modules imported when the file is executed: not in functions, not under TYPE_CHECKING."""
    pending = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        yield from imports_of(node)
        pending.extend(ast.iter_child_nodes(node))


def imports_of(node):
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative import: say renyi.<module>"
        yield node.module
        if module_file(node.module) is not None:
            submodules = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in submodules if module_file(name) is not None)


def is_in(name, package):
    return name == package or name.startswith(package + ".")


def reached_from(start):
    """Every module that loading ``start`` loads, as far as it is written in Python here."""
    seen, pending = set(), [start]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        path = module_file(name) if is_in(name, "renyi") else None
        if path is not None:
            pending.extend(imports_at_load(ast.parse(path.read_text())))
    return seen


CORE_FILES = sorted(p for p in CORE.rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".inc"})


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda p: str(p.relative_to(CORE)))
def test_core_includes_point_down(path):
    folder = path.relative_to(CORE).parts[0]
    assert folder in FLOOR
    assert not list(include_breaches(folder, path.read_text()))


@pytest.mark.parametrize("name", FAST_PATH)
def test_fast_path_is_light(name):
    start = "renyi" if name == "__init__" else f"renyi.{name}"
    assert module_file(start) is not None
    reached = reached_from(start)
    assert not {m for m in reached if any(is_in(m, heavy) for heavy in HEAVY)}


def test_reference_is_independent_of_the_engine():
    start = module_file(REFERENCE)
    files = sorted(start.parent.rglob("*.py")) if start.name == "__init__.py" else [start]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            for name in imports_of(node):
                assert not is_in(name, "renyi") or is_in(name, REFERENCE), f"{path.name}: {name}"
                assert not is_in(name, "numpy"), f"{path.name}: {name}"


def test_only_the_bindings_know_numpy_or_python():
    for path in (ROOT / "src").rglob("*"):
        if path.suffix in {".pyx", ".pxd", ".pxi"}:
            assert path.is_relative_to(ROOT / "src" / "bindings")


@pytest.mark.parametrize(
    ("folder", "line", "breach"),
    [
        ("loss", '#include "renyi/special/elementary.hpp"', False),
        ("loss", '#include "renyi/loss/gaussian.hpp"', False),
        ("loss", "#include <cmath>", False),
        ("loss", '#include "renyi/curve/conversion.hpp"', True),
        ("fp", '#include "renyi/special/elementary.hpp"', True),
        ("curve", '#include "renyi/sgd/noise.hpp"', True),
        ("curve", '#include "renyi/loss/gaussian.hpp"', False),
        ("transform", '#include "renyi/pair/pair.hpp"', False),
        ("pair", '#include "renyi/transform/lattice/lattice.hpp"', True),
        ("pair", '#include "renyi/loss/gaussian.hpp"', True),
        ("mechanism", '#include "renyi/transform/moment.hpp"', True),
        ("fp", "#include <Python.h>", True),
        ("fp", "#include <numpy/arrayobject.h>", True),
        ("fp", '#  include "certified.hpp"', True),
        ("fp", "#include <renyi/fp/certified.hpp>", True),
    ],
)
def test_the_scan_sees_a_breach(folder, line, breach):
    assert bool(list(include_breaches(folder, line))) is breach


def test_the_scan_follows_imports_at_load_only():
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import mpmath
else:
    import numpy
class C:
    import json
def f():
    import tqdm
try:
    import math
except ImportError:
    import cmath
"""
    found = set(imports_at_load(ast.parse(source)))
    assert found == {"typing", "numpy", "json", "math", "cmath"}
