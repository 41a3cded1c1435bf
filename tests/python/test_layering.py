"""Dependencies point down, in C++ and in Python, and no package takes what another keeps."""

import ast
import functools
import re
import sys
from pathlib import Path

import pytest
from each import each

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "renyi"
PACKAGE = ROOT / "python" / "renyi"

FLOOR = {
    "fp": 0,
    "special": 1,
    "loss": 2,
    "pair": 3,
    "transform": 4,
    "curve": 5,
    "iteration": 5,
    "sgd": 5,
    "matrix": 6,
    "capi": 6,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Where a user's first computation starts: what these load stays light and free of the reference.
FAST_PATH = ["__init__", "special", "pairs", "mechanisms", "accountants", "calibration", "sgd"]
HEAVY = {"mpmath", "tqdm", "argparse", "matplotlib", "renyi.reference", "renyi.cli", "renyi.verify"}

# Packages and modules of renyi, lowest first: each may use those below it, none beside it.
FLOORS = (
    {"_adjacency", "_build", "_progress", "_strict_json", "check"},
    {"_build_info", "_search", "_states", "_validation"},
    {"_arrays", "_rounding", "cython_special", "special", "pairs"},
    {"noise"},
    {"tradeoff", "mechanisms"},
    {"accountants"},
    {"calibration", "filters", "plot"},
    {"ledger", "matrix", "theory"},
    {"samplers"},
    {"sgd", "release", "report"},
    {"audit", "reference"},
    {"verify", "compat"},
    {"cli"},
    {"__main__"},
)
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}

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


# House rules of the numerics kit (fp/certified.hpp, <numbers>), for the folders that keep them.
KIT_FOLDERS = ("loss", "pair", "transform", "curve", "iteration", "matrix", "sgd", "capi")
CONSTANT = re.compile(
    r"\b(3\.14159|6\.28318|1\.57079|0\.69314|1\.38629|0x1\.921fb|0x1\.62e42"
    r"|0\.3989|2\.5066|0x1\.98845|0x1\.40d93|0x1\.d67f1)",
    re.I,
)
MARGIN = re.compile(r"1\.0 [-+] (0x1p-(4[5-9]|5\d)\b|\d*\.?\d*e-1[2-6]\b)")


def kit_breaches(text):
    """Yield what a C++ source writes by hand that the numerics kit has: constants and margins.

    A float constant of a split argument (``0x1.62e4p-1f``) is none.
    """
    for line in text.splitlines():
        code = code_of(line)
        if CONSTANT.search(code):
            yield f"a constant of <numbers> or fp/certified.hpp by hand: {code.strip()}"
        if MARGIN.search(code):
            yield f"a margin by hand, raised(n) and lowered(n) name the roundings: {code.strip()}"


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


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
            pending.extend(imports_at_load(tree_of(path)))
    return seen


def package_of(name):
    """The first part after ``renyi``; of theory, whose topics do not share, the topic too."""
    parts = name.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] == ["theory"] else 1])


def python_breaches(name, imported):
    """Say what is wrong with what a module of renyi imports, wherever in the file it does."""
    own, other = package_of(name), package_of(imported)
    if own == other or not other:
        return
    # Compiled modules are the border: everyone may use them.
    compiled = module_file(imported) is None and other.split(".")[0] not in LEVEL
    if not compiled and own != "theory":
        mine, theirs = own.split(".")[0], other.split(".")[0]
        below = mine == theirs or LEVEL[theirs] < LEVEL[mine]
        if not below:
            yield f"{imported} is above or beside {name}"
    inner = imported.split(".")[1 + len(other.split(".")) :]
    if any(part.startswith("_") for part in inner):
        yield f"{imported} is private to {other}"


def private(name):
    return name.startswith("_") and not name.startswith("__")


def attributes_of(tree):
    """Return the private names that a file defines, and the private attributes it takes.

    What is taken of ``self`` and ``cls`` is inherited, if it is not the class's own.
    """
    defined, taken = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined.add(node.attr)
        elif isinstance(node, ast.Attribute):
            of_own_class = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not of_own_class:
                taken.add(node.attr)
    return set(filter(private, defined)), set(filter(private, taken))


