"""What the README, the pages, the notebooks and CONTRIBUTING.md show is what there is."""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import itertools
import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
from mechanism_strategies import examples
from sampled_runs import most

import renyi.mechanisms
from renyi import (
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    RDPAccountant,
    ShuffledBatches,
    pairs,
)
from renyi._adjacency import Adjacency
from renyi.calibration import calibrate_noise_multiplier
from renyi.cli import main
from renyi.cli.commands import build_parser
from renyi.mechanisms import FixedSizeSampled, Mechanism, PrivacyLoss
from renyi.theory.comparison import compare
from renyi.theory.moments import log_moment_constant

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = [
    block.partition("\n")
    for block in re.findall(
        r"```console\n\$ (?:python -m pip install \. && )?renyi (.*?)```", README, re.DOTALL
    )
]


@pytest.mark.parametrize(("command", "output"), [(first, rest) for first, _, rest in CONSOLE])
def test_commands(capsys, monkeypatch, command, output):
    monkeypatch.setenv("COLUMNS", "88")
    assert main(shlex.split(command)) == 0
    assert _rounded(capsys.readouterr().out).startswith(_rounded(output))


def _rounded(text):
    """Cut full doubles to ten digits: their last bits are nobody's promise."""
    return re.sub(r"\d+\.\d{12,}", lambda match: f"{float(match[0]):.10g}", text)


