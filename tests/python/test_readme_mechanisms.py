"""The README's table of mechanisms and accountants against what accountants take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mechanism_strategies import examples

import renyi.mechanisms
from renyi import PLDAccountant, RDPAccountant, pairs
from renyi._adjacency import Adjacency
from renyi.mechanisms import FixedSizeSampled, Mechanism, PoissonSampled, PrivacyLoss

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ONLY: dict[str, Adjacency] = {
    "FixedSizeSampled": "replace_one",
    "Shuffled": "replace_one",
    "ShuffledBatches": "zero_out",
    "TreeAggregation": "zero_out",
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
    block = README.partition("| | `RDPAccountant` | `PLDAccountant` |\n|---|---|---|\n")[2]
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
    notes = README.partition("Where it says none, ")[2].partition("\n\n")[0]
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
