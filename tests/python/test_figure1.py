"""The numeric part of examples/figure1.py."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from renyi import special

FIGURE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "figure1.py"))


def test_the_table_of_the_left_panel():
    known = [row for sigma in FIGURE["SIGMAS"] for row in FIGURE["KNOWN"][sigma]]
    rows = FIGURE["table"]()
    assert len(rows) == len(known) == 12
    for (sigma, q, first, second, largest, exact), (on_grid_1, on_grid_2, whole) in zip(
        rows, known, strict=True
    ):
        assert on_grid_1 * 0.999 < first < on_grid_1 * 1.004
        assert on_grid_2 * 0.999 < second < on_grid_2 * 1.004
        assert largest == pytest.approx(min(first, second), rel=1e-9)
        assert math.floor(exact) == whole
        bound = 2.0 * q**2 / sigma**2
        assert special.rdp_sampled_gaussian(q, sigma, exact * (1 - 1e-9)) < bound * exact
        assert special.rdp_sampled_gaussian(q, sigma, exact * (1 + 1e-9)) > bound * exact


def test_the_right_panel():
    orders, exact, bound = FIGURE["right_panel"](100)
    applies = ~np.isnan(bound)
    assert applies.any()
    assert not applies.all()
    assert (exact[applies] < bound[applies]).all()
    assert exact[-1] > 2.0 * 0.01**2 * orders[-1] / 16.0  # beyond the crossing


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    FIGURE["draw"](str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 10_000
