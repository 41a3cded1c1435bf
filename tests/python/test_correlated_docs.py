"""The page on correlated noise: its table, and what it says of it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from each import slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "correlated.md").read_text(encoding="utf-8")
EXAMPLE = runpy.run_path(str(ROOT / "examples" / "correlated_noise.py"), run_name="example")
ROWS = {
    (int(batches), float(epsilon)): [float(cell.split()[0]) for cell in cells.split("|")]
    for batches, epsilon, cells in re.findall(
        r"^\| (\d+), ([\d.]+) \| (.*) \|$", PAGE, re.MULTILINE
    )
}


def test_there_are_rows() -> None:
    assert set(ROWS) == {(b, e) for b in EXAMPLE["BATCHES"] for e in EXAMPLE["EPSILONS"]}


@pytest.mark.parametrize("cell", slow(((16, 2.0),), ((128, 2.0),)))
def test_the_table_is_what_is_computed(cell: tuple[int, float]) -> None:
    found = [row.error for row in EXAMPLE["ways"](*cell).values()]
    assert found == pytest.approx(ROWS[cell], rel=1e-3)


def test_what_is_said_of_it() -> None:
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