def test_the_table_names_every_command():
    listed = re.findall(r"^\| `renyi (\w+)` \|", README, re.MULTILINE)
    (chosen,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert sorted(listed) == sorted(chosen.choices)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# With other libraries, by their own tests.
ELSEWHERE = {"arrays.md", "embedding.md", "migration.md"}
WITH_PYTHON = [
    page
    for page in PAGES
    if page.name not in ELSEWHERE and "```python\n" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python(page):
    if "matplotlib" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib")
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(code, {}, page.stem, str(page), 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_the_shell_of_a_ledger(capsys, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ renyi (.*)$", page, re.MULTILINE)
    assert len(commands) == 10
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ages.json").write_text(Gaussian(20.0).to_json())
    assert [main(shlex.split(command)) for command in commands] == [0] * 10
    assert "census" in capsys.readouterr().out


# --- notebooks


DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path):
    pytest.importorskip("sklearn")
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    scope: dict[str, object] = {}
    for cell in code:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), scope)
        stored = "".join(line for output in cell["outputs"] for line in output["text"])
        assert printed.getvalue() == stored


def test_the_gallery_shows_every_figure_and_notebook():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(([\w./]+\.(?:png|ipynb))\)", text))
    kept = {str(p.relative_to(DOCS)) for p in (*DOCS.glob("*.png"), *NOTEBOOKS)}
    assert len(NOTEBOOKS) >= 2
    assert shown == kept


# --- CONTRIBUTING.md


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", CONTRIBUTING))
NAMES = {word.rpartition("/")[2] for word in WORDS}


def test_every_folder_of_the_core_is_described():
    assert {path.name for path in (ROOT / "src" / "renyi").iterdir()} <= NAMES


def test_every_public_module_is_described():
    found = {
        path.stem
        for path in (ROOT / "python" / "renyi").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {name for name in found if not name.startswith("_")} <= NAMES


def test_paths_and_scripts_exist():
    roots = (ROOT, ROOT / "src" / "renyi", ROOT / "python" / "renyi")
    paths = [word for word in WORDS if "/" in word and " " not in word]
    paths += re.findall(r"python (bench/\w+\.py)", CONTRIBUTING)
    assert not [path for path in paths if not any((root / path).exists() for root in roots)]


# --- the table of mechanisms against what accountants take


MECHANISMS = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
ONLY: dict[str, Adjacency] = {
    "FixedSizeSampled": "replace_one",
    "Shuffled": "replace_one",
    "ShuffledBatches": "zero_out",
    "MatrixMechanism": "zero_out",
}
TAIL = PrivacyLoss(pairs.GeneralisedGaussianPair(3.0, 2.0))
# Note, whether each accountant takes it, adjacency, mechanism.
NOTES: list[tuple[str, tuple[bool, bool], Adjacency, Mechanism]] = [
    ("¹", (False, True), "add_remove", TAIL),
    ("²", (True, False), "add_remove", examples["ZCDP"]),
    ("²", (True, False), "add_remove", examples["RDPCurve"]),
    ("³", (True, False), "add_remove", examples["MultivariateDiscreteGaussian"]),
    *(
        ("⁴", (False, False), "replace_one", PoissonSampled(examples[name], 0.1))
        for name in ("PureDP", "Staircase", "Exponential", "ApproxDP", "PrivacyLoss")
    ),
    ("⁵", (False, False), "replace_one", FixedSizeSampled(examples["Skellam"], 10, 100, True)),
]


def rows():
    """The mechanisms of each row, and what it says of each accountant."""
    block = MECHANISMS.partition("| | `RDPAccountant` | `PLDAccountant` |\n|---|---|---|\n")[2]
    found = []
    for line in block.partition("\n\n")[0].splitlines():
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found.append((re.findall(r"`([A-Z]\w+)`", first), cells))
    return found


def takes(mechanism, adjacency):
    by_rdp = RDPAccountant(adjacency=adjacency).supports(mechanism)
    return by_rdp, PLDAccountant(adjacency=adjacency).supports(mechanism)


def test_every_mechanism_has_its_row():
    named = {name for names, _ in rows() for name in names}
    classes = {
        name
        for name in renyi.mechanisms.__all__
        if isinstance(found := getattr(renyi.mechanisms, name), type)
        and issubclass(found, Mechanism)
    }
    assert named == classes - {"Mechanism", "Composed"} == set(examples)


def test_no_cell_is_empty_and_every_note_is_explained():
    notes = MECHANISMS.partition("a theorem is missing:")[2].partition("\n\nIf ")[0]
    for _, cells in rows():
        assert len(cells) == 2
        assert all(cells)
        for cell in cells:
            assert len(re.findall("none", cell)) == len(re.findall("none[¹²³³³⁴⁵⁸]", cell))
            assert all(note in notes for note in re.findall("[¹²³³³⁴⁵⁸]", cell))


@pytest.mark.parametrize("name", examples)
def test_what_is_said_to_be_taken_is(name):
    cells = next(cells for names, cells in rows() if name in names)
    found = takes(examples[name], ONLY.get(name, "add_remove"))
    assert found == tuple(not cell.startswith("none") for cell in cells)


@pytest.mark.parametrize(("note", "taken", "adjacency", "mechanism"), NOTES, ids=repr)
def test_what_is_said_to_be_refused_is(note, taken, adjacency, mechanism):
    assert takes(mechanism, adjacency) == taken
    noted = [cells for _, cells in rows() if any(note in cell for cell in cells)]
    assert [tuple(note not in cell for cell in cells) for cells in noted] == [taken]


@pytest.mark.parametrize("name", ["Gaussian", "Laplace"])
def test_samples_with_replacement(name):
    assert takes(FixedSizeSampled(examples[name], 10, 100, True), "replace_one") == (True, True)


# --- the numbers of the pages on filters, sampling and the comparison


FOLDER = Path(__file__).parents[2] / "docs"
COMPARISON, SAMPLING, FILTERS = (
    (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for name in ("comparison", "sampling", "filters")
)
SHELLS = re.compile(r"```console\n\$ renyi (.*?)\n(.*?)```", re.DOTALL)
TABLES = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    for table in re.findall(r"(?:^\|.*\|$\n?)+", COMPARISON, re.MULTILINE)
]
ROWS = re.findall(r"^\| `([A-Z].*?)` \| (\d.*?) \|$", FILTERS, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        pytest.param(*one, marks=[pytest.mark.slow] * ("--target" in one[0]))
        for one in SHELLS.findall(COMPARISON) + SHELLS.findall(SAMPLING)
    ],
)
def test_commands_of_pages(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


@pytest.mark.slow
def test_the_numbers_of_the_answer():
    script = FOLDER.parent / "examples" / "comparison_numbers.py"
    text, facts = " ".join(COMPARISON.split()), list(runpy.run_path(str(script))["facts"]())
    assert len(facts) == 15
    assert [fact for fact in facts if fact not in text] == []


def test_who_wins_among_routes_1_and_2():
    for sigma, q in itertools.product((0.6, 1.0, 4.0, 10.0), (0.001, 0.01, 0.1)):
        for epochs in (1, 10, 100):
            rows = compare(
                q, sigma, round(epochs / q), delta=1e-5, methods=["advanced", "full_batch"]
            )
            first = rows[0].epsilon < rows[1].epsilon
            if sigma <= 1.0 or q == 0.1:
                assert not first
            elif q == 0.001 or sigma == 10.0:
                assert first


def test_the_table_of_delta():
    table = TABLES[1]
    assert table[0][:4] == ["q", "k", "σ", "ε"]
    methods = [name.strip("`") for name in table[0][4:]]
    for row in table[2:]:
        q, k, sigma, epsilon = map(float, row[:4])
        found = compare(q, sigma, round(k / q), epsilon=epsilon, methods=methods)
        for one, cell in zip(found, row[4:], strict=True):
            assert one.delta <= float(cell) <= one.delta * 1.11


def test_the_table_of_constants():
    table = TABLES[2]
    for row in table[2:]:
        for c2, cell in zip(table[0][1:], row[1:], strict=True):
            found = log_moment_constant(float(row[0]), float(c2))
            assert found <= float(cell) <= found * 1.01


def test_everything_is_there():
    assert len(CONSOLE) >= 2
    assert len(WITH_PYTHON) >= 12
    assert len(ROWS) == 6
    assert len(SHELLS.findall(COMPARISON)) == 3
    assert len(TABLES) == 3
    assert (FOLDER / re.findall(r"!\[.*?\]\((.*?)\)", COMPARISON)[0]).stat().st_size < 100_000


def test_what_is_said_in_passing():
    target = {"target_epsilon": 3.0, "target_delta": 1e-6}
    noise = calibrate_noise_multiplier(sample_rate=0.01, steps=1000, **target)
    assert noise <= 0.8653 < noise + 1e-4
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(0.5), 0.001), 1000)
    shuffled = PLDAccountant(adjacency="zero_out").compose(ShuffledBatches(Gaussian(0.5), 1000))
    ratio = shuffled.get_delta_bounds(4.0)[0] / poisson.get_delta(4.0)
    assert 40_000 < ratio < 45_000


