"""Pages and docstrings: examples run and print what they say, tables are what is computed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
import warnings
from pathlib import Path

import pytest
from each import each, slow

import renyi
from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, RepeatAndSelect

ROOT = Path(__file__).parents[2]


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


# --- docstrings

MODULES = [
    module.name
    for module in pkgutil.walk_packages(renyi.__path__, "renyi.")
    if not module.name.endswith("__main__")
]


def loaded(name):
    """Return a module; plugs for libraries that are not installed are skipped."""
    if name.startswith("renyi.compat."):
        return pytest.importorskip(name)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(loaded(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES if ".compat." not in name]
    assert sum(bool(test.examples) for m in modules for test in finder.find(m)) > 200


# --- migration: both sides, as far as the other libraries are installed

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
    for section in page("migration.md").split("\n## ")[1:]:
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


# --- tuning

TUNED = re.findall(r"^\| (\d.*) \|$", page("tasks/tuning.md"), re.MULTILINE)


def test_tuning_has_rows():
    assert len(TUNED) == 5


@each("row", TUNED)
def test_numbers_of_tuning(row):
    sigma, rate, steps, alone, tuned, renyi, factor = map(float, row.split(" | "))
    training = PoissonSampled(Gaussian(sigma), rate) * int(steps)
    best = RepeatAndSelect(training, 20, 1)
    exact = [PLDAccountant().compose(m).get_epsilon(1e-6) for m in (training, best)]
    found = [*exact, RDPAccountant().compose(best).get_epsilon(1e-6)]
    for value, printed in zip(found, (alone, tuned, renyi), strict=True):
        assert value <= printed <= value + 1.001e-3
    assert abs(found[2] / found[1] - factor) < 0.01


# --- correlated noise

EXAMPLE = runpy.run_path(str(ROOT / "examples" / "correlated_noise.py"), run_name="example")
ROWS = {
    (int(batches), float(epsilon)): [float(cell.split()[0]) for cell in cells.split("|")]
    for batches, epsilon, cells in re.findall(
        r"^\| (\d+), ([\d.]+) \| (.*) \|$", page("correlated.md"), re.MULTILINE
    )
}


def test_correlated_noise_has_rows() -> None:
    assert set(ROWS) == {(b, e) for b in EXAMPLE["BATCHES"] for e in EXAMPLE["EPSILONS"]}


@pytest.mark.parametrize("cell", slow(((16, 2.0),), ((128, 2.0),)))
def test_correlated_noise_is_what_is_computed(cell: tuple[int, float]) -> None:
    found = [row.error for row in EXAMPLE["ways"](*cell).values()]
    assert found == pytest.approx(ROWS[cell], rel=1e-3)


def test_what_is_said_of_correlated_noise() -> None:
    gains = [row[2] / row[3] for row in ROWS.values()]
    assert (round(min(gains), 1), round(max(gains), 1)) == (3.7, 9.7)
    gains = [row[2] / row[4] for row in ROWS.values()]
    assert (round(min(gains), 1), round(max(gains), 1)) == (3.5, 9.5)
    gains = [row[2] / row[5] for row in ROWS.values()]
    assert (round(min(gains), 1), round(max(gains), 1)) == (1.1, 5.0)
    assert max(row[4] / row[3] for row in ROWS.values()) < 1.06
    assert all(row[1] <= min(row[0], row[3]) for row in ROWS.values())
    assert round(ROWS[128, 8.0][0] / ROWS[128, 8.0][3], 1) == 1.8
    assert round(ROWS[1024, 8.0][0] / ROWS[1024, 8.0][3], 1) == 4.5
    assert round(1.0 - ROWS[128, 2.0][1] / ROWS[128, 2.0][0], 2) == 0.17
    gains = [1.0 - row[k + 3] / row[k] for row in ROWS.values() for k in (3, 4)]
    assert (round(min(gains), 2), round(max(gains), 2)) == (0.02, 0.34)
    others, bins = min(ROWS[1024, 8.0][:6]), min(ROWS[1024, 8.0][6:])
    assert round(1.0 - bins / others, 2) == 0.27