def attribute_breaches(sources):
    """Yield packages with the private attributes they take of what only others define.

    ``sources``: (package, tree) of every file. Attributes that nobody here defines are those of
    other libraries.
    """
    found = [(package, *attributes_of(tree)) for package, tree in sources]
    owners = {}
    for package, defined, _ in found:
        for name in defined:
            owners.setdefault(name, set()).add(package)
    for package, _, taken in found:
        for name in sorted(taken):
            if package not in owners.get(name, {package}):
                yield f"{package} takes {name} of {', '.join(sorted(owners[name]))}"


def module_name(path):
    parts = ("renyi", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def renyi_imports(path, nodes):
    """What is imported of renyi: modules, or private names of them as ``module._name``."""
    for node in nodes:
        yield from (name for name in imports_of(node) if is_in(name, "renyi"))
        if isinstance(node, ast.ImportFrom) and is_in(node.module, "renyi"):
            for alias in node.names:
                if alias.name.startswith("_") and not alias.name.startswith("__"):
                    yield f"{node.module}.{alias.name}"


PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))
CORE_FILES = sorted(p for p in CORE.rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".inc"})


@each("path", CORE_FILES)
def test_core_includes_point_down(path):
    folder = path.relative_to(CORE).parts[0]
    assert folder in FLOOR
    assert not list(include_breaches(folder, path.read_text()))


@each("path", PYTHON_FILES)
def test_python_imports_point_down_and_take_nothing_private(path):
    name = module_name(path)
    if name == "renyi":  # names everything, and loads it when it is asked for
        return
    nodes = list(ast.walk(tree_of(path)))
    found = [b for imported in renyi_imports(path, nodes) for b in python_breaches(name, imported)]
    assert not found


@pytest.mark.parametrize("folder", KIT_FOLDERS)
def test_constants_and_margins_come_from_the_kit(folder):
    files = [path for path in CORE_FILES if path.relative_to(CORE).parts[0] == folder]
    assert files
    found = {path.name: list(kit_breaches(path.read_text())) for path in files}
    assert not {name: breaches for name, breaches in found.items() if breaches}


# The system's elementary functions in the folders of readings and guarantees, by file: a call takes
# part in a certified end, and the margin of fp/certified.hpp stands beside it, or it only chooses a
# parameter, which affects width or time. Hot loops take special/elementary.hpp.
SYSTEM_CALL = re.compile(
    r"\bstd::(exp2?|expm1|log(?:1p|2|10)?|pow|[lt]gamma|erfc?|sin|cos|tan|asin|acos|atan2?"
    r"|a?sinh|a?cosh|a?tanh|hypot|cbrt|polar|arg)\("
)
WITH_MARGIN = {
    "curve/allocation_curve.cpp": "exp expm1 log log1p",
    "curve/closed_curve.cpp": "exp expm1 log1p",
    "curve/contour.cpp": "exp log log1p",
    "curve/direct_bounds.cpp": "exp expm1 log log1p",
    "curve/included_records.cpp": "exp expm1 log log1p",
    "curve/inclusion_line.cpp": "exp expm1 log log1p polar",
    "curve/rdp_guarantee.cpp": "exp log",
    "curve/saddle.cpp": "exp expm1 log log1p",
    "pair/noise/exponential_loss.cpp": "pow",
    "pair/noise/normal_moment.cpp": "cos exp expm1 log log1p",
    "pair/operations/basic.cpp": "log",
    "pair/pair.cpp": "log1p",
    "pair/tabulated.cpp": "cos exp",
    "transform/group_loss.cpp": "exp log log1p sin",
    "transform/lattice/composed_sides.cpp": "exp expm1 log log1p",
    "transform/lattice/loss_composition.cpp": "expm1 log1p",
    "transform/lattice/spectrum.cpp": "cos sin",
    "transform/lattice/tilted_law.cpp": "exp expm1 log log1p log2 sin",
    "transform/lattice/tilted_law.hpp": "exp expm1 log1p",
    "transform/line_integral.cpp": "log log1p",
    "transform/measure_inversion.cpp": "exp expm1 log log1p polar",
    "transform/measure_inversion.hpp": "atan2 expm1 log log1p sin",
    "transform/node_sum.cpp": "exp",
    "transform/node_sum.hpp": "exp expm1 log",
    "transform/random_allocation.cpp": "cos",
    "transform/sampled_loss.cpp": "exp exp2 expm1 log log1p sin tan",
    "transform/sampled_loss.hpp": "exp log1p",
    "transform/split_sum.cpp": "exp expm1 log log1p",
    "transform/split_sum_of_ratios.cpp": "exp expm1 log log1p",
    "transform/windowed_law.cpp": "exp expm1 log log1p",
    "transform/windowed_transform.cpp": "exp log log1p",
}
OF_PARAMETERS = {
    "curve/allocation_curve.cpp": "exp2 log2",
    "curve/curve_root.cpp": "exp log",
    "curve/placed_splits.cpp": "log pow",
    "pair/noise/even_noise.cpp": "exp expm1 hypot pow",
    "pair/noise/exponential_loss.cpp": "expm1 log2",
    "pair/noise/integer_noise.cpp": "asinh hypot",
    "pair/operations/basic.cpp": "expm1 log1p",
    "pair/operations/product.cpp": "exp2 log2",
    "pair/renyi_curve.cpp": "exp",
    "transform/lattice/composed_sides.cpp": "log2",
    "transform/lattice/loss_composition.cpp": "log",
    "transform/lattice/loss_composition.hpp": "log",
    "transform/lattice/loss_layout.cpp": "exp expm1 log log1p pow",
    "transform/lattice/tilted_law.cpp": "pow",
    "transform/line_integral.hpp": "exp2",
    "transform/split_sum.cpp": "pow",
    "transform/windowed_law.cpp": "asin",
}