# --- what filters admit


KINDS = {"Gaussian": Gaussian, "Laplace": Laplace, "PoissonSampled": PoissonSampled}
EPSILON, DELTA = 1.0, 1e-6


def taken_along_the_way(budget, mechanism, size):
    uses = 0
    while budget.fits(mechanism, size):
        budget.spend(mechanism, size)
        uses += size
    return uses


def read(mechanism, count):
    odometer = PrivacyOdometer(DELTA)
    odometer.spend(mechanism, count)
    return odometer.get_epsilon()


@pytest.mark.parametrize(("words", "numbers"), ROWS)
def test_what_is_admitted(words, numbers):
    mechanism = eval(words, KINDS)
    exact = most(lambda k: PLDAccountant().compose(mechanism, k).get_epsilon(DELTA) <= EPSILON)
    plan = most(lambda k: RDPAccountant().compose(mechanism, k).get_epsilon(DELTA) <= EPSILON)
    order = RDPAccountant().compose(mechanism, plan).get_epsilon_and_order(DELTA)[1]
    size = max(1, exact // 1000)
    found = [
        exact,
        plan,
        most(lambda k: PrivacyFilter(EPSILON, DELTA).fits(mechanism, k)),
        taken_along_the_way(PrivacyFilter(EPSILON, DELTA), mechanism, size),
        taken_along_the_way(PrivacyFilter(EPSILON, DELTA, order), mechanism, size),
        most(lambda k: read(mechanism, k) <= EPSILON),
    ]
    assert found == [int(number) for number in numbers.split(" | ")]
    assert max(found) == exact