def system_calls(text):
    return {name for line in text.splitlines() for name in SYSTEM_CALL.findall(code_of(line))}


def code_of(line):
    return line.partition("//")[0]


def test_system_functions_are_those_that_were_examined():
    """A new one is entered above once its margin or its reason stands in the code."""
    found = {}
    for path in CORE_FILES:
        name = path.relative_to(CORE).as_posix()
        if name.split("/")[0] in {"pair", "transform", "curve"}:
            found[name] = system_calls(path.read_text())
    entered = {
        name: {*WITH_MARGIN.get(name, "").split(), *OF_PARAMETERS.get(name, "").split()}
        for name in WITH_MARGIN.keys() | OF_PARAMETERS.keys()
    }
    assert {name: calls for name, calls in found.items() if calls} == entered


def test_no_package_takes_a_private_attribute_of_another():
    sources = [(package_of(module_name(path)), tree_of(path)) for path in PYTHON_FILES]
    assert not list(attribute_breaches(sources))


def test_mechanisms_load_no_matrix_code():
    assert not [m for m in reached_from("renyi.mechanisms") if is_in(m, "renyi.matrix")]


def test_no_module_loads_itself_in_a_circle():
    graph = {
        module_name(path): {
            name
            for name in imports_at_load(tree_of(path))
            if is_in(name, "renyi") and name != module_name(path) and module_file(name) is not None
        }
        for path in PYTHON_FILES
    }
    # A package is loaded before its modules, so a module's use of it counts only for a name in it.
    for name, used in graph.items():
        graph[name] = {other for other in used if not is_in(name, other)}
    while leaves := {name for name, used in graph.items() if not used}:
        graph = {name: used - leaves for name, used in graph.items() if name not in leaves}
    assert not graph


def test_functions_have_names():
    for path in PYTHON_FILES:
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(tree_of(path)):
            assert not isinstance(node, functions) or node.name != "_", path


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
        for node in ast.walk(tree_of(path)):
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
        ("pair", '#include "renyi/loss/gaussian.hpp"', False),
        ("loss", '#include "renyi/pair/pair.hpp"', True),
        ("fp", "#include <Python.h>", True),
        ("fp", "#include <numpy/arrayobject.h>", True),
        ("fp", '#  include "certified.hpp"', True),
        ("fp", "#include <renyi/fp/certified.hpp>", True),
    ],
)
def test_the_scan_sees_a_breach(folder, line, breach):
    assert bool(list(include_breaches(folder, line))) is breach


FRAMEWORKS = {"flwr", "jax", "lightning", "opacus", "optax", "pfl", "sklearn", "torch"}
FRAMEWORKS |= {"transformers"}
OPTIONAL = {"dp_accounting", "flint", "matplotlib", "mpmath", *FRAMEWORKS}


def test_numpy_alone_is_required():
    """Within functions, too: what else is imported is asked for by name where it is missing."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(node.module)
            found |= {name.partition(".")[0] for name in names}
    assert found - sys.stdlib_module_names == {"numpy", "renyi", *OPTIONAL}
